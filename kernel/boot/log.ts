import { redact } from '@device-core/plugin-api';
import pino, { type Logger, type LoggerOptions } from 'pino';
import { LogFile, type LogTrouble } from './log-file.ts';

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
export function createLog(options: LogOptions): Logger {
  return openLog(options).log;
}

/** The log, and what keeps it from being written; nothing here throws, whatever the disk does. */
export function openLog({ to, level, stderr, rotateBytes = ROTATE_BYTES }: LogOptions): {
  readonly log: Logger;
  readonly trouble: () => LogTrouble | undefined;
} {
  const target = to === '-' ? undefined : new LogFile(to, rotateBytes);
  const file = { level: level as 'info', stream: target ?? pino.destination({ sync: true }) };
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
  const log = pino(options, pino.multistream(stderr ? [file, people] : [file]));
  return { log, trouble: () => target?.trouble };
}

function readable(line: string): string {
  const { level, time, plugin, app, from, msg = '', err, run, reason: why = err?.message } = JSON.parse(line);
  if (run === 'problem') return `${msg}\n`;
  // What an app printed, as its log has it.
  if (from !== undefined)
    return `${new Date(time).toTimeString().slice(0, 8)} ${level >= 50 ? 'error' : 'warn'} ${app}: ${msg}\n`;
  const reason = why && !msg.includes(why) ? `: ${why}` : '';
  return `${level >= 50 ? 'error' : 'warning'}: ${plugin && !msg.includes(plugin) ? `${plugin}: ` : ''}${msg}${reason}\n`;
}
