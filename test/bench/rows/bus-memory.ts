/** Row 5: what a subscriber that never gets done costs in memory, and what it loses. */
import type { LossReceipt, Priority } from '@device-core/plugin-api';
import { EventBusCore } from '../../../kernel/bus/event-bus.ts';
import { collectGarbage, type Measured, peer, quartiles, type Row } from '../harness.ts';

const MESSAGES = 300_000;
const BATCH = 1_000;
const MIB = 1 << 20;
/** One in so many is of priority high, so that all of them have room beside the rest. */
const HIGH_EVERY = 3_000;

/** Publishes everything, a turn of the event loop every thousand, and tells what is still held at the end, in MiB. */
async function memoryHeld(publish: (i: number) => void): Promise<number> {
  await new Promise(setImmediate);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let i = 0; i < MESSAGES; i++) {
    publish(i);
    if (i % BATCH === BATCH - 1) await new Promise(setImmediate);
  }
  await new Promise(setImmediate);
  collectGarbage();
  return (process.memoryUsage().heapUsed - before) / MIB;
}

function priorityOf(i: number): Priority {
  if (i % HIGH_EVERY === 0) return 'high';
  return i % 2 === 0 ? 'low' : 'normal';
}

async function ourBus(): Promise<{ held: number; lost: LossReceipt['counts'] }> {
  const bus = new EventBusCore();
  let release = (): void => undefined;
  const pending = new Promise<void>((resolve) => {
    release = resolve;
  });
  let lost: LossReceipt['counts'] = { low: 0, normal: 0, high: 0, critical: 0 };
  bus.subscribe('audio.level', () => pending, {
    onDrop: ({ counts }) => {
      lost = counts;
    },
  });
  const held = await memoryHeld((i) =>
    bus.publish({
      topic: 'audio.level',
      payload: { sequence: i, state: 'on' },
      source: 'core',
      priority: priorityOf(i),
    }),
  );
  release();
  await new Promise(setImmediate);
  return { held, lost };
}

async function rxjs(): Promise<number> {
  interface Observable {
    pipe(operator: unknown): Observable;
    subscribe(): void;
  }
  interface Library {
    readonly Subject: new () => Observable & { next(value: object): void };
    concatMap(project: () => Promise<void>): unknown;
  }
  const { Subject, concatMap } = await peer<Library>('rxjs');
  const subject = new Subject();
  subject.pipe(concatMap(() => new Promise<void>(() => undefined))).subscribe();
  return await memoryHeld((i) => subject.next({ topic: 'audio.level', payload: { sequence: i, state: 'on' } }));
}

async function emittery(): Promise<number> {
  interface Emitter {
    events(topic: string): AsyncIterator<unknown>;
    emit(topic: string, payload: object): Promise<void>;
  }
  const Emittery = (await peer<{ default: new () => Emitter }>('emittery')).default;
  const emitter = new Emittery();
  const iterator = emitter.events('audio.level');
  void iterator.next();
  const held = await memoryHeld((i) => void emitter.emit('audio.level', { sequence: i, state: 'on' }));
  await iterator.return?.();
  return held;
}

function measured(values: readonly number[], theirs = ''): Measured {
  const found = quartiles(values);
  return { ...found, ours: `${found.median.toFixed(2)}`, ...(theirs && { theirs }) };
}

export const rows: readonly Row[] = [
  {
    id: 5,
    title: 'Bus: a subscriber that never gets done, 300,000 messages',
    goals: [
      { name: 'memory held', goal: 2, unit: 'MiB' },
      { name: 'high lost while low waits', goal: 0, unit: 'events' },
    ],
    run: async ({ quick }) => {
      const runs = [];
      for (let i = 0; i < (quick ? 2 : 5); i++) runs.push(await ourBus());
      if (runs.some(({ lost }) => lost.low === 0))
        throw new Error('the subscriber lost nothing: this measures nothing');
      const peers = `rxjs ${(await rxjs()).toFixed(0)} MiB, emittery ${(await emittery()).toFixed(0)} MiB`;
      return {
        'memory held': measured(
          runs.map(({ held }) => held),
          peers,
        ),
        'high lost while low waits': measured(runs.map(({ lost }) => lost.high)),
      };
    },
  },
];
