/**
 * The host's end of the link: DOWN, HELLO, UP (cbp.md section 4). It recovers by itself, with a back-off. Knows no port: `due` says when a
 * transaction is wanted, `build` what it carries, `received` and `failed` what came of it.
 */

import { type Clock, maybe, OwnTimeLimit } from '@device-core/plugin-api';
import { type ChannelCounts, noCounts } from './channel.ts';
import { FRAME, PayloadWriter } from './frame.ts';
import {
  HELLO_LENGTH,
  type Hello,
  NO_FIRMWARE,
  PROTOCOL_MAJOR,
  PROTOCOL_MINOR,
  readHello,
  writeHello,
} from './hello.ts';
import type { WireEvent } from './multiplexer.ts';
import { BRING_UP_SIZE, openPacket, PACKET_OVERHEAD, type Packet, sealPacket, TRANSACTION_SIZES } from './packet.ts';
import { Session } from './session.ts';
import { SpeedLadder } from './speed-ladder.ts';
import { Statistics } from './statistics.ts';
import { STATUS } from './status.ts';
import type { Trace } from './trace.ts';

const BRING_UP_KHZ = 1000;
const BRING_UP_GAP_US = 200;
const HELLO_PACE_MS = 10;
/** A bridge that talks, but not to this greeting, gets no longer than this. */
const HELLO_MS = 1_000;
const BACKOFF_MIN_MS = 100;
const BACKOFF_MAX_MS = 5_000;
const INVALID_LIMIT = 64;
const INVALID_MS = 500;
/** Failed attempts before the host pulls the bridge's reset. */
const ATTEMPTS_BEFORE_PULSE = 3;
const WINDOW_MAX = 32;
const NO_ANSWER = 'no HELLO_ACK from the bridge';

export type Phase = 'down' | 'hello' | 'up';

export interface LinkOptions {
  readonly clock: Clock;
  /** 32 random bits. */
  readonly random: () => number;
  /** Offered to the bridge, which may choose less. */
  readonly transactionBytes: number;
  readonly window: number;
  readonly khz: number;
  readonly heartbeatMs: number;
  readonly wake: () => void;
  /** After each change; `session` is there while it is up. */
  readonly changed: (phase: Phase, reason: string | undefined) => void;
  readonly event?: (event: WireEvent) => void;
  /** False where the events of an endpoint have no listener. */
  readonly heard?: (ep: number) => boolean;
  /** The wire was too fast for its noise, or may be tried faster again. */
  readonly clocked?: (khz: number, slower: boolean) => void;
  readonly trace?: Trace;
}

export interface Transaction {
  readonly bytes: Uint8Array;
  readonly speedHz: number;
}

export class Link {
  readonly statistics = new Statistics();
  readonly ladder = new SpeedLadder();
  readonly #options: LinkOptions;
  readonly #counts = new Map<number, ChannelCounts>();
  readonly #bootId: number;
  #phase: Phase = 'down';
  #reason: string | undefined = 'the link has not been opened yet';
  #session: Session | undefined;
  #nonce = 0;
  #retryAt = 0;
  #downSince = 0;
  #attempts = 0;
  #lastHello = Number.NEGATIVE_INFINITY;
  #helloLimit: OwnTimeLimit | undefined;
  #invalid = 0;
  #invalidLimit: OwnTimeLimit | undefined;
  #dataReady = false;
  /** False where the port guesses the data-ready line: its rise then says nothing. */
  wired = true;

  constructor(options: LinkOptions) {
    this.#options = options;
    this.#bootId = options.random();
  }

  get phase(): Phase {
    return this.#phase;
  }

  /** Why it is not up. */
  get reason(): string | undefined {
    return this.#reason;
  }

  get session(): Session | undefined {
    return this.#session;
  }

  /** The bus clock of the next transaction, kHz. */
  get khz(): number {
    return this.#session ? Math.min(this.#options.khz, this.#session.hello.khz, this.ladder.khz) : BRING_UP_KHZ;
  }

