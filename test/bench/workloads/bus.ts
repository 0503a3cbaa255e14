/** Topics, filters and peers of the bus rows: rooms, devices and measurements, of which each topic has about six subscribers. */
import { EventBusCore } from '../../../kernel/bus/event-bus.ts';
import { peer } from '../harness.ts';

const ROOMS = 200;
const DEVICES = 50;
const MEASUREMENTS = 10;
/** Published at a time before the event loop turns, on every side alike. */
const BATCH = 1000;
/** Enough for whatever a bus still holds after the last batch. */
const LAST_TURNS = 10;

/** A peer, reduced to what the rows use. */
export interface Emitter {
  subscribe(filter: string, fn: () => void): void;
  publish(topic: string, payload: object): void;
}

/** The same numbers in each run. */
export function seeded(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

export function wildcardFilters(count: number): string[] {
  const pick = seeded(1);
  const filters = new Set<string>();
  while (filters.size < count * 0.6) filters.add(`site.r${pick(ROOMS)}.d${pick(DEVICES)}.*`);
  const list = [...filters];
  while (list.length < count * 0.85) list.push(`site.r${pick(ROOMS)}.*.m${pick(MEASUREMENTS)}`);
  while (list.length < count * 0.95) list.push(`site.*.d${pick(DEVICES)}.m${pick(MEASUREMENTS)}`);
  while (list.length < count) list.push(`site.r${pick(ROOMS)}.**`);
  return list;
}

export function repeatedTopics(count: number): string[] {
  const pick = seeded(2);
  const topics = new Set<string>();
  while (topics.size < count) topics.add(`site.r${pick(ROOMS)}.d${pick(DEVICES)}.m${pick(MEASUREMENTS)}`);
  return [...topics];
}

/** Topics that have not been before, as flat strings: they come out of a JSON parser in the product, too. */
export function freshTopics(count: number, from: number): string[] {
  const pick = seeded(from + 3);
  const topics = Array.from(
    { length: count },
    (_, i) => `site.r${pick(ROOMS)}.d${pick(DEVICES)}.m${from + i + MEASUREMENTS}`,
  );
  return JSON.parse(JSON.stringify(topics)) as string[];
}

/** Publishes `messages` times round the topics and lets every delivery happen. A bus that says QUEUE_FULL is given a turn, as its publishers do. */
export async function publishAll(emitter: Emitter, topics: readonly string[], messages: number): Promise<void> {
  for (let i = 0; i < messages; ) {
    try {
      for (const end = Math.min(messages, i + BATCH); i < end; i++) {
        emitter.publish(topics[i % topics.length]!, { sequence: i, state: 'on' });
      }
    } catch (error) {
      if ((error as { readonly code?: string }).code !== 'QUEUE_FULL') throw error;
    }
    await new Promise(setImmediate);
  }
  for (let i = 0; i < LAST_TURNS; i++) await new Promise(setImmediate);
}

export function ourBus(): Emitter {
  const bus = new EventBusCore();
  return {
    subscribe: (filter, fn) => bus.subscribe(filter, fn),
    publish: (topic, payload) => bus.publish({ topic, payload, source: 'core' }),
  };
}

export async function qlobber(): Promise<Emitter> {
  interface Matcher {
    add(filter: string, fn: (payload: object) => void): void;
    match(topic: string): ((payload: object) => void)[];
  }
  const { Qlobber } = (await peer<{ default: { Qlobber: new () => Matcher } }>('qlobber')).default;
  const matcher = new Qlobber();
  return {
    subscribe: (filter, fn) => matcher.add(filter.replace('**', '#'), fn),
    publish: (topic, payload) => {
      for (const fn of matcher.match(topic)) fn(payload);
    },
  };
}

export async function mqemitter(): Promise<Emitter> {
  interface Queue {
    on(topic: string, fn: (message: object, done: () => void) => void): void;
    emit(message: object): void;
  }
  const create = (await peer<{ default: (options: object) => Queue }>('mqemitter')).default;
  const queue = create({ separator: '.', wildcardOne: '*', wildcardSome: '#' });
  return {
    subscribe: (filter, fn) =>
      queue.on(filter.replace('**', '#'), (_, done) => {
        fn();
        done();
      }),
    publish: (topic, payload) => queue.emit({ topic, payload }),
  };
}

export async function eventEmitter2(): Promise<Emitter> {
  interface Events {
    on(topic: string, fn: (payload: object) => void): void;
    emit(topic: string, payload: object): void;
  }
  const { EventEmitter2 } = (
    await peer<{ default: { EventEmitter2: new (options: object) => Events } }>('eventemitter2')
  ).default;
  const events = new EventEmitter2({ wildcard: true, delimiter: '.', maxListeners: 0 });
  return { subscribe: (filter, fn) => events.on(filter, fn), publish: (topic, payload) => events.emit(topic, payload) };
}
