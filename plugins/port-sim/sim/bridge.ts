/** The simulated bridge: a board of endpoints behind the responder of CBP. Time is the clock it is given. */
import { crc32 } from 'node:zlib';
import type { Board, FlashSettings, GpioSettings, SpixSettings, WireSettings } from './board.ts';
import type { SimClock } from './clock.ts';
import { Endpoint, type EndpointDescription, type EndpointLink, Violation } from './endpoint.ts';
import type { Executor } from './executor.ts';
import { Flash } from './flash.ts';
import { GpioExecutor } from './gpio-executor.ts';
import { Outbox } from './outbox.ts';
import { Responder, type ResponderPeer } from './responder.ts';
import { Echo, Loopback, type SpiTarget } from './spi-target.ts';
import { SpixExecutor } from './spix-executor.ts';
import { SysExecutor, type SystemView } from './sys-executor.ts';
import { TYPE, type WireFrame, wordAt, words } from './wire-format.ts';

const CLASS = { sys: 0x00, gpio: 0x01, spix: 0x03 } as const;
const FLAG = { events: 1, streaming: 2, safeState: 8 } as const;
const CREDIT_OF_EVENTS = 1;
const GOAWAY_MS = 50;
export const RESET_REASON = { power: 1, pin: 2, watchdog: 3, software: 4, fault: 5 } as const;
const SYS: EndpointDescription = {
  number: 0,
  label: 'sys',
  class: CLASS.sys,
  priority: 2,
  maxInflight: 4,
  flags: 0,
  rxWindow: 512,
  eventQueue: 0,
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
  readonly #gpios = new Map<string, GpioExecutor>();
  readonly #outbox: Outbox;
  readonly #table: Uint8Array;
  readonly #timers: Disposable[] = [];
  readonly #bornAt: number;

  constructor(board: Board, options: BridgeOptions) {
    this.#options = options;
    this.clock = options.clock;
    this.#bornAt = options.clock.now();
    this.endpoints = [
      new Endpoint(SYS, new SysExecutor(this, this.clock), this),
      ...board.endpoints.map((settings, index) => this.#endpoint(settings, index + 1)),
    ];
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
    return this.#gpios.get(label);
  }

  /** A reset by pin, watchdog or fault: operations are gone, the board keeps its contents. */
  reset(reason: number): void {
    this.responder.boot(reason);
  }

  dispose(): void {
    for (const timer of this.#timers) timer[Symbol.dispose]();
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
    this.#outbox.control(TYPE.goAway, Uint8Array.of(RESET_REASON.software));
    this.#later(GOAWAY_MS, () => this.reset(RESET_REASON.software));
  }

  // ---- the board ----

  #endpoint(settings: GpioSettings | SpixSettings, number: number): Endpoint {
    const gpio = settings.class === 'gpio';
    const { label, rxWindow, maxInflight } = settings;
    const description: EndpointDescription = {
      number,
      label,
      class: CLASS[settings.class],
      priority: gpio ? 1 : 3,
      maxInflight,
      flags: gpio ? FLAG.events | FLAG.safeState : FLAG.streaming,
      rxWindow,
      eventQueue: gpio ? 128 : 0,
      maxTransfer: gpio ? 24 : settings.maxTransfer,
      defaultDeadlineMs: gpio ? 1000 : 10_000,
    };
    const executor = gpio ? this.#gpio(settings, number) : this.#spix(settings);
    const endpoint = new Endpoint(description, executor, this);
    endpoint.slowMs = settings.slowMs;
    return endpoint;
  }

  #gpio(settings: GpioSettings, number: number): GpioExecutor {
    const { label, lines, wires, script } = settings;
    const executor = new GpioExecutor(lines, wires, this.clock, (op, data) => {
      this.endpoints[number]?.events.push(op, Math.floor(this.clock.now() * 1000), data);
      this.changed();
    });
    this.#gpios.set(label, executor);
    for (const { atMs, line, level } of script) this.#later(atMs, () => executor.drive(line, level ?? undefined));
    return executor;
  }

  #spix(settings: SpixSettings): Executor {
    const targets = new Map(settings.targets.map((target) => [target.cs, this.#target(target)]));
    return new SpixExecutor({ ...settings, targets }, this.clock);
  }

  #target(settings: FlashSettings | WireSettings): SpiTarget {
    if (settings.kind !== 'flash') return settings.kind === 'loopback' ? new Loopback() : new Echo();
    const { jedec, sizeKiB, file, contents, ...times } = settings;
    const folder = this.#options.stateFolder;
    return new Flash(
      {
        jedec,
        size: sizeKiB * 1024,
        times,
        ...(file !== undefined && folder !== undefined ? { file: `${folder}/${file}` } : {}),
        contents: contents.map(({ at, text }) => ({ at, bytes: Buffer.from(text, 'utf8') })),
      },
      this.clock,
    );
  }

  #later(ms: number, fn: () => void): void {
    this.#timers.push(this.clock.at(this.clock.now() + ms, fn));
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
