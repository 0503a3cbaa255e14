/** One session, from HELLO_ACK to its end: packets in order through the ARQ, frames through the multiplexer, the heartbeat. */

import type { Clock } from '@device-core/plugin-api';
import { Arq } from './arq.ts';
import { BridgeTime } from './bridge-time.ts';
import type { ChannelCounts } from './channel.ts';
import { FRAME } from './frame.ts';
import { Heartbeat } from './heartbeat.ts';
import { type Hello, readHello, sidOf } from './hello.ts';
import { Multiplexer, microseconds, type WireEvent } from './multiplexer.ts';
import { PACKET_OVERHEAD, type Packet, sealPacket } from './packet.ts';
import { ProtocolError } from './protocol-error.ts';

/** Acknowledgements may wait this long for a packet that travels anyway. */
const LAZY_ACK_MS = 1;
/** Packets from outside the session before the host believes them: a replayed one must do no harm. */
const FOREIGN_LIMIT = 3;
const GOAWAY_BACKOFF_MS = 100;

export interface SessionOptions {
  readonly clock: Clock;
  /** Answer of the bridge to the greeting. */
  readonly hello: Hello;
  /** Minor version of the protocol that it speaks. */
  readonly minor: number;
  readonly heartbeatMs: number;
  readonly wake: () => void;
  readonly event: (event: WireEvent) => void;
  readonly heard?: (ep: number) => boolean;
  readonly countsOf: (ep: number) => ChannelCounts;
}

/** Why a session is over. `waitMs` is there when the host should not greet at once. */
export interface SessionEnd {
  readonly reason: string;
  readonly waitMs?: number;
}

export class Session {
  readonly hello: Hello;
  readonly sid: number;
  readonly arq: Arq;
  readonly frames: Multiplexer;
  readonly heartbeat: Heartbeat;
  readonly time = new BridgeTime();
  /** Duplicates of packets that had been received. */
  duplicates = 0;
  #end: SessionEnd | undefined;
  #foreign = 0;
  #peerHasMore = false;
  #again = false;
  /** A PONG or an event came. On an idle link nothing else carries the acknowledgement, and the bridge would have to ask for it. */
  #acknowledge = false;

  constructor(options: SessionOptions) {
    const { clock, hello } = options;
    this.hello = hello;
    this.sid = sidOf(hello.nonce);
    this.arq = new Arq(hello.window, Math.max(1, hello.ackDelay));
    this.heartbeat = new Heartbeat(options.heartbeatMs, clock);
    this.frames = new Multiplexer({
      ...options,
      breach: (reason) => this.#over({ reason: `protocol error: ${reason}` }),
      pong: (token, bridgeUs) => {
        const now = clock.monotonic();
        const sent = this.heartbeat.pong(token, now);
        if (sent !== undefined) this.time.sample(sent, now, bridgeUs);
      },
      goAway: (reason) => this.#over({ reason: `the bridge goes away (reason ${reason})`, waitMs: GOAWAY_BACKOFF_MS }),
    });
  }

  /** Set once: the session is over and the link has to act. */
  get ended(): SessionEnd | undefined {
    return this.#end;
  }

  /** When the next transaction is due (rule A6), infinity when only the bridge or a request can cause one. */
  due(now: number, dataReady: boolean): number {
    if (this.#end || dataReady || this.#peerHasMore || this.#again || this.#acknowledge) return now;
    if (this.arq.pending || (this.arq.open && this.frames.ready)) return now;
    const oldest = this.arq.oldestSentAt;
    return Math.min(oldest === undefined ? Number.POSITIVE_INFINITY : oldest + LAZY_ACK_MS, this.heartbeat.due);
  }

  /** The packet of the next transaction (rule A1). */
  build(now: number): Buffer {
    const { arq, frames, heartbeat } = this;
    this.#acknowledge = false;
    if (now >= heartbeat.due) frames.ping(heartbeat.ping(now), microseconds(now));
    if (!arq.pending && arq.open && frames.ready) {
      const payload = frames.build(this.hello.n - PACKET_OVERHEAD);
      if (payload.length > 0) arq.push(payload);
    }
    const { seq, ack } = arq;
    const payload = arq.take(now);
    const more = arq.pending || (arq.open && frames.ready);
    const head = { data: payload !== undefined, more, rst: false, seq, ack, sid: this.sid };
    return sealPacket(head, payload ?? NOTHING, this.hello.n);
  }

  /** A transaction brought nothing valid. */
  lost(): void {
    this.#again = true;
    this.#peerHasMore = false;
    this.#close();
  }

  received(packet: Packet, now: number): void {
    this.#again = false;
    this.heartbeat.alive(now);
    if (packet.rst || packet.sid !== this.sid) this.#outside(packet);
    else this.#inside(packet);
    this.#close();
  }

  #inside(packet: Packet): void {
    this.#foreign = 0;
    this.#peerHasMore = packet.more;
    this.arq.acknowledge(packet.ack);
    if (!packet.data) return;
    const arrival = this.arq.accept(packet.seq);
    if (arrival === 'duplicate') this.duplicates++;
    if (arrival !== 'new') return;
    try {
      for (const frame of packet.frames) {
        if (this.#end) return;
        if (frame.type === FRAME.PONG || frame.type === FRAME.EVT) this.#acknowledge = true;
        this.frames.receive(frame);
      }
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      this.frames.breach(error.message);
    }
  }

  #outside(packet: Packet): void {
    this.#peerHasMore = false;
    const [frame] = packet.frames;
    const greeting = packet.rst && frame?.type === FRAME.HELLO_ACK ? readHello(frame.body) : undefined;
    // Our own acknowledgement once more: the bridge has not heard the session yet.
    if (greeting?.nonce === this.hello.nonce) return;
    this.#foreign++;
    if (this.#foreign >= FOREIGN_LIMIT) this.#over({ reason: 'the bridge restarted' });
  }

  #close(): void {
    this.arq.tick();
    if (this.heartbeat.dead) this.#over({ reason: 'the bridge does not answer PING', waitMs: 0 });
  }

  #over(end: SessionEnd): void {
    this.#end ??= end;
    this.frames.wake();
  }
}

const NOTHING = new Uint8Array(0);
