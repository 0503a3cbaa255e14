/** The Core's own figures as a source: they are read from services at each look. */

import { type Clock, type LoopUsage, type PluginHost, PRIORITIES } from '@device-core/plugin-api';
import { egress as egressRef } from '@device-core/plugin-api/inside/services/egress';
import type { EventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { outbox as outboxRef } from '@device-core/plugin-api/inside/services/outbox';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { updates as updatesRef } from '@device-core/plugin-api/inside/services/updates';
import { bridge as bridgeRef } from '@device-core/plugin-api/services/bridge';
import type { BridgeHealth } from '@device-core/plugin-api/services/health';
import type { MetricData, MetricPoint } from '@device-core/plugin-api/telemetry';

type Told = readonly [
  name: string,
  kind: 'counter' | 'gauge',
  unit: string,
  level: MetricData['level'],
  description: string,
  why: string,
];

const CALM = 'Shows whether the device keeps up with what it is asked';
const BLAME = 'Shows which plugin costs what, so that it can be made smaller';
const LOST = 'Shows what is lost under load';

/** Names after OpenTelemetry's semantic conventions where there is one; the device's own below `device.` */
const METRICS = {
  uptime: ['process.uptime', 'gauge', 's', 'crash', 'Seconds since the Core started', 'Shows restarts'],
  cpu: [
    'process.cpu.time',
    'counter',
    's',
    'usage',
    'Seconds of processor time of the Core, its threads included',
    CALM,
  ],
  memory: [
    'process.memory.usage',
    'gauge',
    'By',
    'crash',
    'Resident memory of the Core',
    'Shows leaks before they end the Core',
  ],
  heap: ['v8js.memory.heap.used', 'gauge', 'By', 'crash', 'Heap that is used', 'Shows leaks before they end the Core'],
  available: [
    'system.memory.available',
    'gauge',
    'By',
    'usage',
    'Memory of the device that is free for use',
    'Shows devices that run out of it',
  ],
  delay50: [
    'nodejs.eventloop.delay.p50',
    'gauge',
    's',
    'usage',
    'Median delay of the event loop, last 10 to 20 seconds',
    CALM,
  ],
  delay99: ['nodejs.eventloop.delay.p99', 'gauge', 's', 'usage', 'Delay of the event loop that 1 of 100 exceeds', CALM],
  delayMax: ['nodejs.eventloop.delay.max', 'gauge', 's', 'usage', 'Longest delay of the event loop', CALM],
  utilization: [
    'nodejs.eventloop.utilization',
    'gauge',
    '1',
    'usage',
    'Share of the time that the event loop was busy',
    CALM,
  ],
  stalls: [
    'device.eventloop.stalls',
    'counter',
    '{stall}',
    'usage',
    'Delays of the event loop of 50 ms and more',
    CALM,
  ],
  busy: ['device.plugin.busy.time', 'counter', 's', 'full', 'Seconds of the event loop that a plugin took', BLAME],
  errors: [
    'device.plugin.errors',
    'counter',
    '{error}',
    'crash',
    'Callbacks of a plugin that failed',
    'Shows which plugin has a fault',
  ],
  restarts: [
    'device.plugin.restarts',
    'counter',
    '{restart}',
    'crash',
    'Starts of a plugin after a failure',
    'Shows which plugin has a fault',
  ],
  start: ['device.plugin.start.duration', 'gauge', 's', 'full', 'Seconds that the last start of a plugin took', BLAME],
  ready: [
    'device.start.duration',
    'gauge',
    's',
    'usage',
    'Seconds from the start of the process until the Core was ready',
    'Shows slow starts',
  ],
  plugins: [
    'device.plugins',
    'gauge',
    '{plugin}',
    'crash',
    'Plugins by state',
    'Shows devices with plugins that failed',
  ],
  published: ['device.event.published', 'counter', '{event}', 'usage', 'Events that were published', CALM],
  delivered: ['device.event.delivered', 'counter', '{event}', 'usage', 'Events that subscribers took', CALM],
  dropped: ['device.event.dropped', 'counter', '{event}', 'crash', 'Events that a subscriber did not get', LOST],
  subscribers: ['device.event.subscribers', 'gauge', '{subscriber}', 'full', 'Subscribers of the bus', CALM],
  bridgeUp: [
    'device.bridge.up',
    'gauge',
    '1',
    'crash',
    '1 while the link to the IO bridge is up',
    'Shows links that fail',
  ],
  transactions: [
    'device.bridge.transactions',
    'counter',
    '{transaction}',
    'usage',
    'Transactions on the link to the IO bridge',
    'Shows how much the link is used',
  ],
  resets: [
    'device.bridge.resets',
    'counter',
    '{reset}',
    'crash',
    'Resets of the IO bridge that were seen',
    'Shows bridges that fail',
  ],
  retransmitted: [
    'device.bridge.retransmitted',
    'gauge',
    '1',
    'usage',
    'Share of the transactions that were sent again',
    'Shows links that lose packets',
  ],
  rtt: ['device.bridge.rtt', 'gauge', 's', 'usage', 'Seconds to the IO bridge and back', 'Shows links that are slow'],
  egress: [
    'device.app.network.io',
    'counter',
    'By',
    'full',
    'Bytes of apps through named hosts',
    'Shows which app uses the network',
  ],
  egressRefused: [
    'device.app.network.refused',
    'counter',
    '{request}',
    'full',
    'Requests of apps to hosts that were refused',
    'Shows apps that try more than they may',
  ],
  update: [
    'device.update.state',
    'gauge',
    '1',
    'crash',
    '1 for the state that an update is in',
    'Shows updates that fail',
  ],
  waiting: ['device.outbox.waiting', 'gauge', '{message}', 'usage', 'Messages that wait to leave', LOST],
  waitingBytes: ['device.outbox.size', 'gauge', 'By', 'usage', 'Bytes that wait to leave', LOST],
  sent: ['device.outbox.sent', 'counter', '{message}', 'usage', 'Messages that left', LOST],
  lost: ['device.outbox.lost', 'counter', '{message}', 'crash', 'Messages that were dropped before they left', LOST],
} as const satisfies Readonly<Record<string, Told>>;

type Key = keyof typeof METRICS;

/** Collects points by metric. */
class Points {
  readonly #points = new Map<Key, MetricPoint[]>();

  add(key: Key, value: number | undefined, labels: Readonly<Record<string, string>> = {}): void {
    if (value === undefined || !Number.isFinite(value)) return;
    const known = this.#points.get(key);
    const point = { labels, value: Math.round(value * 1e6) / 1e6 };
    if (known) known.push(point);
    else this.#points.set(key, [point]);
  }

  all(): readonly MetricData[] {
    return [...this.#points].map(([key, points]) => {
      const [name, kind, unit, level, description, why] = METRICS[key];
      return { name, kind, unit, level, description, why, points };
    });
  }
}

