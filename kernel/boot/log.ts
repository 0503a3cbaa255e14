import { mkdirSync, renameSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { redact } from '@device-core/plugin-api';
import pino, { type Logger, type LoggerOptions } from 'pino';

const ROTATE_BYTES = 5 << 20;

export interface LogOptions {
  /** File, or `-` for stdout. */
  readonly to: string;
  readonly level: string;
  /** Warnings and errors also as one readable line each on stderr. */
  readonly stderr: boolean;
  readonly rotateBytes?: number;
}

/** The Core's log: JSON lines in a file that is put aside as `<file>.1` when it has grown large. */
export function createLog({ to, level, stderr, rotateBytes = ROTATE_BYTES }: LogOptions): Logger {
  const file = {
    level: level as 'info',
    stream: to === '-' ? pino.destination({ sync: true }) : rotating(to, rotateBytes),
  };
  const people = {
    level: 'warn' as const,
    stream: { write: (line: string) => void process.stderr.write(readable(line)) },
  };
  const options: LoggerOptions = {
    level,
    base: null,
    serializers: { err: (error: unknown) => error },
    hooks: {
      logMethod(args, method) {
        method.apply(this, args.map((one) => redact(one)) as Parameters<typeof method>);
      },
    },
  };
  return pino(options, pino.multistream(stderr ? [file, people] : [file]));
}

function rotating(to: string, limit: number) {
  mkdirSync(dirname(to), { recursive: true });
  const out = pino.destination({ dest: to, sync: true });
  let bytes = statSync(to).size;
  return {
    write(line: string): void {
      if (bytes > 0 && bytes + line.length > limit) {
        bytes = 0; // whatever happens: a disk that refuses is asked again one file later
        try {
          renameSync(to, `${to}.1`);
          out.reopen();
        } catch (error) {
          process.stderr.write(`cannot put ${to} aside: ${error}\n`);
        }
      }
      bytes += line.length;
      out.write(line);
    },
  };
}

function readable(line: string): string {
  const { level, plugin, msg = '', err, run, reason: why = err?.message } = JSON.parse(line);
  if (run === 'problem') return `${msg}\n`;
  const reason = why && !msg.includes(why) ? `: ${why}` : '';
  return `${level >= 50 ? 'error' : 'warning'}: ${plugin && !msg.includes(plugin) ? `${plugin}: ` : ''}${msg}${reason}\n`;
}
