/**
 * The one socket of this tab. Everything live goes over it: operations that stream (events, log lines) and streams of
 * bytes (frames, sound). It comes back by itself, opens again what was open, and tells whoever follows that there is a
 * gap.
 */

import { computed, signal } from '@preact/signals';
import { ApiError, answering, api, type ErrorBody, returned } from './api.ts';
import { toBase64 } from './bytes.ts';
import { endSession, token } from './session.ts';

export interface Item {
  readonly event?: string;
  readonly id?: string;
  readonly data: unknown;
}

export interface Follower {
  item(item: Item): void;
  /** It is open, for the first time or again: `lost` says that something may have been missed. */
  opened?(lost: boolean): void;
  /** The Core ended it; it is not opened again. */
  closed?(error: ApiError | undefined): void;
}

export interface Listener {
  chunk(bytes: Uint8Array): void;
  opened?(again: boolean): void;
  /** So many chunks of `send` reached nobody: there is no socket, or the line or the reader is too slow. */
  lost?(chunks: number): void;
  closed?(error: ApiError | undefined): void;
}

export interface Line {
  /** Bytes to the Core; those that cannot go out are lost, and told. */
  send(bytes: Uint8Array): void;
  /** For who gives credit by hand (`credit: 'mine'`). */
  more(count: number): void;
  stop(): void;
}

interface Want {
  readonly message: object;
  readonly manual: boolean;
  readonly once: boolean;
  readonly credit: number;
  readonly on: Partial<Follower> & Partial<Listener>;
  given: number;
  before: boolean;
}

/** `off`: nobody follows anything; `full`: the device has as many pages open as it takes. */
export const liveState = signal<'off' | 'connecting' | 'on' | 'lost' | 'full'>('off');
/** When the socket was lost last, and for how long; the shell says so. */
export const outage = signal<{ readonly from: number; readonly until?: number } | undefined>(undefined);

/** The device cannot be reached: by requests, or by the socket. */
export const away = computed(() => !answering.value || liveState.value === 'lost');
/** `returned` as it was when the socket was lost. */
let before = 0;

/** Its session was ended by somebody, or has come to its end. */
const ENDED = 4401;
const CREDIT = 64;
/** Bytes that wait in the browser for a line that is slow. */
const MOST_UNSENT = 512 * 1024;
const wants = new Map<number, Want>();
let next = 1;
let socket: WebSocket | undefined;
/** Number of the newest dial; older ones compare it and stop. */
let dials = 0;
let tries = 0;
let pending: ReturnType<typeof setTimeout> | undefined;

/** An operation of the table that streams, `events.stream`, `logs.stream`. */
export function follow(operation: string, params: object, on: Follower): () => void {
  return open({ operation, params }, on, {}).stop;
}

/**
 * The same for many items a second: nothing more is sent than there is credit for, and the caller gives it with
 * `more()` when it has shown what came.
 */
export function feed(operation: string, params: object, on: Follower, credit: number): Line {
  return open({ operation, params }, on, { credit, mine: true });
}

/**
 * A stream of the table: bytes both ways. With `mine`, the caller gives credit with `more()` when it has used a chunk.
 * With `once`, its end is the end, that of the socket, too: `closed` is called.
 */
export function stream(name: string, params: object, on: Listener, options: Options = {}): Line {
  return open({ stream: name, params }, on, options);
}

interface Options {
  readonly credit?: number;
  readonly mine?: boolean;
  readonly once?: boolean;
}

function open(message: object, on: Want['on'], { credit = CREDIT, mine = false, once = false }: Options): Line {
  const id = next++;
  wants.set(id, { message, manual: mine, once, credit, on, given: credit, before: false });
  if (socket?.readyState === WebSocket.OPEN) ask(id);
  else connect();
  return {
    send: (bytes) => {
      // A chunk of nothing is the sign that all was sent: it costs no room.
      const room = bytes.length === 0 || (socket?.bufferedAmount ?? 0) < MOST_UNSENT;
      if (room && socket?.readyState === WebSocket.OPEN) say({ send: id, data: toBase64(bytes) });
      else on.lost?.(1);
    },
    more: (count) => say({ credit: count, of: id }),
    stop: () => {
      if (!wants.delete(id)) return;
      say({ close: id });
      if (wants.size === 0) leave();
    },
  };
}

function ask(id: number): void {
  const want = wants.get(id);
  if (want === undefined) return;
  want.given = want.credit;
  say({ open: id, ...want.message, credit: want.credit });
}

function say(message: object): void {
  if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
}

/** Nobody follows anything: no socket, no wakeups. */
function leave(): void {
  clearTimeout(pending);
  pending = undefined;
  dials += 1;
  socket?.close(1000, 'no subscription is left');
  socket = undefined;
  liveState.value = 'off';
}

