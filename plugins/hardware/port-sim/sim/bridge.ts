/** The simulated bridge: a board of endpoints behind the responder of CBP. Time is the clock it is given. */
import { crc32 } from 'node:zlib';
import { Blocks } from './blocks.ts';
import type { AnySettings, Board } from './board.ts';
import type { SimClock } from './clock.ts';
import { Endpoint, type EndpointDescription, type EndpointLink, Violation } from './endpoint.ts';
import type { GpioExecutor } from './gpio-executor.ts';
import { Outbox } from './outbox.ts';
import { Responder, type ResponderPeer } from './responder.ts';
import { SysExecutor, type SystemView } from './sys-executor.ts';
import { TYPE, type WireFrame, wordAt, words } from './wire-format.ts';

const CREDIT_OF_EVENTS = 1;
const GOAWAY_MS = 50;
const ANSWER_MS = 5;
export const RESET_REASON = { power: 1, pin: 2, watchdog: 3, software: 4, fault: 5 } as const;
const SYS: EndpointDescription = {
  number: 0,
  label: 'sys',
  class: 0x00,
  priority: 2,
  maxInflight: 4,
  flags: 0,
  rxWindow: 512,
  eventQueue: 256,
  maxTransfer: 512,
  defaultDeadlineMs: 1000,
};

export interface BridgeOptions {
  readonly clock: SimClock;
  readonly bootId: number;
  /** Folder of files that peripherals keep. */
  readonly stateFolder?: string;
  /** The data-ready line, after each change. */
  readonly dataReady?: (level: boolean) => void;
}

export class Bridge implements ResponderPeer, EndpointLink, SystemView {
  readonly clock: SimClock;
  readonly responder: Responder;
  readonly endpoints: readonly Endpoint[];
  readonly #options: BridgeOptions;
  readonly blocks: Blocks;
  readonly #outbox: Outbox;
  readonly #table: Uint8Array;
  readonly #timers = new Map<() => void, Disposable>();
  readonly #bornAt: number;

