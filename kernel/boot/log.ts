import { reasonOf } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import type { LogLevel, LogLimits } from '@device-core/plugin-api/inside/services/log-control';
import { escapeUnseen } from '@device-core/plugin-api/kits/characters';
import pino, { type Logger, type LoggerOptions } from 'pino';
import { LineScan } from './line-scan.ts';
import { CoreLogControl, type LogComponent, PER_SECOND } from './log-control.ts';
import { LOG_LIMITS, LogFile } from './log-file.ts';
import { clipped, readable } from './log-line.ts';

const DEBUG = 20;
const WARN = 40;
/** Longest line; the rest is cut, because a log is no place for files. */
const LONGEST = 64 << 10;
const COMPONENT = Symbol('component of a logger');

export interface LogOptions {
  /** File, or `-` for stdout. */
  readonly to: string;
  readonly level: string;
  /** Warnings and errors also as one readable line each on stderr. */
  readonly stderr: boolean;
  readonly limits?: Partial<LogLimits>;
}

type Owned = Logger & { [COMPONENT]: LogComponent };

type Members = Record<string, unknown>;

/** Renames fields that would replace the line's level, time or plugin: the last one of two equal members counts. */
function keepOwn(fields: Members, named: boolean): void {
  if ('level' in fields) another(fields, 'level');
  if ('time' in fields) another(fields, 'time');
  if (named && 'plugin' in fields) another(fields, 'plugin');
}

function another(fields: Members, name: string): void {
  fields[`${name}_`] = fields[name];
  delete fields[name];
}

/** The Core's log: JSON lines in a file that is put aside when it has grown large. */
export function createLog(options: LogOptions): Logger {
  return openLog(options).log;
}

/** Opens the log and its control at run time; nothing here throws, even if the disk fails. */
export function openLog({ to, level, stderr, limits }: LogOptions): {
  readonly log: Logger;
  readonly control: CoreLogControl;
  /** Scan of each line; it gets hook log.line once there is one. */
  readonly scan: LineScan;
} {
  const scan = new LineScan();
  const file = to === '-' ? undefined : new LogFile(to, { ...LOG_LIMITS, ...limits });
  const out = file ?? pino.destination({ sync: true });
  const control = new CoreLogControl(level as LogLevel, file);
  // pino passes the logger and the level of each line.
  const stream = {
    [pino.symbols.needsMetadataGsym as symbol]: true,
    lastLevel: 0,
    lastLogger: undefined as unknown as Owned,
    write(whole: string) {
      const line = whole.length > LONGEST ? clipped(whole) : whole;
      const { lastLevel } = this;
      control.ring?.add(line);
      if (lastLevel < this.lastLogger[COMPONENT].threshold) return;
      if (!control.target?.(line.slice(0, -1), lastLevel)) out.write(line);
      if (stderr && lastLevel >= WARN) process.stderr.write(`${escapeUnseen(readable(line))}\n`);
    },
  };
  const core = control.component('core');
  const options: LoggerOptions = {
    // Readers of debug lines come and go, so each line is checked.
    level: 'debug',
    base: null,
    serializers: { err: (error: unknown) => error },
    hooks: {
      streamWrite: scan.through,
      logMethod(args, method, number) {
        const component = (this as Owned)[COMPONENT];
        if (!wanted(component, number)) return;
        if (component.dropped > 0) {
          const dropped = component.forget();
          this.warn({ dropped }, `${dropped} lines were dropped: more than ${PER_SECOND} a second came`);
        }
        let plain: unknown[];
        try {
          plain = args.map((one) => redact(one));
        } catch (error) {
          plain = [
            { unreadable: reasonOf(error) },
            typeof args[1] === 'string' ? redact(args[1]) : 'a line of the log',
          ]; // a getter threw
        }
        if (typeof plain[0] === 'object' && plain[0] !== null) keepOwn(plain[0] as Members, component !== core);
        else if (args.length > 1) plain[0] = { fields: plain[0] }; // what could not be read became a text
        method.apply(this, plain as Parameters<typeof method>);
      },
    },
  };
  const wanted = (component: LogComponent, number: number): boolean => {
    if (number >= component.threshold) return component === core || component.takes(performance.now());
    return control.ring !== undefined && number >= DEBUG && component.records(control.ring, performance.now());
  };
  const log = pino(options, stream) as unknown as Owned;
  log[COMPONENT] = core;
  // Children inherit these by their prototypes.
  const { child } = log;
  Object.assign(log, {
    child(this: Owned, members: { readonly plugin?: unknown }, more?: object) {
      const made = child.call(this, members as object, more) as unknown as Owned;
      if (typeof members.plugin === 'string') made[COMPONENT] = control.component(members.plugin);
      return made;
    },
    isLevelEnabled(this: Owned, name: string) {
      const number = log.levels.values[name] ?? 0;
      return number >= this[COMPONENT].threshold || (control.ring !== undefined && number >= DEBUG);
    },
  });
  return { log, control, scan };
}
