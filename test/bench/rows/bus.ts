/** Rows 1 to 4: what a message costs on the bus, bounded queues and priorities on, beside bare matchers and emitters. */
import { EventEmitter } from 'node:events';
import { alternate, type Measured, type Row, type RunOptions, type Side } from '../harness.ts';
import {
  type Emitter,
  eventEmitter2,
  freshTopics,
  mqemitter,
  ourBus,
  publishAll,
  qlobber,
  repeatedTopics,
  wildcardFilters,
} from '../workloads/bus.ts';

const SUBSCRIPTIONS = 10_000;
const TOPICS = 2_000;

interface Sides {
  readonly ours: Emitter;
  readonly theirs: Emitter;
  readonly filters: readonly string[];
}

/** Subscribes both sides alike, runs them in turns, and makes sure that they delivered the same. */
async function compare(
  { ours, theirs, filters }: Sides,
  { quick }: RunOptions,
  messages: number,
  topics: (round: number) => readonly string[],
): Promise<Measured> {
  const delivered = { ours: 0, theirs: 0 };
  const subscribe = (emitter: Emitter, key: keyof typeof delivered): void => {
    for (const filter of filters) emitter.subscribe(filter, () => void delivered[key]++);
  };
  subscribe(ours, 'ours');
  subscribe(theirs, 'theirs');
  const side = (emitter: Emitter): Side => {
    let round = 0;
    let list: readonly string[] = [];
    return {
      prepare: () => {
        list = topics(round++);
      },
      load: () => publishAll(emitter, list, messages),
      operations: messages,
    };
  };
  const { cpu } = await alternate(side(ours), side(theirs), quick ? 7 : 21, 3);
  if (delivered.ours !== delivered.theirs || delivered.ours === 0)
    throw new Error(`the two sides delivered ${delivered.ours} and ${delivered.theirs} messages`);
  return cpu;
}

function repeated(theirs: Emitter, options: RunOptions): Promise<Measured> {
  const topics = repeatedTopics(TOPICS);
  return compare({ ours: ourBus(), theirs, filters: wildcardFilters(SUBSCRIPTIONS) }, options, 40_000, () => topics);
}

function nodeEvents(): Emitter {
  const events = new EventEmitter().setMaxListeners(0);
  return { subscribe: (topic, fn) => events.on(topic, fn), publish: (topic, payload) => events.emit(topic, payload) };
}

export const rows: readonly Row[] = [
  {
    id: 1,
    title: 'Bus: 10,000 wildcard subscriptions, 2,000 repeated topics, CPU per message',
    goals: [{ name: 'qlobber', goal: 0.55, floor: 0.32 }],
    run: async (options) => ({ qlobber: await repeated(await qlobber(), options) }),
  },
  {
    id: 2,
    title: 'Bus: the same',
    goals: [
      { name: 'mqemitter', goal: 0.35, floor: 0.2 },
      { name: 'eventemitter2', goal: 0.45, floor: 0.26 },
    ],
    run: async (options) => ({
      mqemitter: await repeated(await mqemitter(), options),
      eventemitter2: await repeated(await eventEmitter2(), options),
    }),
  },
  {
    id: 3,
    title: 'Bus: one publisher to one subscriber; 100 subscribers of which 10 match',
    goals: [
      { name: 'qlobber, an event of an app', goal: 0.5, floor: 0.09 },
      { name: 'qlobber, audio.wake', goal: 0.5, floor: 0.09 },
      { name: 'node:events, 10 of 100', goal: 1.6, floor: 1 },
    ],
    run: async (options) => {
      const ten = Array.from({ length: 10 }, (_, i) => `audio.channel${i}.level`);
      const hundred = ten.flatMap((topic) => Array.from({ length: 10 }, () => topic));
      const single = async (topic: string, filter: string): Promise<Measured> =>
        compare({ ours: ourBus(), theirs: await qlobber(), filters: [filter] }, options, 100_000, () => [topic]);
      const many = { ours: ourBus(), theirs: nodeEvents(), filters: hundred };
      return {
        'qlobber, an event of an app': await single(
          'app.com.example.agenda.event.due',
          'app.com.example.agenda.event.**',
        ),
        'qlobber, audio.wake': await single('audio.wake', 'audio.wake'),
        'node:events, 10 of 100': await compare(many, options, 100_000, () => ten),
      };
    },
  },
  {
    id: 4,
    title: 'Bus: topics that never repeat, 10,000 wildcard subscriptions',
    goals: [{ name: 'qlobber', goal: 1 }],
    run: async (options) => {
      const sides = { ours: ourBus(), theirs: await qlobber(), filters: wildcardFilters(SUBSCRIPTIONS) };
      return { qlobber: await compare(sides, options, 40_000, (round) => freshTopics(40_000, round * 40_000)) };
    },
  },
];
