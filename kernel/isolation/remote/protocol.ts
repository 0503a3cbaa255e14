/**
 * Messages between two peers: a port carries lists of tuples. Plain values travel as structured clones; a part that cannot be cloned
 * is left out of the value and stands beside it as a slot with its place and its form.
 */
import type { PluginErrorKind } from '@device-core/plugin-api';

export interface Port {
  /** Buffers in `transfer` move instead of being copied, where the port can do that. Never throws for values that a peer made. */
  post(messages: readonly Message[], transfer: readonly ArrayBuffer[]): void;
  /** Sets the one listener. It is called when messages can be taken, also for those that arrived before. */
  onMessage(listener: () => void): void;
  /** The next list of messages, decoded; undefined if there is none yet. Throws if it cannot be read. */
  take(): unknown;
  /** Nothing more is taken from the other side, but by take(), until resume(). */
  pause(): void;
  resume(): void;
  close(): void;
  /** The port copies whole ArrayBuffers, so that small views of large ones are better copied before, and large ones moved. */
  readonly clones: boolean;
}

export const CALL = 0;
export const ANSWER = 1;
export const RELEASE = 2;
export const ABORT = 3;
export const MARK = 4;
export const PASSED = 5;

export type Path = readonly (string | number)[];
export type Slot = readonly [path: Path, form: Form];
export type Slots = readonly Slot[] | undefined;

export type Form =
  | readonly ['function', ref: number]
  /** A copy of its data, and the names of its methods. `live`: until its signal aborts. */
  | readonly ['object', ref: number, methods: readonly string[], data: object, slots: Slots, live: boolean]
  /** A live object that was sent before. */
  | readonly ['known', ref: number]
  /** One of the receiver's own. */
  | readonly ['yours', ref: number, signal: boolean]
  | readonly ['signal', ref: number]
  | readonly ['aborted', reason: unknown, slots: Slots]
  | readonly ['promise', ref: number]
  | readonly ['secret', name: string, held: Form]
  | readonly ['context', data: object, slots: Slots]
  /** A context as most are: without a session, and not aborted. Flat, for each nested object costs as much as a whole field of it. */
  | readonly ['call', kind: string, id: string, deadline: number, signal: number]
  | readonly ['map' | 'set', items: readonly unknown[], slots: Slots]
  | readonly [
      'core-error',
      code: string | PluginErrorKind,
      details: object,
      slots: Slots,
      stack: string | undefined,
      cause: unknown,
    ]
  | readonly ['error', name: string, message: string, stack: string | undefined, members: object];

export type Message =
  /** Call 0 asks for no answer. */
  | readonly [kind: typeof CALL, call: number, target: number, method: string, args: readonly unknown[], slots?: Slots]
  | readonly [kind: typeof ANSWER, call: number, ok: boolean, value: unknown, slots?: Slots]
  | readonly [kind: typeof RELEASE, ref: number]
  | readonly [kind: typeof ABORT, ref: number, reason: unknown, slots?: Slots]
  /** The receiver is to say when it has come to this one. */
  | readonly [kind: typeof MARK, nonce: number]
  /** It has. */
  | readonly [kind: typeof PASSED, nonce: number];

/** Methods without a name of the contract. */
export const DISPOSE = '@dispose';
export const ITERATE = '@iterate';
export const NEXT = '@next';
export const RETURN = '@return';
export const AWAIT = '@await';
/** Method name for the call of a function. */
export const SELF = '';

export const LIMITS = {
  /** Calls of one side that wait for their answers. */
  inFlight: 4096,
  /** Milliseconds for a call without a deadline. */
  callMs: 60_000,
  /** Milliseconds after the deadline of a call, so that its setter gives up first. */
  graceMs: 1_000,
  /** Milliseconds between two looks for calls that are overdue. */
  sweepMs: 250,
  /** Bytes of strings, buffers and numbers in one message. */
  bytes: 16 << 20,
  /** Bytes on their way to a side that has not taken them in. */
  windowBytes: 1 << 20,
  /** Bytes that wait for that, after which notifications are refused, and after which calls are. */
  waitingBytes: { notifications: 1 << 20, calls: 16 << 20 },
  /** Bytes from which a view moves to the other side as a separate copy. */
  moveBytes: 32 << 10,
  /** Items that are asked for before the reader asks for them. */
  ahead: 16,
};
export type RemoteLimits = Readonly<typeof LIMITS>;
