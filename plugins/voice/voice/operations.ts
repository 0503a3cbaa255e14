import type { CoreErrorCode } from '@device-core/plugin-api';
import { exactly, PerCaller } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { LedgerEntry, VoiceTurn } from '@device-core/plugin-api/services/voice';
import type { Unsent } from './cloud-stage.ts';
import type { Conductor } from './conductor.ts';
import type { Router } from './router.ts';
import type { Traces } from './traces.ts';

const TEXT: JsonSchema = { type: 'string', minLength: 1, maxLength: 1000 };
const LIMIT: JsonSchema = { type: 'integer', minimum: 1, maximum: 1000, default: 20 };
const SPANS: JsonSchema = {
  type: 'array',
  description: 'milliseconds since the turn began',
  items: exactly(
    { name: { type: 'string' }, from: { type: 'number' }, to: { type: 'number' }, note: { type: 'string' } },
    'name from to'.split(' '),
  ),
};
const TURN: JsonSchema = exactly(
  {
    turn: { type: 'string' },
    trace: { type: 'string', description: 'for `devicectl trace show`, where traces are kept' },
    at: { type: 'integer', description: 'milliseconds since the Unix epoch' },
    source: { enum: ['wake', 'button', 'follow-up', 'text'] },
    wakeword: { type: 'string' },
    heard: { type: 'string' },
    nearest: { type: 'string', description: 'the sentence that was refused' },
    confidence: { type: 'number', description: '0..1 that it was said as it stands' },
    unsure: { type: 'string', description: 'the word that fits least' },
    close: { type: 'string', description: 'the sentence of another meaning that fits nearly as well' },
    stage: { enum: ['local', 'cloud'] },
    engine: { type: 'string' },
    plan: { type: 'object', additionalProperties: true },
    said: { type: 'string' },
    outcome: { enum: ['answered', 'refused', 'failed', 'cancelled', 'silent', 'running'] },
    code: { type: 'string' },
    spans: SPANS,
    latencyMs: { type: 'number', description: 'wake event after the phrase, plus first sound after the command' },
  },
  ['turn', 'at', 'source', 'outcome', 'spans'],
);
const ENTRY: JsonSchema = exactly({
  at: { type: 'integer' },
  turn: { type: 'string' },
  to: { type: 'string' },
  what: { enum: ['audio', 'text'] },
  bytes: { type: 'integer' },
  rule: { type: 'string' },
});
const UNSENT: JsonSchema = exactly({
  at: { type: 'integer' },
  turn: { type: 'string' },
  rule: { type: 'string' },
  reason: { type: 'string' },
});
const STATE = { enum: ['idle', 'listening', 'thinking', 'speaking', 'muted', 'error'] };

const SPEAKING: readonly CoreErrorCode[] = [
  'ENGINE_MISSING',
  'SPEECH_FAILED',
  'AUDIO_UNAVAILABLE',
  'CANCELLED',
  'BUSY',
];
const LISTENING: readonly CoreErrorCode[] = ['BUSY', 'VOICE_MUTED', 'AUDIO_UNAVAILABLE', 'CANCELLED'];
/** Announcements of one caller that wait or are heard. */
const PER_CALLER = 3;

