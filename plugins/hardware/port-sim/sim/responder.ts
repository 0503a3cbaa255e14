/** The bridge's end of the link: BOOT, ACKING, UP, packets in lock step with the transactions, the data-ready line, the watchdog. */
import type { SimClock } from './clock.ts';
import { Violation } from './endpoint.ts';
import { type Greeting, readGreeting, type Welcome, writeWelcome } from './greeting.ts';
import { SendWindow } from './send-window.ts';
import { decodePacket, ENVELOPE, encodeFrame, encodePacket, TYPE, type WireFrame } from './wire-format.ts';

const OVERDUE_MS = 1;

export interface ResponderOptions {
  readonly transactionBytes: number;
  readonly window: number;
  readonly gapUs: number;
  readonly khz: number;
  /** 0 = no watchdog. */
  readonly watchdogMs: number;
  readonly firmware: readonly [number, number, number];
  readonly endpoints: number;
  readonly tableCrc: number;
}

/** Peer that takes and makes the frames. */
export interface ResponderPeer {
  /** Throws Violation. */
  receive(frame: WireFrame): void;
  readonly ready: boolean;
  pack(capacity: number): Uint8Array;
  /** The session is over: operations, queues, credits. */
  clear(): void;
  safe(): void;
  dataReady(level: boolean): void;
}

type State = 'boot' | 'acking' | 'up';

export class Responder {
  readonly counts = {
    transactions: 0,
    good: 0,
    bad: 0,
    duplicates: 0,
    packets: 0,
    retransmitted: 0,
    empty: 0,
    resets: 0,
    violations: 0,
  };
  /** Fault: the protocol version that HELLO_ACK claims. */
  major = 1;
  /** Minor version of the protocol: 1 knows CANCEL with reason 2. */
  minor = 1;
  readonly #options: ResponderOptions;
  readonly #clock: SimClock;
  readonly #peer: ResponderPeer;
  #state: State = 'boot';
  #bootId: number;
  #resetReason = 1;
  #window: SendWindow;
  #bytes: number;
  #sid = 0;
  #nonce = 0;
  #greeting: Greeting | undefined;
  #greeted = 0;
  #level = false;
  #overdue: Disposable | undefined;
  #watchdog: Disposable | undefined;
  #lastGood = 0;

  constructor(options: ResponderOptions, clock: SimClock, peer: ResponderPeer, bootId: number) {
    this.#options = options;
    this.#clock = clock;
    this.#peer = peer;
    this.#bootId = bootId;
    this.#bytes = options.transactionBytes;
    this.#window = new SendWindow(options.window, 1);
  }

  get state(): State {
    return this.#state;
  }

  get sid(): number {
    return this.#sid;
  }

  get dataReady(): boolean {
    return this.#level;
  }

  /** Power-on, a pin reset, a crash: everything is forgotten. */
  boot(reason: number): void {
    this.#bootId = (this.#bootId + 1) >>> 0;
    this.#resetReason = reason;
    this.#greeting = undefined;
    this.#nonce = 0;
    this.#leave();
  }

