/** Decoded traffic of host and bridge, for watchers. Without one, a transaction costs one check more. */
import type { Clock } from '@device-core/plugin-api';
import type { EndpointRow } from './endpoint-table.ts';
import { FRAME, type Frame } from './frame.ts';
import { openPacket, type Rejection } from './packet.ts';
import { statusName } from './status.ts';

/** Bytes of a body that are shown. */
const SHOWN = 24;
const KINDS = new Map<number, string>(Object.entries(FRAME).map(([name, type]) => [type, name]));
/** By class of the endpoint (docs/cbp.md, sections 10 and 11). */
const OPS: Readonly<Record<number, Readonly<Record<number, string>>>> = {
  0: {
    1: 'ENUM',
    2: 'NAME',
    3: 'STATS',
    4: 'EP_STATS',
    5: 'EP_RESET',
    6: 'ECHO',
    7: 'REBOOT',
    128: 'EP_CHANGED',
    129: 'LOG',
  },
  1: { 1: 'READ', 2: 'WRITE', 3: 'CONFIGURE', 128: 'EDGE' },
  2: { 1: 'TRANSFER', 2: 'CONFIGURE', 3: 'RECOVER' },
  3: { 1: 'TRANSFER' },
  4: { 1: 'CONFIGURE', 2: 'WRITE', 3: 'DRAIN', 128: 'RECEIVED', 129: 'ERROR' },
  5: { 1: 'LOAD', 2: 'CONFIGURE', 3: 'ENABLE', 4: 'WRITE', 5: 'READ', 128: 'INTERRUPT' },
  6: { 1: 'CONFIGURE', 2: 'SEND', 3: 'FILTER', 128: 'RECEIVED', 129: 'STATE' },
};

export interface Traced {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** `out`: the host said it. */
  readonly direction: 'out' | 'in';
  /** Type of the frame, `REQ`; `BAD` for a transaction that brought no packet. */
  readonly frame: string;
  readonly endpoint?: string;
  readonly rid?: number;
  /** Operation of a request or an event. */
  readonly op?: string;
  /** Status at the end of an answer. */
  readonly status?: string;
  readonly last?: boolean;
  /** Length of the body, and its beginning in hex. */
  readonly bytes: number;
  readonly body?: string;
  /** Why it was no packet: the check that failed first. */
  readonly reason?: Rejection;
}

export type TraceListener = (traced: Traced) => void;

export class Trace {
  readonly #clock: Clock;
  readonly #rows: () => readonly EndpointRow[] | undefined;
  readonly #listeners = new Set<TraceListener>();

  constructor(clock: Clock, rows: () => readonly EndpointRow[] | undefined) {
    this.#clock = clock;
    this.#rows = rows;
  }

  /** True while there is a watcher. */
  get on(): boolean {
    return this.#listeners.size > 0;
  }

  add(listener: TraceListener): Disposable {
    const own: TraceListener = (traced) => listener(traced);
    this.#listeners.add(own);
    return { [Symbol.dispose]: () => void this.#listeners.delete(own) };
  }

  /** The bytes of a transaction. Acknowledgements alone are nothing to tell. */
  tell(direction: Traced['direction'], bytes: Uint8Array): void {
    const packet = openPacket(bytes);
    const head = { at: Math.round(this.#clock.now()), direction };
    if (typeof packet === 'string')
      this.#tell({ ...head, frame: 'BAD', reason: packet, bytes: bytes.length, body: hex(bytes) });
    else for (const frame of packet.frames) this.#tell({ ...head, ...this.#decoded(frame) });
  }

  #decoded({ type, ep, rid, op, fin, body }: Frame): Omit<Traced, 'at' | 'direction'> {
    const row = this.#rows()?.find(({ descriptor }) => descriptor.ep === ep);
    const endpoint = row?.name ?? (ep === 0 ? 'sys' : String(ep));
    const name = OPS[row?.descriptor.class ?? (ep === 0 ? 0 : -1)]?.[op] ?? `0x${op.toString(16).padStart(2, '0')}`;
    const asks = type === FRAME.REQ || type === FRAME.EVT;
    const ends = type === FRAME.RSP && fin;
    return {
      frame: KINDS.get(type) ?? `TYPE ${type}`,
      ...(type <= FRAME.CANCEL && { endpoint, ...(type !== FRAME.EVT && type !== FRAME.CREDIT && { rid }) }),
      ...(asks && { op: name }),
      ...(ends && { status: statusName(op) }),
      ...(fin && { last: true }),
      bytes: body.length,
      ...(body.length > 0 && { body: hex(body) }),
    };
  }

  #tell(traced: Traced): void {
    for (const listener of this.#listeners) listener(traced);
  }
}

const hex = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(SHOWN, bytes.length)).toString('hex');
