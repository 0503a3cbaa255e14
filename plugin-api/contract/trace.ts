/** W3C Trace Context: which call belongs to which. Pure, but for the dice of the ids. */
import type { Logger } from './logger.ts';

export interface TraceContext {
  /** 32 lower-case hexadecimal digits. */
  readonly traceId: string;
  /** 16 of them: the span that is the parent of what is begun now. */
  readonly spanId: string;
  readonly sampled: boolean;
  /**
   * Set by a front end where it came from outside: as the `parent` of what is begun, from the operator, or merely to be
   * told as a `link`, from anybody else.
   */
  readonly remote?: 'parent' | 'link';
}

/** A later version may have more members; a comma stands between headers that came twice. */
const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[!-+\--~]*)?$/;
const ZERO = /^0+$/;
const LONGEST = 256;
/** Digits of a short form: the last ones, for tracers that put the time in front. */
const SHORT = 8;

/** Undefined for an invalid text: malformed, upper case, all zero, version ff, more members than version 00 has. */
export function parseTraceparent(text: unknown): TraceContext | undefined {
  if (typeof text !== 'string' || text.length > LONGEST) return undefined;
  const [, version, traceId, spanId, flags, rest] = FORM.exec(text) ?? [];
  if (version === undefined || version === 'ff' || (version === '00' && rest !== undefined)) return undefined;
  if (ZERO.test(traceId!) || ZERO.test(spanId!)) return undefined;
  return { traceId: traceId!, spanId: spanId!, sampled: (Number.parseInt(flags!, 16) & 1) === 1 };
}

export function formatTraceparent({ traceId, spanId, sampled }: TraceContext): string {
  return `00-${traceId}-${spanId}-${sampled ? '01' : '00'}`;
}

/** Trace context from an untrusted sender, or undefined. */
export function checkedTrace(given: unknown): TraceContext | undefined {
  const { traceId, spanId, sampled, remote } = Object(given) as Partial<TraceContext>;
  const trace = parseTraceparent(`00-${traceId}-${spanId}-${sampled === true ? '01' : '00'}`);
  return trace && (remote === 'parent' || remote === 'link') ? { ...trace, remote } : trace;
}

/** The last eight digits: how a log line names a trace. */
export function shortTrace({ traceId }: Pick<TraceContext, 'traceId'>): string {
  return traceId.slice(-SHORT);
}

/** Context of work within `parent`, or of a new trace. */
export function beginTrace(parent: TraceContext | undefined, sampled = false): TraceContext {
  if (parent && parent.remote !== 'link') return { traceId: parent.traceId, spanId: id64(), sampled: parent.sampled };
  return { traceId: id64() + id64(), spanId: id64(), sampled };
}

/** The same log, with `trace` in each line: of a context, or of what is asked for only when a line is written. */
export function logOfTrace(log: Logger, trace: TraceContext | undefined | (() => TraceContext | undefined)): Logger {
  if (!trace) return log;
  const marked = (fields: object): object => {
    const context = typeof trace === 'function' ? trace() : trace;
    return context ? { ...fields, trace: shortTrace(context) } : fields;
  };
  return {
    debug: (fields, message) => log.debug(marked(fields), message),
    info: (fields, message) => log.info(marked(fields), message),
    warn: (fields, message) => log.warn(marked(fields), message),
    error: (fields, message) => log.error(marked(fields), message),
  };
}

/** Ids are no secrets: they need to be different, and cheap. Never zero. */
function id64(): string {
  return half(1) + half(0);
}

function half(least: number): string {
  return Math.floor(least + Math.random() * (0x1_0000_0000 - least))
    .toString(16)
    .padStart(8, '0');
}