function connect(): void {
  if (socket !== undefined || pending !== undefined || token.peek() === undefined) return;
  const out = outage.peek();
  // A first try after an outage is part of it.
  const isLost = tries > 0 || (out !== undefined && out.until === undefined);
  if (liveState.peek() !== 'full') liveState.value = isLost ? 'lost' : 'connecting';
  // A place is taken before anybody waits.
  pending = setTimeout(
    () => {
      dials += 1;
      const mine = dials;
      void dial(mine).catch((error: unknown) => {
        if (mine !== dials) return;
        pending = undefined;
        retry();
        if (error instanceof ApiError && error.code === 'BUSY') liveState.value = 'full';
      });
    },
    tries === 0 ? 0 : Math.min(8000, 250 * 2 ** Math.min(tries, 6)) * (0.75 + Math.random() / 2),
  );
}

async function dial(turn: number): Promise<void> {
  const { ticket } = await api.get<{ ticket: string }>('/sessions/ticket');
  if (turn !== dials) return;
  pending = undefined;
  if (wants.size === 0) return;
  const mine = new WebSocket(`${location.origin.replace(/^http/, 'ws')}/ui/live`, ['device.live.v1', ticket]);
  socket = mine;
  mine.binaryType = 'arraybuffer';
  mine.onopen = () => {
    if (socket !== mine) return mine.close(1000, 'another took its place');
    tries = 0;
    liveState.value = 'on';
    const out = outage.peek();
    if (out !== undefined && out.until === undefined) {
      outage.value = { ...out, until: Date.now() };
      // No request found it away: what was asked before is old all the same.
      if (returned.peek() === before) returned.value += 1;
    }
    for (const id of wants.keys()) ask(id);
  };
  mine.onmessage = ({ data }) => {
    if (socket === mine) hear(data);
  };
  const hear = (data: string | ArrayBuffer) =>
    typeof data === 'string' ? take(JSON.parse(data)) : chunk(new Uint8Array(data));
  mine.onclose = ({ code }) => {
    if (socket !== mine) return;
    socket = undefined;
    if (code === ENDED) {
      endSession('ended');
      return;
    }
    for (const [id, want] of wants) {
      if (!want.once) continue;
      wants.delete(id);
      want.on.closed?.(new ApiError(0, { code: 'OFFLINE', message: 'the connection to the device was lost' }));
    }
    retry();
  };
}

function retry(): void {
  if (wants.size === 0 || token.peek() === undefined) {
    liveState.value = 'off';
    return;
  }
  if (outage.peek() === undefined || outage.peek()?.until !== undefined) {
    outage.value = { from: Date.now() };
    before = returned.peek();
  }
  tries += 1;
  connect();
}

interface Message extends Item {
  readonly opened?: number;
  readonly closed?: number;
  readonly lost?: number;
  readonly chunks?: number;
  readonly of?: number;
  readonly error?: ErrorBody;
}

function take(message: Message): void {
  const id = message.opened ?? message.closed ?? message.lost ?? message.of;
  const want = id === undefined ? undefined : wants.get(id);
  if (id === undefined || want === undefined) return;
  if (message.opened !== undefined) {
    want.on.opened?.(want.before);
    want.before = true;
  } else if (message.lost !== undefined) want.on.lost?.(message.chunks ?? 0);
  else if (message.closed !== undefined) {
    const error = message.error && new ApiError(0, message.error);
    // A plugin that restarts comes back; who follows it should not have to know.
    const back = error?.code === 'UNAVAILABLE' || (error === undefined && want.before);
    if (back && !want.once) {
      const on = socket;
      // Another socket asks for all that is wanted by itself.
      setTimeout(() => {
        if (on === socket) ask(id);
      }, 1000);
    } else {
      wants.delete(id);
      want.on.closed?.(error);
    }
  } else {
    if (!want.manual) used(id, want);
    want.on.item?.(message);
  }
}

function chunk(bytes: Uint8Array): void {
  const id = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0);
  const want = wants.get(id);
  if (want === undefined) return;
  if (!want.manual) used(id, want);
  want.on.chunk?.(bytes.subarray(4));
}

function used(id: number, want: Want): void {
  want.given -= 1;
  if (want.given > want.credit / 2) return;
  say({ credit: want.credit - want.given, of: id });
  want.given = want.credit;
}

// It answers again: there is nothing to wait for.
returned.subscribe((times) => {
  if (times === 0 || pending === undefined) return;
  clearTimeout(pending);
  pending = undefined;
  dials += 1;
  tries = 0;
  connect();
});
// Somebody signed out, or in again: the socket of the former one is nobody's.
token.subscribe((held) => {
  const former = socket;
  socket = undefined;
  former?.close(1000, 'signed out');
  clearTimeout(pending);
  pending = undefined;
  dials += 1;
  if (held !== undefined && wants.size > 0) connect();
});
