import { type CallContext, CoreError, callerName, maybe } from '@device-core/plugin-api';
import type { QueueState } from '@device-core/plugin-api/inside/services/outbox';
import { CONSENT_LEVELS, type ConsentLevel } from '@device-core/plugin-api/inside/services/telemetry';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { ConsentBook } from './consent-book.ts';
import type { Exporter, Shown } from './exporter.ts';
import { shownHeaders, type TargetSettings } from './target.ts';

const LEVEL: JsonSchema = { enum: CONSENT_LEVELS, description: 'each holds those before it' };
const TEXT: JsonSchema = { type: 'string' };
const AT: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const QUEUE: JsonSchema = exactly(
  {
    id: TEXT,
    to: { type: 'string', description: 'host and port' },
    waiting: COUNT,
    bytes: COUNT,
    sent: COUNT,
    lost: COUNT,
    oldestAt: AT,
    trouble: exactly({ reason: TEXT, nextAt: AT }),
  },
  ['id', 'to', 'waiting', 'bytes', 'sent', 'lost'],
);

/** It is in force all the same, until the Core ends. */
const UNKEPT = ['STATE_NEWER', ...STATE_ERRORS] as const;

export interface Parts {
  readonly book: ConsentBook;
  readonly exporter: Exporter;
  readonly texts: Readonly<Record<ConsentLevel, string>>;
  readonly headers: TargetSettings['headers'];
  readonly decide: (level: ConsentLevel, by: string) => Promise<void>;
}

interface Status {
  readonly level: ConsentLevel;
  readonly at?: number;
  readonly by?: string;
  readonly text?: string;
  readonly device?: string;
  readonly to?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly unsent?: string;
  readonly levels: readonly { readonly level: ConsentLevel; readonly text: string }[];
  readonly queues: readonly QueueState[];
}

export function telemetryOperations(parts: Parts): readonly Operation<never, unknown>[] {
  const { book, exporter, texts } = parts;
  const status: Operation<never, Status> = {
    name: 'telemetry.status',
    summary: 'Consent of the owner, and the fate of sent data',
    params: exactly({}),
    result: exactly(
      {
        level: LEVEL,
        at: AT,
        by: { type: 'string', description: 'who decided it' },
        text: { type: 'string', description: 'what was shown then' },
        device: { type: 'string', description: 'the random name of the device in what it sends' },
        to: { type: 'string', description: 'host and port of the collector' },
        headers: {
          type: 'object',
          additionalProperties: TEXT,
          description: 'with the names of secrets in their place',
        },
        unsent: { type: 'string', description: 'why nothing is sent' },
        levels: {
          type: 'array',
          items: exactly({ level: LEVEL, text: TEXT }),
          description: 'what is to be shown for each',
        },
        queues: { type: 'array', items: QUEUE },
      },
      ['level', 'levels', 'queues'],
    ),
    capability: 'system.metrics',
    cli: [
      {
        hide: ['levels'],
        columns: [
          ...['id', 'to', 'waiting', 'bytes', 'sent', 'lost'],
          ['OLDEST', '{oldestAt:date}'],
          ['TROUBLE', '{trouble.reason}'],
          ['NEXT', '{trouble.nextAt:date}'],
        ],
        empty: 'nothing waits',
      },
      {
        command: 'telemetry levels',
        hide: ['level', 'at', 'by', 'text', 'device', 'to', 'headers', 'unsent', 'queues'],
        columns: ['level', 'text'],
      },
    ],
    rest: { method: 'GET', path: '/telemetry' },
    errors: [],
    async run() {
      const { owed: _, ...kept } = book.value;
      const { to, trouble } = exporter;
      return {
        ...kept,
        ...(to !== undefined && { to, headers: shownHeaders(parts.headers) }),
        ...maybe({ unsent: trouble }),
        levels: CONSENT_LEVELS.map((level) => ({ level, text: texts[level] })),
        queues: await exporter.queues(),
      };
    },
  };
  const show: Operation<{ readonly level?: ConsentLevel }, Shown & { readonly note?: string }> = {
    name: 'telemetry.show',
    summary: 'The next push, to the byte',
    description:
      'What is shown goes next, as it is. With `level` it is what would be sent with that consent. Each line is the body of one request: OTLP in its JSON form.',
    params: exactly({ level: LEVEL }, []),
    result: exactly(
      {
        metrics: { type: 'string', description: 'to `<endpoint>/v1/metrics`' },
        logs: { type: 'string', description: 'to `<endpoint>/v1/logs`; absent where no line waits' },
        note: TEXT,
      },
      [],
    ),
    capability: 'system.metrics',
    cli: { fixed: ['level'], done: ['{metrics}\n{logs}', '{metrics}', '{note}'] },
    rest: { method: 'GET', path: '/telemetry/next' },
    errors: [],
    async run({ level }) {
      const next = await exporter.show(level);
      if (next.metrics !== undefined) return next;
      const off = (level ?? book.value.level) === 'off';
      const note = off
        ? 'nothing is sent; name a level to see what it would send'
        : 'there is nothing to send: no plugin measures, or the time is not known';
      return { ...next, note };
    },
  };
  const consent: Operation<{ readonly level: ConsentLevel }, object> = {
    name: 'telemetry.consent',
    summary: 'Decide what the device may send about itself',
    description:
      'It is kept with the time, who decided, and the text of the level. Where it is less than before, what waits to be sent is thrown away before the answer.',
    params: exactly({ level: LEVEL }),
    result: exactly({ level: LEVEL, text: TEXT }),
    capability: 'system.telemetry',
    sensitive: { act: 'let the device send about itself: {level}', unless: { level: 'off' } },
    cli: { done: '{level}: {text}' },
    rest: { method: 'PUT', path: '/telemetry/consent' },
    errors: [...UNKEPT, 'CALLER_DENIED'],
    async run({ level }, { caller }) {
      ownerAlone(caller);
      await parts.decide(level, callerName(caller));
      return { level, text: texts[level] };
    },
  };
  const reset: Operation<never, object> = {
    name: 'telemetry.reset',
    summary: 'Give the device another random name in what it sends',
    description: 'What waits under the old name is thrown away.',
    params: exactly({}),
    result: exactly({ device: { type: 'string', description: 'absent while nothing is sent' } }, []),
    capability: 'system.telemetry',
    cli: { done: ['its name is {device} from now on', 'it has no name while nothing is sent'] },
    rest: { method: 'POST', path: '/telemetry/reset' },
    errors: [...UNKEPT, 'CALLER_DENIED'],
    async run(_, { caller }) {
      ownerAlone(caller);
      await exporter.renew();
      const { device } = book.value;
      return device === undefined ? {} : { device };
    },
  };
  return [status, show, consent, reset] as readonly Operation<never, unknown>[];
}

/** An app never decides for the owner, with any grant. Throws CALLER_DENIED. */
function ownerAlone({ kind }: CallContext['caller']): void {
  if (kind === 'app')
    throw new CoreError('CALLER_DENIED', { verb: 'decide on telemetry', reason: 'the owner decides it, no app' });
}
