/**
 * Row 131: orders of people, through the recogniser that comes with `npm ci`. The figures are counts, so a busy machine does not change them. It says how
 * often the confidence that is told is kept, too.
 */
import type { SttEngine, Transcript } from '@device-core/plugin-api/services/speech';
import { hear } from '../../contracts/stt.ts';
import { HOUSE } from '../../fixtures/commands.ts';
import { mix, surroundings } from '../../fixtures/noises.ts';
import { inRoom, roomOf } from '../../fixtures/rooms.ts';
import { start } from '../../plugins/soundswallower/start.ts';
import { type Goal, type Measured, type Row, skipped } from '../harness.ts';
import { coffee, isRight, type Order, type Orders, ordersOfPeople, rivalsOf } from '../workloads/people.ts';

interface Told {
  readonly confidence: number;
  readonly right: boolean;
}

const PLACES: readonly (readonly [
  name: string,
  goal: number,
  hear: (samples: Int16Array, seed: number) => Int16Array,
])[] = [
  ['quiet', 5, (samples) => samples],
  ['20 dB', 10, (samples, seed) => mix(samples, surroundings('pink', 4_000, seed), 20)],
  ['10 dB', 40, (samples, seed) => mix(samples, surroundings('pink', 4_000, seed), 10)],
  ['room', 25, (samples, seed) => inRoom(samples, roomOf({ rt60: 0.4, distance: 1.5, seed }))],
];
const BINS = 5;
/** 95 of 100 intervals hold the true share (Wilson). */
const Z = 1.96;

function share(count: number, all: number): Measured {
  const n = Math.max(1, all);
  const part = count / n;
  const middle = (part + Z ** 2 / (2 * n)) / (1 + Z ** 2 / n);
  const half = (Z * Math.sqrt((part * (1 - part)) / n + Z ** 2 / (4 * n ** 2))) / (1 + Z ** 2 / n);
  const [q1, q3] = [100 * Math.max(0, middle - half), 100 * Math.min(1, middle + half)];
  return {
    q1,
    median: 100 * part,
    q3,
    ours: `${count} of ${all}, 95 % within ${q1.toFixed(1)} and ${q3.toFixed(1)} %`,
  };
}

/** Mean distance between the confidence that was told and the share that was right, over bins of confidence. */
function calibration(all: readonly Told[]): Measured {
  const bins = Array.from({ length: BINS }, (_, bin) =>
    all.filter(({ confidence }) => Math.min(BINS - 1, Math.floor(confidence * BINS)) === bin),
  ).filter((bin) => bin.length > 0);
  const mean = (bin: readonly Told[], of: (one: Told) => number) =>
    bin.reduce((sum, one) => sum + of(one), 0) / bin.length;
  const table = bins.map((bin) => [
    mean(bin, ({ confidence }) => confidence),
    mean(bin, ({ right }) => Number(right)),
    bin.length,
  ]);
  const error = table.reduce((sum, [told, kept, count]) => sum + (count! / all.length) * Math.abs(told! - kept!), 0);
  const ours = table
    .map(([told, kept, count]) => `told ${told!.toFixed(2)} right ${kept!.toFixed(2)} of ${count}`)
    .join('; ');
  return { q1: error, median: error, q3: error, ours };
}

/** The person is asked before anything is done. */
const isAsked = ({ close, doubtful = false }: Transcript): boolean => close !== undefined || doubtful;

/** One value of the order is none that the grammar knows. */
function missing({ name, meant }: Order): readonly [slot: string, value: string] {
  const known = Object.entries(meant);
  return known[name.charCodeAt(3) % known.length]!;
}

async function measure({ slots, orders }: Orders, engine: SttEngine): Promise<Record<string, Measured>> {
  const measured: Record<string, Measured> = {};
  const told: Told[] = [];
  const grammar = coffee(slots);
  for (const [name, , place] of PLACES) {
    let [right, wrong, asked] = [0, 0, 0];
    for (const [index, order] of orders.entries()) {
      const rivals = async (heard: string) => rivalsOf(heard, slots);
      const about = await hear(engine, place(order.samples, index + 1), { grammar, rivals });
      const { text, nearest, confidence = 0 } = about;
      const isIt = isRight(text || (nearest ?? ''), order, slots);
      told.push({ confidence, right: isIt });
      if (isAsked(about)) asked++;
      else if (text !== '') isIt ? right++ : wrong++;
    }
    measured[`${name}: not right`] = share(orders.length - right, orders.length);
    measured[`${name}: done wrongly`] = share(wrong, orders.length);
    measured[`${name}: asked back`] = share(asked, orders.length);
  }
  let [near, foreign] = [0, 0];
  for (const order of orders) {
    const without = missing(order);
    const rivals = async (heard: string) => rivalsOf(heard, slots, without);
    const about = await hear(engine, order.samples, { grammar: coffee(slots, without), rivals });
    if (about.text !== '' && !isAsked(about)) near++;
    if ((await hear(engine, order.samples, { grammar: HOUSE })).text !== '') foreign++;
  }
  measured['unknown value: done'] = share(near, orders.length);
  measured['foreign speech: done'] = share(foreign, orders.length);
  measured['calibration error'] = calibration(told);
  return measured;
}

const GOALS: readonly Goal[] = [
  ...PLACES.flatMap(([name, goal]) => [
    { name: `${name}: not right`, goal, unit: '%' },
    { name: `${name}: done wrongly`, goal: 2, unit: '%' },
    { name: `${name}: asked back`, goal: 10, unit: '%' },
  ]),
  { name: 'unknown value: done', goal: 1, unit: '%' },
  { name: 'foreign speech: done', goal: 1, unit: '%' },
  { name: 'calibration error', goal: 0.1, unit: '' },
];

export const rows: readonly Row[] = [
  {
    id: 131,
    title: 'Voice: orders of people through the local recogniser, percent',
    goals: GOALS,
    async run({ quick }) {
      const orders = ordersOfPeople(quick ? 12 : Number.POSITIVE_INFINITY);
      const none = skipped('there are no recordings of people beside the checkout');
      if (!orders) return Object.fromEntries(GOALS.map(({ name }) => [name, none]));
      await using one = await start('stt');
      return measure(orders, one.engine);
    },
  },
];