export function voiceOperations(parts: {
  readonly conductor: Conductor;
  readonly traces: Traces;
  readonly router: Router;
  readonly ledger: { newest(limit: number): Promise<readonly LedgerEntry[]> };
  readonly used: () => { readonly daySeconds: number; readonly monthSeconds: number };
  /** A turn, and an announcement that waited for others, at most. */
  readonly turnMs: number;
  readonly sayMs: number;
}): readonly Operation<never, unknown>[] {
  const { conductor, traces, router, ledger, used, turnMs, sayMs } = parts;
  const callers = new PerCaller(PER_CALLER);
  const say: Operation<{ readonly text: string; readonly voice?: string }, object> = {
    name: 'voice.say',
    summary: 'Speak a text',
    description: 'Answers when it was heard. It waits for what is being said, and for a turn that is under way.',
    params: exactly({ text: TEXT, voice: { type: 'string', minLength: 1, maxLength: 64 } }, ['text']),
    result: exactly({}),
    capability: 'audio.playback',
    rest: { method: 'POST', path: '/voice/say' },
    errors: SPEAKING,
    timeoutMs: sayMs,
    async run({ text, voice }, { caller, signal }) {
      const owner = caller.kind === 'app' ? `app:${caller.id}` : undefined;
      await callers.run(caller, () => conductor.say({ text, voice, owner }, signal));
      return {};
    },
  };
  const ask: Operation<{ readonly text: string }, VoiceTurn> = {
    name: 'voice.ask',
    summary: 'Do what a text says, as if it had been heard',
    params: exactly({ text: TEXT }),
    result: TURN,
    capability: 'system.voice',
    rest: { method: 'POST', path: '/voice/ask' },
    errors: ['BUSY', 'CANCELLED'],
    timeoutMs: turnMs,
    run: ({ text }, { signal, trace }) => conductor.turn('ask', text, signal, trace),
  };
  const listen: Operation<never, VoiceTurn> = {
    name: 'voice.listen',
    summary: 'Listen to a command without a wake phrase',
    params: exactly({}),
    result: TURN,
    capability: 'system.voice',
    rest: { method: 'POST', path: '/voice/listen' },
    errors: LISTENING,
    timeoutMs: turnMs,
    run: (_, { signal, trace }) => conductor.turn('button', undefined, signal, trace),
  };
  const mute: Operation<{ readonly muted: boolean }, { readonly muted: boolean }> = {
    name: 'voice.mute',
    summary: 'Mute or unmute the microphone',
    params: exactly({ muted: { type: 'boolean' } }),
    result: exactly({ muted: { type: 'boolean' } }),
    capability: 'system.voice',
    cli: [
      { given: { muted: true }, hide: ['muted'], done: 'the microphone is muted' },
      { command: 'voice unmute', given: { muted: false }, hide: ['muted'], done: 'the microphone is open' },
    ],
    rest: { method: 'PUT', path: '/voice/mute' },
    errors: ['AUDIO_UNAVAILABLE'],
    async run({ muted }) {
      await conductor.attention.mute(muted);
      return { muted };
    },
  };
  const state: Operation<never, object> = {
    name: 'voice.state',
    summary: 'State of the voice',
    params: exactly({}),
    result: exactly(
      { state: STATE, muted: { type: 'boolean' }, turn: { type: 'string' }, reason: { type: 'string' } },
      ['state', 'muted'],
    ),
    cli: { command: 'voice status', aliases: ['voice'] },
    rest: { method: 'GET', path: '/voice' },
    errors: [],
    run: async () => ({ ...conductor.state(), muted: conductor.machine.muted }),
  };
  const turns: Operation<{ readonly limit?: number }, { readonly turns: readonly VoiceTurn[] }> = {
    name: 'voice.turns',
    summary: 'The latest turns with where their time went, newest first',
    params: exactly({ limit: LIMIT }, []),
    result: exactly({ turns: { type: 'array', items: TURN } }),
    capability: 'system.voice',
    rest: { method: 'GET', path: '/voice/turns' },
    errors: [],
    run: async ({ limit = 20 }) => ({ turns: traces.newest(limit) }),
  };
  const sent: Operation<
    { readonly limit?: number },
    { readonly entries: readonly LedgerEntry[]; readonly unsent: readonly Unsent[]; readonly used: object }
  > = {
    name: 'voice.ledger',
    summary: 'Data that left the device: time, receiver and rule, newest first',
    description: '`unsent` are turns that should have been sent and were not; nothing of them is kept.',
    params: exactly({ limit: LIMIT }, []),
    result: exactly({
      entries: { type: 'array', items: ENTRY },
      unsent: { type: 'array', items: UNSENT },
      used: exactly({ daySeconds: { type: 'number' }, monthSeconds: { type: 'number' } }),
    }),
    capability: 'system.voice',
    cli: {
      columns: [['WHEN', '{at:date}'], 'what', 'bytes', 'to', 'rule'],
      empty: 'nothing left the device',
    },
    rest: { method: 'GET', path: '/voice/ledger' },
    errors: [],
    run: async ({ limit = 20 }) => ({ entries: await ledger.newest(limit), unsent: router.unsent, used: used() }),
  };
  return [say, ask, listen, mute, state, turns, sent] as readonly Operation<never, unknown>[];
}
