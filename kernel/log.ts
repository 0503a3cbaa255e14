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
}

/** The Core's log: JSON lines in a file that is put aside once at start when it has grown large. */
export function createLog({ to, level, stderr }: LogOptions): Logger {
  if (to !== '-') {
    mkdirSync(dirname(to), { recursive: true });
    if ((statSync(to, { throwIfNoEntry: false })?.size ?? 0) > ROTATE_BYTES) renameSync(to, `${to}.1`);
  }
  const file = { level: level as 'info', stream: pino.destination({ dest: to === '-' ? 1 : to, sync: true }) };
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

function readable(line: string): string {
  const { level, plugin, msg = '', err, reason: why = err?.message } = JSON.parse(line);
  const reason = why && !msg.includes(why) ? `: ${why}` : '';
  return `${level >= 50 ? 'error' : 'warning'}: ${plugin && !msg.includes(plugin) ? `${plugin}: ` : ''}${msg}${reason}\n`;
}