type Part = (points: Points) => void | Promise<void>;

export interface Always {
  readonly manager: PluginManager;
  readonly bus: EventBus;
  readonly startedAt: number;
}

/** Parts of the Core; a failed or missing one loses only its own numbers, and a failure is reported to `failed`. */
export class CoreSource {
  readonly #parts = new Map<string, Part>();
  readonly #failed: (part: string, thrown: unknown) => void;
  readonly #clock: Clock;
  readonly #startedAt: number;
  #readyMs: number | undefined;

  constructor(
    host: PluginHost<unknown>,
    { manager, bus, startedAt }: Always,
    failed: (part: string, thrown: unknown) => void,
  ) {
    this.#failed = failed;
    const { clock } = host;
    this.#clock = clock;
    this.#startedAt = startedAt;
    this.#parts.set('process', async (points) => {
      const { user, system } = process.cpuUsage();
      points.add('cpu', user / 1e6, { 'cpu.mode': 'user' });
      points.add('cpu', system / 1e6, { 'cpu.mode': 'system' });
      points.add('uptime', Math.max(0, clock.steady() - startedAt) / 1000);
      points.add('ready', this.#readyMs === undefined ? undefined : this.#readyMs / 1000);
      const { residentBytes, heapBytes, memory } = await manager.load();
      points.add('memory', residentBytes);
      points.add('heap', heapBytes);
      points.add('available', memory.availableBytes);
      loop(points, await manager.eventLoop());
    });
    this.#parts.set('plugins', (points) => plugins(points, manager));
    this.#parts.set('events', async (points) => {
      const { published, delivered, dropped, subscribers } = await bus.stats();
      points.add('published', published);
      points.add('delivered', delivered);
      for (const priority of PRIORITIES) points.add('dropped', dropped[priority], { priority });
      points.add('subscribers', subscribers);
    });
    host.when(bridgeRef, (service, scope) => {
      this.#part('bridge', scope, async (points) => bridge(points, await service.health()));
    });
    host.when(updatesRef, (service, scope) => {
      this.#part('update', scope, async (points) => points.add('update', 1, { state: (await service.state()).state }));
    });
    host.when(egressRef, (service, scope) => {
      this.#part('egress', scope, async (points) => {
        for (const { app, sent, received, refused } of await service.usage()) {
          points.add('egress', sent, { app, 'network.io.direction': 'transmit' });
          points.add('egress', received, { app, 'network.io.direction': 'receive' });
          points.add('egressRefused', refused, { app });
        }
      });
    });
    host.when(outboxRef, (service, scope) => {
      this.#part('outbox', scope, async (points) => {
        for (const { id, waiting, bytes, sent, lost } of await service.list()) {
          points.add('waiting', waiting, { queue: id });
          points.add('waitingBytes', bytes, { queue: id });
          points.add('sent', sent, { queue: id });
          points.add('lost', lost, { queue: id });
        }
      });
    });
  }

  ready(): void {
    this.#readyMs = this.#clock.steady() - this.#startedAt;
  }

  async collect(): Promise<readonly MetricData[]> {
    const points = new Points();
    const pending: Promise<void>[] = [];
    // Each part has a separate turn of the event loop, and none waits for another.
    for (const [name, part] of [...this.#parts]) {
      pending.push(this.#ask(name, part, points));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(pending);
    return points.all();
  }

  async #ask(name: string, part: Part, points: Points): Promise<void> {
    try {
      await part(points);
    } catch (thrown) {
      this.#failed(name, thrown);
    }
  }

  #part(name: string, scope: { defer(label: string, release: () => void): void }, part: Part): void {
    this.#parts.set(name, part);
    scope.defer(name, () => {
      if (this.#parts.get(name) === part) this.#parts.delete(name);
    });
  }
}

function loop(points: Points, { p50Ms, p99Ms, maxMs, utilization, stalls }: LoopUsage): void {
  points.add('delay50', p50Ms / 1000);
  points.add('delay99', p99Ms / 1000);
  points.add('delayMax', maxMs / 1000);
  points.add('utilization', utilization);
  points.add('stalls', stalls);
}

async function plugins(points: Points, manager: PluginManager): Promise<void> {
  const [usage, list] = await Promise.all([manager.usage(), manager.list()]);
  for (const { plugin, busyMs, errors } of usage) {
    points.add('busy', busyMs / 1000, { 'device.plugin': plugin });
    // A series for each plugin that has none would be most of what is sent.
    if (errors > 0) points.add('errors', errors, { 'device.plugin': plugin });
  }
  const states = new Map<string, number>();
  for (const { id, state, startMs, restarts } of list) {
    states.set(state, (states.get(state) ?? 0) + 1);
    points.add('start', startMs === undefined ? undefined : startMs / 1000, { 'device.plugin': id });
    points.add('restarts', restarts, { 'device.plugin': id });
  }
  for (const [state, count] of states) points.add('plugins', count, { state });
}

/** The bridge tells its counters among the details of its health. */
function bridge(points: Points, health: BridgeHealth): void {
  points.add('bridgeUp', health.link === 'up' ? 1 : 0);
  const { transactions, resets, retransmitPercent, rttUs } = health;
  points.add('transactions', numberOf(transactions));
  points.add('resets', numberOf(resets));
  points.add('retransmitted', share(numberOf(retransmitPercent)));
  points.add('rtt', seconds(numberOf(rttUs)));
}

const numberOf = (value: unknown) => (typeof value === 'number' ? value : undefined);
const share = (percent: number | undefined) => (percent === undefined ? undefined : percent / 100);
const seconds = (us: number | undefined) => (us === undefined ? undefined : us / 1e6);
