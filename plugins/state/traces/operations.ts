import { CoreError, maybe } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Span } from '@device-core/plugin-api/tracing';
import { tracePage, tracesPage } from './page.ts';
import type { Dropped, KeptTrace, Reason, TraceStore } from './store.ts';
import { tenths } from './tidy.ts';
import { treeOf } from './tree.ts';

const LAST = 'last';
/** The first or the last digits are enough: log lines have eight of them. */
const ID = `^([0-9a-f]{8,32}|${LAST})$`;

const AT: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const MS: JsonSchema = { type: 'number', description: 'milliseconds' };
const WHY: JsonSchema = { enum: ['failed', 'slow', 'sampled'], description: 'why it is kept' };
const COUNT: JsonSchema = { type: 'integer' };
const CONTEXT = { traceId: { type: 'string' }, spanId: { type: 'string' } };

const SUMMARY = {
  id: { type: 'string', description: '32 hexadecimal digits' },
  at: AT,
  ms: MS,
  why: WHY,
  name: { type: 'string', description: 'of the span on top' },
  error: { type: 'string', description: 'code of the first span that failed' },
};
const SPAN: JsonSchema = exactly(
  {
    id: { type: 'string', description: '16 hexadecimal digits' },
    parent: { type: 'string' },
    name: { type: 'string' },
    tree: { type: 'string', description: 'the name at its place in the tree' },
    start: { type: 'number', description: 'milliseconds since the trace began' },
    ms: MS,
    error: { type: 'string', description: 'a code of the table of errors' },
    attributes: { type: 'object', additionalProperties: true },
    link: { ...exactly(CONTEXT), description: 'a trace named from outside' },
  },
  ['id', 'name', 'tree', 'start', 'ms'],
);
const DROPPED: JsonSchema = exactly({
  traces: { ...COUNT, description: 'made room for newer ones' },
  spans: { ...COUNT, description: 'beyond the limit of their trace' },
  waiting: { ...COUNT, description: 'forgotten before their work was over' },
  invalid: { ...COUNT, description: 'were no spans' },
  lost: { ...COUNT, description: 'spans that came too many at once to be told' },
});

interface Summary {
  readonly id: string;
  readonly at: number;
  readonly ms: number;
  readonly why: Reason;
  readonly name: string;
  readonly error?: string;
}

interface Query {
  readonly limit?: number;
  readonly why?: Reason;
  readonly name?: string;
}

export function traceOperations(store: TraceStore, limit: number): readonly Operation<never, unknown>[] {
  const list: Operation<Query, { readonly traces: readonly object[]; readonly dropped: Dropped }> = {
    name: 'traces.list',
    summary: 'Traces of slow, failed and sampled work, newest first',
    description: 'They are kept in memory, so a restart forgets them.',
    params: exactly(
      {
        limit: { type: 'integer', minimum: 1, maximum: 1000, default: 20 },
        why: WHY,
        name: { type: 'string', maxLength: 128, description: 'a part of the name of one of the spans' },
      },
      [],
    ),
    result: exactly({
      traces: {
        type: 'array',
        items: exactly({ ...SUMMARY, spans: COUNT }, ['id', 'at', 'ms', 'why', 'name', 'spans']),
      },
      dropped: DROPPED,
    }),
    capability: 'system.logs',
    cli: {
      columns: [['WHEN', '{at:when}'], 'ms', 'why', 'name', 'error', 'spans', 'id'],
      hide: ['dropped'],
      empty: 'no trace is kept: nothing was slow, failed or sampled',
    },
    page: tracesPage,
    rest: { method: 'GET', path: '/traces' },
    errors: [],
    run: async ({ limit: most = 20, why, name }) => {
      const all = store.newest(limit).filter((one) => why === undefined || one.why === why);
      const named = all.filter(({ spans }) => name === undefined || spans.some((span) => span.name.includes(name)));
      const traces = named.slice(0, most).map((one) => ({ ...summaryOf(one), spans: one.spans.length }));
      return { traces, dropped: store.dropped };
    },
  };
  const get: Operation<{ readonly id: string }, Summary & { readonly spans: readonly object[] }> = {
    name: 'traces.get',
    summary: 'One trace with its spans, as a tree',
    params: exactly({
      id: { type: 'string', pattern: ID, description: `the id, its first or last digits (8 at least), or \`${LAST}\`` },
    }),
    result: exactly(
      { ...SUMMARY, left: { ...COUNT, description: 'spans beyond the limit' }, spans: { type: 'array', items: SPAN } },
      ['id', 'at', 'ms', 'why', 'name', 'spans'],
    ),
    capability: 'system.logs',
    cli: [
      {
        command: 'trace show',
        fixed: ['id'],
        hide: ['at'],
        columns: [
          ['SPAN', '{tree}'],
          ['START', '{start}'],
          ['MS', '{ms}'],
          'error',
          'attributes',
          ['LINK', '{link.traceId}'],
        ],
      },
      {
        command: 'trace last',
        given: { id: LAST },
        hide: ['at'],
        columns: [
          ['SPAN', '{tree}'],
          ['START', '{start}'],
          ['MS', '{ms}'],
          'error',
          'attributes',
          ['LINK', '{link.traceId}'],
        ],
      },
    ],
    page: tracePage,
    rest: { method: 'GET', path: '/traces/:id' },
    errors: ['TRACE_NOT_FOUND'],
    run: async ({ id }) => {
      const trace = id === LAST ? store.newest(1)[0] : store.find(id);
      if (!trace) throw new CoreError('TRACE_NOT_FOUND', { trace: id, reason: reasonOf(id) });
      const { left } = trace;
      const summary = summaryOf(trace);
      return {
        ...summary,
        ...(left > 0 && { left }),
        spans: treeOf(trace.spans).map((one) => shown(one, beganOf(trace))),
      };
    },
  };
  return [list, get] as readonly Operation<never, unknown>[];
}

function reasonOf(id: string): string {
  return id === LAST
    ? 'none is kept, for no work was slow (traces.slowMs) or failed since the plugin started; traces.sample: 1 keeps every one'
    : 'it was neither slow nor failed nor sampled, or it made room for newer ones';
}

function beganOf({ spans }: KeptTrace): number {
  return Math.min(...spans.map((span) => span.began));
}

function summaryOf(trace: KeptTrace): Summary {
  const { id, origin, why, spans } = trace;
  const first = treeOf(spans)[0]!.span;
  const began = beganOf(trace);
  const end = Math.max(...spans.map((span) => span.began + span.ms));
  const at = Math.round(origin + began);
  const error = spans.find((span) => span.error !== undefined)?.error;
  return { id, at, ms: tenths(end - began), why, name: first.name, ...maybe({ error }) };
}

function shown({ span, tree }: ReturnType<typeof treeOf>[number], began: number): object {
  const { spanId, parent, name, began: at, ms, error, attributes, link }: Span = span;
  return {
    id: spanId,
    ...maybe({ parent }),
    name,
    tree,
    start: tenths(at - began),
    ms,
    ...maybe({ error, attributes }),
    ...(link && { link: { traceId: link.traceId, spanId: link.spanId } }),
  };
}
