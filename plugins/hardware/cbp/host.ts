/** The host side in one piece: link, pump, endpoint table, and what its users see of them. Also what tests run on a virtual clock. */

import type { Clock } from '@device-core/plugin-api';
import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { LinkState } from '@device-core/plugin-api/services/bridge';
import type { BridgePort } from '@device-core/plugin-api/services/bridge-port';
import type { Channel } from './channel.ts';
import { type EndpointRow, type RefusedEndpoint, readTable } from './endpoint-table.ts';
import { EventListeners } from './event-listeners.ts';
import { Link, type Phase } from './link.ts';
import type { WireEvent } from './multiplexer.ts';
import { BRING_UP_SIZE, PACKET_OVERHEAD } from './packet.ts';
import { Pump } from './pump.ts';
import type { Session } from './session.ts';
import { SystemEvents } from './system-events.ts';
import { Trace } from './trace.ts';

export interface HostOptions {
  readonly port: BridgePort;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: Logger;
  readonly transactionBytes: number;
  readonly window: number;
  readonly khz: number;
  readonly heartbeatMs: number;
  /** Hears of every event as it came over the wire. */
  readonly event?: (event: WireEvent) => void;
}

/** Heads of frames in a packet of bulk data: one of it, one of something else. */
const FRAMES_BYTES = 16;

/** The wall clock is read in whole milliseconds; more than this is a step of it. */
const WALL_SLACK_MS = 2;

const ASSESS_MS = 1_000;
/** The clocks of host and bridge agree within this. */
const TIME_SLACK_MS = 20;

/** The reason of a link that was taken down on purpose. */
export const STOPPED = 'the bridge plugin stops';

export type LinkListener = (state: LinkState, reason?: string) => void;

export class Host {
  readonly link: Link;
  readonly clock: Clock;
  readonly events: EventListeners;
  readonly system: SystemEvents;
  readonly trace: Trace;
  readonly #pump: Pump;
  readonly #log: Logger;
  readonly #listeners = new Set<LinkListener>();
  readonly #news = new Set<() => void>();
  /** Resets of single endpoints. */
  readonly #resets = new Map<string, number>();
  #rows: readonly EndpointRow[] | undefined;
  #told: LinkState = 'down';
  #degraded = false;
  #assessAt = 0;
  #refused: readonly RefusedEndpoint[] = [];
  /** Time since which an endpoint has a listener, while its bridge may still send older events. */
  readonly #heardSince = new Map<number, number>();
  #epochMs = Number.NEGATIVE_INFINITY;