  /** Least time between two transactions, microseconds. */
  get gapUs(): number {
    return this.#session ? this.#session.hello.gapUs : BRING_UP_GAP_US;
  }

  /** The attempt that starts now should begin with a pulse on the bridge's reset line. */
  get wantsPulse(): boolean {
    return this.#phase === 'down' && this.#attempts > 0 && this.#attempts % ATTEMPTS_BEFORE_PULSE === 0;
  }

  /** The level of the data-ready line. Its rise during a back-off is a bridge that has just started: no need to wait the whole of it. */
  dataReady(level: boolean): void {
    const rise = level && !this.#dataReady;
    this.#dataReady = level;
    if (rise && this.wired && this.#phase === 'down') {
      this.#retryAt = Math.min(this.#retryAt, this.#downSince + BACKOFF_MIN_MS);
      this.#options.wake();
    }
  }

  /** When the next transaction is due. */
  due(now: number): number {
    if (this.#phase === 'down') return this.#retryAt;
    if (this.#phase === 'up') return this.#session!.due(now, this.#dataReady);
    return this.#dataReady && this.#invalid === 0 ? now : this.#lastHello + HELLO_PACE_MS;
  }

  build(now: number): Transaction {
    if (this.#phase === 'down') this.#greet(undefined);
    const speedHz = this.khz * 1000;
    if (!this.#session) this.#lastHello = now;
    const bytes = this.#session?.build(now) ?? this.#hello();
    if (this.#options.trace?.on) this.#options.trace.tell('out', bytes);
    return { bytes, speedHz };
  }

  received(rx: Uint8Array, now: number): void {
    if (this.#options.trace?.on) this.#options.trace.tell('in', rx);
    const packet = openPacket(rx);
    const valid = typeof packet === 'object';
    this.statistics.count(valid, now);
    this.#pace(valid, now);
    if (valid) this.#valid(packet, now);
    else this.#lost(now);
    this.#settle(now);
  }

  #pace(valid: boolean, now: number): void {
    if (!this.#session) return;
    const before = this.khz;
    if (this.ladder.count(valid, before, now)) this.#options.clocked?.(this.khz, this.khz < before);
  }

  /** The port could not run the transaction. */
  failed(reason: string, now: number): void {
    this.#drop(reason, now);
  }

  /** Ends what is in flight; the link is not used any more. */
  close(reason: string): void {
    this.#endSession(reason);
    this.#change('down', reason);
    this.#retryAt = Number.POSITIVE_INFINITY;
  }

  /** Ends a session from outside: its endpoint table made no sense. */
  restart(reason: string): void {
    this.#drop(reason, this.#options.clock.monotonic());
    this.#options.wake();
  }

  /** The session works: the next failure starts with the short back-off again. */
  confirm(): void {
    this.#attempts = 0;
  }

  countsOf(ep: number): ChannelCounts {
    const counts = this.#counts.get(ep) ?? noCounts();
    this.#counts.set(ep, counts);
    return counts;
  }

  // ---- HELLO ----

  #greet(reason: string | undefined): void {
    this.#helloLimit = new OwnTimeLimit(this.#options.clock, HELLO_MS);
    do this.#nonce = this.#options.random() >>> 0;
    while ((this.#nonce & 0xffff) === 0);
    this.#attempts++;
    this.#invalid = 0;
    this.#lastHello = Number.NEGATIVE_INFINITY;
    this.#change('hello', reason ?? this.#reason);
  }

  #hello(): Buffer {
    const { transactionBytes, window, khz, heartbeatMs } = this.#options;
    const out = new PayloadWriter(BRING_UP_SIZE - PACKET_OVERHEAD);
    const head = { type: FRAME.HELLO, fin: true, ep: 0, rid: 0, op: PROTOCOL_MAJOR, aux: PROTOCOL_MINOR };
    const body = out.frame(head, HELLO_LENGTH);
    writeHello(
      {
        nonce: this.#nonce,
        n: transactionBytes,
        window,
        rxReorder: 0,
        gapUs: 0,
        ackDelay: 1,
        endpoints: 0,
        heartbeatMs,
        khz,
        bootId: this.#bootId,
        tableCrc: 0,
        firmware: NO_FIRMWARE,
      },
      body,
    );
    const outside = { data: false, more: false, rst: true, seq: 0, ack: 0, sid: 0 };
    return sealPacket(outside, out.payload(), BRING_UP_SIZE);
  }

  #answered(packet: Packet, now: number): void {
    const [frame] = packet.frames;
    if (!packet.rst || frame?.type !== FRAME.HELLO_ACK) return;
    const hello = readHello(frame.body);
    if (hello?.nonce !== this.#nonce) return;
    const clash = this.#disagreement(frame.op, hello);
    if (clash) this.#drop(`incompatible: ${clash}`, now);
    else this.#open(hello, frame.aux);
  }

  #disagreement(major: number, hello: Hello): string | undefined {
    if (major !== PROTOCOL_MAJOR) return `the bridge speaks version ${major}, this host ${PROTOCOL_MAJOR}`;
    const sizes: readonly number[] = TRANSACTION_SIZES;
    const windowFits = hello.window >= 1 && hello.window <= Math.min(WINDOW_MAX, this.#options.window);
    const sizeFits = sizes.includes(hello.n) && hello.n <= this.#options.transactionBytes;
    return sizeFits && windowFits && hello.khz > 0 ? undefined : 'the bridge chose values that were not offered';
  }

  #open(hello: Hello, minor: number): void {
    this.#session = new Session({
      clock: this.#options.clock,
      hello,
      minor,
      // Three PINGs within the watchdog period of the bridge, lest one lost packet sets its outputs to their safe values.
      heartbeatMs:
        hello.heartbeatMs > 0 ? Math.min(this.#options.heartbeatMs, hello.heartbeatMs / 3) : this.#options.heartbeatMs,
      wake: this.#options.wake,
      event: this.#options.event ?? (() => undefined),
      ...maybe({ heard: this.#options.heard }),
      countsOf: (ep) => this.countsOf(ep),
    });
    this.#change('up', undefined);
  }

  // ---- what a transaction brought ----

  #valid(packet: Packet, now: number): void {
    this.#invalid = 0;
    if (this.#session) {
      this.#session.received(packet, now);
      return;
    }
    if (this.#phase === 'hello') this.#answered(packet, now);
    if (this.#phase === 'hello' && this.#helloLimit?.leftMs === 0) this.#drop(NO_ANSWER, now);
  }

  #lost(now: number): void {
    if (this.#invalid === 0) this.#invalidLimit = new OwnTimeLimit(this.#options.clock, INVALID_MS);
    this.#invalid++;
    this.#session?.lost();
    if (this.#invalid < INVALID_LIMIT && this.#invalidLimit?.leftMs !== 0) return;
    this.#drop(this.#phase === 'up' ? 'no valid packet from the bridge' : NO_ANSWER, now);
  }

  #settle(now: number): void {
    const end = this.#session?.ended;
    if (!end) return;
    if (end.waitMs !== undefined) {
      this.#drop(end.reason, now);
      return;
    }
    this.#endSession(end.reason);
    this.#greet(end.reason);
  }

  #drop(reason: string, now: number): void {
    this.#endSession(reason);
    this.#downSince = now;
    this.#retryAt = now + Math.min(BACKOFF_MAX_MS, BACKOFF_MIN_MS * 2 ** Math.max(0, this.#attempts - 1));
    this.#change('down', reason);
  }

  #endSession(reason: string): void {
    const session = this.#session;
    if (!session) return;
    this.#session = undefined;
    this.ladder.forget();
    this.statistics.reset(reason);
    this.statistics.retransmissions += session.arq.retransmissions;
    this.statistics.duplicates += session.duplicates;
    session.frames.end(STATUS.LINK_RESET);
  }

  #change(phase: Phase, reason: string | undefined): void {
    if (phase === this.#phase && reason === this.#reason) return;
    this.#phase = phase;
    this.#reason = reason;
    this.#options.changed(phase, reason);
  }
}
