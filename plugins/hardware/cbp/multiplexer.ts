/** The frames of one session: which go into the next packet, and where those that arrive belong. */

import type { Clock } from '@device-core/plugin-api';
import { Channel, type ChannelCounts, type ChannelLink } from './channel.ts';
import { EventCredit } from './credit.ts';
import { type Descriptor, SYS_DESCRIPTOR } from './descriptor.ts';
import { FIRST_EXTENSION, FRAME, FRAME_HEAD, type Frame, type FrameHead, PayloadWriter } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { Scheduler } from './scheduler.ts';

const CREDIT_KIND = { request: 0, event: 1 } as const;
const EVENT_HEAD = 8;
/** From this minor version on bridges know how to give back what has not begun. */
const RECALL_MINOR = 1;

/** An event of an endpoint as it came over the wire. */
export interface WireEvent {
  readonly ep: number;
  readonly op: number;
  /** Bridge time, microseconds. */
  readonly timestampUs: number;
  /** Events dropped on the bridge since the one before. */
  readonly lost: number;
  readonly data: Uint8Array;
}

export interface MultiplexerOptions {
  readonly clock: Clock;
  /** Minor version of the protocol that the bridge speaks. */
  readonly minor?: number;
  readonly wake: () => void;
  readonly breach: (reason: string) => void;
  /** The token comes back with the bridge's own time, microseconds. */
  readonly pong: (token: number, bridgeUs: number) => void;
  readonly goAway: (reason: number) => void;
  readonly event: (event: WireEvent) => void;
  /** False where the events of an endpoint have no listener: the bridge gets no more credit for them and stays quiet. */
  readonly heard?: (ep: number) => boolean;
  readonly countsOf: (ep: number) => ChannelCounts;
}

interface ControlFrame extends FrameHead {
  readonly words: readonly number[];
}

export class Multiplexer implements ChannelLink {
  readonly clock: Clock;
  readonly recalls: boolean;
  readonly #options: MultiplexerOptions;
  readonly #scheduler = new Scheduler();
  readonly #channels = new Map<number, Channel>();
  readonly #eventCredits = new Map<number, EventCredit>();
  /** Class 0. A CREDIT that is still here is replaced by a newer one, so that there is at most one per endpoint. */
  readonly #control: ControlFrame[] = [];

  constructor(options: MultiplexerOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.recalls = (options.minor ?? 0) >= RECALL_MINOR;
    this.add(SYS_DESCRIPTOR);
  }

  get channels(): readonly Channel[] {
    return [...this.#channels.values()];
  }

  channel(ep: number): Channel | undefined {
    return this.#channels.get(ep);
  }

  /** An endpoint of the table. The system endpoint stays as it is: its requests are under way. */
  add(descriptor: Descriptor): void {
    if (this.#channels.has(descriptor.ep)) return;
    const channel = new Channel(descriptor, this, this.#options.countsOf(descriptor.ep));
    this.#channels.set(descriptor.ep, channel);
    this.#scheduler.add(descriptor.priority, channel);
  }

  /** Everything in flight ends with this status. */
  end(status: number): void {
    this.#control.length = 0;
    for (const channel of this.#channels.values()) channel.end(status);
  }

  // ---- toward the bridge ----

  get ready(): boolean {
    return this.#control.length > 0 || this.#scheduler.ready;
  }

  wake(): void {
    this.#options.wake();
  }

  breach(reason: string): void {
    this.#options.breach(reason);
  }

  cancel(ep: number, rid: number, reason: number): void {
    this.#send({ type: FRAME.CANCEL, ep, rid, op: reason, words: [] });
  }

  ping(token: number, timeUs: number): void {
    this.#send({ type: FRAME.PING, ep: 0, rid: 0, words: [token, timeUs >>> 0] });
  }

  /** The payload of a new packet; empty when nothing fits or waits. */
  build(capacity: number): Buffer {
    const out = new PayloadWriter(capacity);
    while (this.#control.length > 0 && out.room >= FRAME_HEAD + 4 * this.#control[0]!.words.length) {
      const frame = this.#control.shift()!;
      const body = out.frame({ ...frame, fin: true }, 4 * frame.words.length);
      frame.words.forEach((word, index) => {
        body.writeUInt32LE(word, 4 * index);
      });
    }
    this.#scheduler.fill(out);
    return out.payload();
  }

  #send(frame: ControlFrame): void {
    this.#control.push(frame);
    this.wake();
  }

  // ---- from the bridge ----

  /** Throws ProtocolError. */
  receive(frame: Frame): void {
    switch (frame.type) {
      case FRAME.RSP:
      case FRAME.DATA:
        this.#known(frame).receive(frame);
        break;
      case FRAME.CREDIT:
        if (frame.op === CREDIT_KIND.request) this.#known(frame).credit.grant(word(frame, 0));
        break;
      case FRAME.EVT:
        this.#event(frame);
        break;
      case FRAME.PING:
        this.#send({ type: FRAME.PONG, ep: 0, rid: 0, words: [word(frame, 0), microseconds(this.clock.monotonic())] });
        break;
      case FRAME.PONG:
        this.#options.pong(word(frame, 0), word(frame, 4));
        break;
      case FRAME.GOAWAY:
        this.#options.goAway(frame.body[0] ?? 0);
        break;
      default:
        if (frame.type < FIRST_EXTENSION) throw new ProtocolError(`a frame of type ${frame.type}`);
    }
  }

  /** Also before the table has been read, and of a class that the host does not know: the bytes must come back to the bridge as credit. */
  #event(frame: Frame): void {
    const { ep, op, body } = frame;
    if (body.length < EVENT_HEAD) throw new ProtocolError('an event without its head');
    const lost = body[4]! | (body[5]! << 8);
    const counts = this.#options.countsOf(ep);
    counts.events++;
    counts.lostEvents += lost;
    this.#options.event({ ep, op, timestampUs: word(frame, 0), lost, data: body.slice(EVENT_HEAD) });
    const credit = this.#eventCredits.get(ep) ?? new EventCredit();
    this.#eventCredits.set(ep, credit);
    credit.consume(body.length);
    if (this.#options.heard?.(ep) ?? true) this.hear(ep);
  }

  /** Grants what was consumed. True where that is worth a CREDIT: the endpoint may have had to keep its events back. */
  hear(ep: number): boolean {
    const limit = this.#eventCredits.get(ep)?.grant();
    if (limit === undefined) return false;
    const queued = this.#control.findIndex((other) => other.type === FRAME.CREDIT && other.ep === ep);
    if (queued >= 0) this.#control.splice(queued, 1);
    this.#send({ type: FRAME.CREDIT, ep, rid: 0, op: CREDIT_KIND.event, words: [limit] });
    return true;
  }

  #known(frame: Frame): Channel {
    const channel = this.#channels.get(frame.ep);
    if (!channel) throw new ProtocolError(`a frame of endpoint ${frame.ep}, which the table does not have`);
    return channel;
  }
}

export function microseconds(ms: number): number {
  return Math.floor(ms * 1000) >>> 0;
}

function word(frame: Frame, at: number): number {
  const { body } = frame;
  if (body.length < at + 4) throw new ProtocolError(`a frame of type ${frame.type} that is too short`);
  return (body[at]! | (body[at + 1]! << 8) | (body[at + 2]! << 16) | (body[at + 3]! << 24)) >>> 0;
}