  constructor(options: HostOptions) {
    const { port, clock, log } = options;
    this.clock = clock;
    this.#log = log;
    this.events = new EventListeners(log, (endpoint) => this.#heard(endpoint));
    this.system = new SystemEvents(log, clock);
    this.trace = new Trace(clock, () => this.#rows);
    this.link = new Link({
      ...options,
      trace: this.trace,
      event: (event) => {
        options.event?.(event);
        this.#event(event);
      },
      heard: (ep) => options.event !== undefined || this.#isHeard(ep),
      wake: () => this.#pump.wake(),
      changed: (phase, reason) => this.#changed(phase, reason),
      clocked: (khz, slower) => {
        if (slower) log.warn({ khz }, 'the wire to the bridge loses packets: its clock is slower now');
        else log.info({ khz }, 'the wire to the bridge is tried faster again');
        for (const listener of this.#news) listener();
      },
    });
    this.#pump = new Pump(port, this.link, clock, (now) => {
      // There are transactions in each second of a session: it needs no timer.
      if (now >= this.#assessAt) this.assess(now);
    });
  }

  /** Runs until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      await this.#pump.run(signal);
    } finally {
      this.link.close(STOPPED);
    }
  }

  /** As users see it: `up` when the endpoint table has been read. */
  get state(): LinkState {
    if (!this.#rows) return this.link.phase === 'down' ? 'down' : 'hello';
    return this.#degraded ? 'degraded' : 'up';
  }

  /** The endpoints, undefined while the link is not up. */
  get rows(): readonly EndpointRow[] | undefined {
    return this.#rows;
  }

  /** Endpoints that are left out, of the latest session. */
  get refused(): readonly RefusedEndpoint[] {
    return this.#refused;
  }

  /** The channel of an endpoint in this session. */
  channel(row: EndpointRow): Channel | undefined {
    return this.link.session?.frames.channel(row.descriptor.ep);
  }

  /** Another text than before where the endpoint has forgotten its settings. */
  bootOf(endpoint: string): string {
    const boot = (this.link.session?.hello.bootId ?? 0).toString(16);
    const resets = this.#resets.get(endpoint);
    return resets === undefined ? boot : `${boot}.${resets}`;
  }

  /** The endpoint has been reset by itself: plugins that configured it hear of it now. */
  forgot(endpoint: string): void {
    this.#resets.set(endpoint, (this.#resets.get(endpoint) ?? 0) + 1);
    for (const listener of this.#news) listener();
  }

  onLink(listener: LinkListener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  /** Called after news of the endpoints of this session: the clock of the wire, a reset of one of them. */
  onEndpoints(listener: () => void): Disposable {
    this.#news.add(listener);
    return { [Symbol.dispose]: () => void this.#news.delete(listener) };
  }

  /** Microseconds that a byte of a request or an answer takes on the wire at its present clock, where it has the wire for itself. */
  get byteUs(): number {
    const { session, khz, gapUs } = this.link;
    const bytes = session?.hello.n ?? BRING_UP_SIZE;
    const payload = bytes - PACKET_OVERHEAD - FRAMES_BYTES;
    return Math.ceil((1_000 * ((bytes * 8_000) / khz + gapUs)) / payload) / 1_000;
  }

  /** Looks whether the line became bad or good again. */
  assess(now = this.clock.monotonic()): void {
    this.#assessAt = now + ASSESS_MS;
    if (!this.#rows) return;
    this.#degraded = this.link.statistics.degraded(now);
    this.#tell(this.#degraded ? 'more than 1 % of the packets are bad' : undefined);
  }

  #changed(phase: Phase, reason: string | undefined): void {
    this.#rows = undefined;
    this.system.forget();
    this.#heardSince.clear();
    this.#degraded = false;
    const { session } = this.link;
    if (phase === 'up' && session) void this.#open(session);
    else this.#tell(reason);
  }

  async #open(session: Session): Promise<void> {
    try {
      const { endpoints, tableCrc } = session.hello;
      const { rows, refused } = await readTable(session.frames.channel(0)!, endpoints, tableCrc);
      if (this.link.session !== session) return;
      for (const { descriptor } of rows) session.frames.add(descriptor);
      this.#rows = rows;
      this.#refuse(refused);
      this.link.confirm();
      this.#tell(undefined);
    } catch (error) {
      // The session has ended already: its end was reported, and the link opens the next one.
      if (this.link.session !== session) return;
      this.link.restart(reasonOf(error));
    }
  }

  /** Told with the first session that has it, and in the health. */
  #refuse(refused: readonly RefusedEndpoint[]): void {
    const news = JSON.stringify(refused) !== JSON.stringify(this.#refused);
    this.#refused = refused;
    if (news) for (const one of refused) this.#log.warn({ ...one }, 'an endpoint of the bridge is left out');
  }

  #event({ ep, op, timestampUs, lost, data }: WireEvent): void {
    const row = this.#rows?.find(({ descriptor }) => descriptor.ep === ep);
    const { session } = this.link;
    if (!row || !session) return; // of an endpoint that nobody can know yet; it is counted
    if (ep === 0) this.system.take(op, data, this.#rows!);
    const now = this.clock.monotonic();
    const since = this.#heardSince.get(ep);
    if (since !== undefined) {
      // Events that the bridge kept from before the first listener are dropped.
      if (!session.time.isBetween(timestampUs, since - TIME_SLACK_MS, now + TIME_SLACK_MS)) return;
      this.#heardSince.delete(ep);
    }
    const atUs = Math.round((this.#epoch() + session.time.toHost(timestampUs, now)) * 1_000);
    this.events.tell(row.name, { op, at: Math.round(atUs / 1_000), atUs, timestampUs, lost, data });
  }

  /** Events of the bridge itself always have a listener; those of an endpoint in no table may have one. */
  #isHeard(ep: number): boolean {
    const row = this.#rows?.find(({ descriptor }) => descriptor.ep === ep);
    return ep === 0 || !row || this.events.has(row.name);
  }

  /** A first listener came: the bridge may have kept events meanwhile. */
  #heard(endpoint: string): void {
    const ep = this.#rows?.find(({ name }) => name === endpoint)?.descriptor.ep;
    if (ep !== undefined && this.link.session?.frames.hear(ep)) this.#heardSince.set(ep, this.clock.monotonic());
  }

  /**
   * Milliseconds since the Unix epoch at which the monotonic clock stood at 0. The wall clock knows no fractions: it
   * counts where it was set.
   */
  #epoch(): number {
    const now = this.clock.now() - this.clock.monotonic();
    if (Math.abs(now - this.#epochMs) > WALL_SLACK_MS) this.#epochMs = now;
    return this.#epochMs;
  }

  #tell(reason: string | undefined): void {
    const { state } = this;
    if (state === this.#told && state !== 'down') return;
    this.#told = state;
    for (const listener of this.#listeners) {
      try {
        listener(state, reason);
      } catch (error) {
        this.#log.error({ error: reasonOf(error) }, 'a listener of the bridge link failed');
      }
    }
  }
}