  constructor(board: Board, options: BridgeOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#bornAt = options.clock.now();
    const { clock, stateFolder } = options;
    this.blocks = new Blocks({ clock, stateFolder, later: (ms, fn, every) => this.#later(ms, fn, every) });
    // Lines first: chips and PIO are wired to them.
    const numbered = board.endpoints.map((settings, index) => ({ settings, number: index + 1 }));
    const lines = numbered.filter(({ settings }) => settings.class === 'gpio');
    const others = numbered.filter(({ settings }) => settings.class !== 'gpio');
    const built = [...lines, ...others].map(({ settings, number }) => this.#endpoint(settings, number));
    const byNumber = built.sort((a, b) => a.description.number - b.description.number);
    this.endpoints = [new Endpoint(SYS, new SysExecutor(this, clock), this), ...byNumber];
    this.#outbox = new Outbox(this.endpoints);
    this.#table = Buffer.concat(this.endpoints.map(({ description }) => writeDescriptor(description)));
    const link = { ...board.link, endpoints: this.endpoints.length, tableCrc: crc32(this.#table) };
    this.responder = new Responder(link, this.clock, this, options.bootId);
    this.responder.major = board.link.major;
    this.responder.update();
  }

  endpoint(label: string): Endpoint | undefined {
    return this.endpoints.find(({ description }) => description.label === label);
  }

  gpio(label: string): GpioExecutor | undefined {
    return this.blocks.gpios.get(label);
  }

  /** A reset by pin, watchdog or fault: operations and settings are gone, the board keeps its contents. */
  reset(reason: number): void {
    for (const endpoint of this.endpoints) endpoint.reset();
    this.responder.boot(reason);
  }

  dispose(): void {
    for (const timer of this.#timers.values()) timer[Symbol.dispose]();
    for (const endpoint of this.endpoints) endpoint.clear();
    this.responder.dispose();
  }

  // ---- frames, for the responder ----

  get ready(): boolean {
    return this.#outbox.ready;
  }

  pack(capacity: number): Uint8Array {
    return this.#outbox.pack(capacity);
  }

  receive(frame: WireFrame): void {
    const { type, body } = frame;
    if (type === TYPE.ping) {
      this.#outbox.control(TYPE.pong, words(wordAt(body, 0), Math.floor(this.clock.now() * 1000)));
      return;
    }
    if (type > TYPE.goAway) return;
    const endpoint = this.endpoints[frame.endpoint];
    if (!endpoint) throw new Violation(`a frame for endpoint ${frame.endpoint}`);
    if (type === TYPE.request || type === TYPE.data) endpoint.accept(frame);
    else if (type === TYPE.cancel) endpoint.cancel(frame.rid, frame.code);
    else if (type === TYPE.credit && frame.code === CREDIT_OF_EVENTS) endpoint.events.grant(wordAt(body, 0));
    else if (type !== TYPE.credit) throw new Violation(`a frame of type ${type}`);
  }

  clear(): void {
    for (const endpoint of this.endpoints) endpoint.clear();
    this.#outbox.clear();
  }

  safe(): void {
    for (const endpoint of this.endpoints) endpoint.safe();
  }

  dataReady(level: boolean): void {
    this.#options.dataReady?.(level);
  }

  // ---- for the endpoints ----

  changed(): void {
    this.responder?.update();
  }

  grant(endpoint: number, limit: number): void {
    this.#outbox.credit(endpoint, limit);
    this.responder.update();
  }

  /** Says something by itself: a line for the log of the host, or that an endpoint went or came back. */
  announce(op: number, data: Uint8Array): void {
    this.endpoints[0]!.events.push(op, Math.floor(this.clock.now() * 1000), data);
    this.changed();
  }

  // ---- for the system endpoint ----

  descriptors(first: number): Uint8Array {
    return this.#table.subarray(16 * first);
  }

  label(endpoint: number): string | undefined {
    return this.endpoints[endpoint]?.description.label;
  }

  stats(): readonly number[] {
    const { counts } = this.responder;
    const { transactions, good, bad, duplicates, packets, retransmitted, empty, resets, violations } = counts;
    const uptime = Math.floor(this.clock.now() - this.#bornAt);
    return [uptime, transactions, good, bad, duplicates, packets, retransmitted, empty, resets, violations, 0, 0];
  }

  endpointStats(endpoint: number): readonly number[] | undefined {
    const target = this.endpoints[endpoint];
    if (!target) return undefined;
    const { requests, errors, timeouts, cancels, bytesIn, bytesOut, ringPeak } = target.counts;
    return [
      requests,
      errors,
      timeouts,
      cancels,
      bytesIn,
      bytesOut,
      target.events.delivered,
      target.events.lost,
      ringPeak,
    ];
  }

  resetEndpoint(endpoint: number): boolean {
    // The system endpoint cannot abort the operation that asks for it.
    if (endpoint === 0 || !this.endpoints[endpoint]) return false;
    this.endpoints[endpoint].reset();
    return true;
  }

  reboot(): void {
    // The answer first: who asked wants to know that it was heard.
    this.#later(ANSWER_MS, () => {
      this.#outbox.control(TYPE.goAway, Uint8Array.of(RESET_REASON.software));
      this.responder.update();
      this.#later(GOAWAY_MS, () => this.reset(RESET_REASON.software));
    });
  }

  // ---- the board ----

  #endpoint(settings: AnySettings, number: number): Endpoint {
    const { label, rxWindow, maxInflight } = settings;
    const { shape, executor } = this.blocks.build(settings, (op, data) => {
      this.endpoints?.[number]?.events.push(op, Math.floor(this.clock.now() * 1000), data);
      this.changed();
    });
    const endpoint = new Endpoint({ ...shape, number, label, rxWindow, maxInflight }, executor, this);
    endpoint.slowMs = settings.slowMs;
    return endpoint;
  }

  #later(ms: number, fn: () => void, every = 0): void {
    const run = () => {
      if (every > 0) this.#timers.set(fn, this.clock.at(this.clock.now() + every, run));
      else this.#timers.delete(fn);
      fn();
    };
    this.#timers.set(fn, this.clock.at(this.clock.now() + ms, run));
  }
}

function writeDescriptor(description: EndpointDescription): Uint8Array {
  const { number, priority, maxInflight, flags, rxWindow, eventQueue, maxTransfer } = description;
  const bytes = new Uint8Array(16);
  const view = new DataView(bytes.buffer);
  bytes.set([number, description.class, 1, 0, priority, maxInflight]);
  view.setUint16(6, flags, true);
  view.setUint16(8, rxWindow, true);
  view.setUint16(10, eventQueue, true);
  view.setUint32(12, maxTransfer, true);
  return bytes;
}
