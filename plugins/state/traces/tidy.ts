/** A span as it is kept: each part is cut to a length, and secrets are removed. */
import { maybe } from '@device-core/plugin-api';
import { redact } from '@device-core/plugin-api/inside/redact';
import { checkedTrace, type Span, type TraceContext } from '@device-core/plugin-api/tracing';

const NAME = 128;
const CODE = 64;
const KEY = 64;
const TEXT = 256;
const ATTRIBUTES = 16;
/** Characters of all attributes of a span. */
const ALL_TEXT = 1_024;
const SPAN_ID = /^[0-9a-f]{16}$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

/** Undefined for what is no span. */
export function tidied(given: Span): Span | undefined {
  const trace = checkedTrace(given);
  const { name, began, ms, parent, root, error, lasting, attributes, link } = Object(given) as Partial<Span>;
  if (!trace || typeof name !== 'string' || !isTime(began) || !isTime(ms)) return undefined;
  const told = attributesOf(attributes);
  const linked = checkedTrace(link);
  return {
    traceId: trace.traceId,
    spanId: trace.spanId,
    sampled: trace.sampled,
    ...(typeof parent === 'string' && SPAN_ID.test(parent) && { parent }),
    ...(root === true && { root }),
    name: text(name, NAME),
    began,
    ms: tenths(ms),
    ...(typeof error === 'string' && { error: text(error, CODE) }),
    ...(lasting === true && { lasting }),
    ...maybe({ attributes: told }),
    ...(linked && { link: plain(linked) }),
  };
}

function attributesOf(given: unknown): Span['attributes'] {
  if (typeof given !== 'object' || given === null) return undefined;
  const some = Object.entries(given).slice(0, ATTRIBUTES);
  const simple = some.filter(([, value]) => ['string', 'number', 'boolean'].includes(typeof value));
  if (simple.length === 0) return undefined;
  const hidden = redact(Object.fromEntries(simple)) as Readonly<Record<string, string | number | boolean>>;
  let left = ALL_TEXT;
  const told: [string, string | number | boolean][] = [];
  for (const [key, value] of Object.entries(hidden)) {
    const name = text(key, KEY);
    const one = typeof value === 'string' ? text(value, TEXT) : Number.isFinite(Number(value)) ? value : String(value);
    left -= name.length + String(one).length;
    if (left < 0) break;
    told.push([name, one]);
  }
  return Object.fromEntries(told);
}

function plain({ traceId, spanId, sampled }: TraceContext): TraceContext {
  return { traceId, spanId, sampled };
}

function text(given: string, most: number): string {
  const one = given.slice(0, most).replace(CONTROLS, ' ');
  return given.length > most ? `${one.slice(0, -1)}…` : one;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value);
}

export function tenths(ms: number): number {
  return Math.round(10 * Math.max(0, ms)) / 10;
}