  /** Frames may have become ready. */
  update(): void {
    const oldest = this.#window.waitingSince;
    const now = this.#clock.now();
    // Compared as the timer is set: a difference of fractions could call it early, and the timer would be set for now again.
    const late = oldest !== undefined && now >= oldest + OVERDUE_MS;
    const level = this.#state !== 'up' || this.#hasSomething || late;
    if (this.#state === 'up' && oldest !== undefined && !level) {
      this.#overdue ??= this.#clock.at(oldest + OVERDUE_MS, () => {
        this.#overdue = undefined;
        this.update();
      });
    }
    if (level === this.#level) return;
    this.#level = level;
    this.#peer.dataReady(level);
  }

  get #hasSomething(): boolean {
    return this.#window.hasUnsent || (this.#window.hasRoom && this.#peer.ready);
  }

  // ---- one transaction ----

  /** CS falls: the armed packet leaves. */
  begin(): Uint8Array {
    this.counts.transactions++;
    if (this.#state === 'boot') return this.#outside(new Uint8Array(0));
    if (this.#state === 'acking') return this.#outside(this.#welcome());
    const window = this.#window;
    if (!window.hasUnsent && window.hasRoom && this.#peer.ready) {
      const payload = this.#peer.pack(this.#bytes - ENVELOPE);
      if (payload.length > 0) window.add(payload);
    }
    const { seq, ack } = window;
    const payload = window.send(this.#clock.now());
    if (payload) this.counts.packets++;
    else this.counts.empty++;
    const head = {
      isData: payload !== undefined,
      hasMore: this.#hasSomething,
      isReset: false,
      seq,
      ack,
      sid: this.#sid,
    };
    return encodePacket({ ...head, payload: payload ?? new Uint8Array(0) });
  }

  /** CS rises: this came in. */
  finish(bytes: Uint8Array): void {
    const decoded = decodePacket(bytes);
    if (decoded.ok) {
      this.counts.good++;
      this.#lastGood = this.#clock.now();
      try {
        if (decoded.packet.isReset) this.#greet(decoded.frames);
        else this.#inSession(decoded.packet, decoded.frames);
      } catch (error) {
        if (!(error instanceof Violation)) throw error;
        this.counts.violations++;
        this.#leave();
      }
    } else this.counts.bad++;
    this.#window.transactionOver();
    this.update();
  }

  #inSession(packet: { sid: number; ack: number; seq: number; isData: boolean }, frames: readonly WireFrame[]): void {
    this.#greeted = 0;
    if (this.#state === 'boot' || packet.sid !== this.#sid) return;
    this.#state = 'up';
    this.#guard();
    this.#window.confirm(packet.ack);
    if (!packet.isData) return;
    if (!this.#window.take(packet.seq)) {
      this.counts.duplicates++;
      return;
    }
    for (const frame of frames) this.#peer.receive(frame);
  }

  // ---- greeting ----

  #greet(frames: readonly WireFrame[]): void {
    const [frame] = frames;
    const greeting = frame?.type === TYPE.hello ? readGreeting(frame.body) : undefined;
    if (!greeting || (this.#state !== 'boot' && greeting.nonce === this.#nonce)) return;
    this.#greeted = this.#greeting?.nonce === greeting.nonce ? this.#greeted + 1 : 1;
    this.#greeting = greeting;
    if (this.#greeted >= 2) this.#accept(greeting);
  }

  #accept(greeting: Greeting): void {
    this.#peer.clear();
    this.counts.resets++;
    this.#nonce = greeting.nonce;
    this.#sid = greeting.nonce & 0xffff;
    this.#greeted = 0;
    this.#greeting = undefined;
    this.#bytes = Math.min(greeting.transactionBytes, this.#options.transactionBytes);
    this.counts.retransmitted += this.#window.retransmitted;
    this.#window = new SendWindow(Math.min(greeting.window, this.#options.window), Math.max(1, greeting.ackDelay));
    this.#state = 'acking';
    this.#guard();
  }

  #welcome(): Uint8Array {
    const { gapUs, khz, watchdogMs, endpoints, tableCrc, firmware, window } = this.#options;
    const welcome: Welcome = {
      nonce: this.#nonce,
      transactionBytes: this.#bytes,
      window: Math.min(window, this.#window.size),
      gapUs,
      endpoints,
      watchdogMs,
      khz,
      bootId: this.#bootId,
      tableCrc,
      firmware: [...firmware, this.#resetReason],
    };
    const body = writeWelcome(welcome);
    return encodeFrame({
      type: TYPE.helloAck,
      fin: true,
      endpoint: 0,
      rid: 0,
      code: this.major,
      fragment: this.minor,
      body,
    });
  }

  #outside(payload: Uint8Array): Uint8Array {
    return encodePacket({ isData: false, hasMore: false, isReset: true, seq: 0, ack: 0, sid: 0, payload });
  }

  /** Back to BOOT: the host sees packets from outside the session and greets anew. */
  #leave(): void {
    this.#peer.clear();
    this.#state = 'boot';
    this.#sid = 0;
    this.#watchdog?.[Symbol.dispose]();
    this.#watchdog = undefined;
    this.update();
  }

  /** Arms the watchdog; one timer that looks back is cheaper than one a packet. */
  #guard(): void {
    const { watchdogMs } = this.#options;
    if (watchdogMs === 0 || this.#watchdog) return;
    this.#watchdog = this.#clock.at(this.#lastGood + watchdogMs, () => {
      this.#watchdog = undefined;
      if (this.#clock.now() < this.#lastGood + watchdogMs) this.#guard();
      else this.#peer.safe();
    });
  }

  /** Ends its timers. */
  dispose(): void {
    this.#overdue?.[Symbol.dispose]();
    this.#watchdog?.[Symbol.dispose]();
  }
}
