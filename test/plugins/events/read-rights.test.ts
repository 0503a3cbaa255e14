/** Nobody ever receives an event that he may not read, and of what he asked for he receives all the rest. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Capabilities, canonicalFilter, implies, matchesTopic, parseFilter } from '@device-core/plugin-api';
import fc from 'fast-check';
import { covers, intersection, overlaps } from '../../../plugins/interface/events/filter-algebra.ts';
import { PublicTopics } from '../../../plugins/interface/events/public-topics.ts';
import { ReadRights } from '../../../plugins/interface/events/read-rights.ts';
import { Reader } from '../../../plugins/interface/events/reader.ts';
import { runs } from '../../fixtures/runs.ts';

// Ids that begin alike, and one with `event` in its middle.
const IDS = ['com.example', 'com.example.a', 'com.example.a.b', 'org.event.x'];
const AREAS = [
  { filter: 'audio.**' },
  { filter: 'audio.stt.**', capabilities: ['audio.capture'] },
  { filter: 'app.state' },
  { filter: 'gpio.**', capabilities: ['bridges.gpio'] },
];

const segment = fc.constantFrom(
  'app',
  'com',
  'example',
  'a',
  'b',
  'event',
  'audio',
  'stt',
  'state',
  'org',
  'x',
  'gpio',
);
const topic = fc.oneof(
  fc.array(segment, { minLength: 1, maxLength: 7 }).map((path) => path.join('.')),
  fc
    .tuple(fc.constantFrom(...IDS), fc.array(segment, { minLength: 1, maxLength: 3 }))
    .map(([id, rest]) => `app.${id}.event.${rest.join('.')}`),
);
const filter = fc
  .tuple(topic, fc.array(fc.nat(6), { maxLength: 3 }), fc.option(fc.nat(6)))
  .map(([name, stars, open]) => {
    const path = name.split('.').map((one, index) => (stars.includes(index) ? '*' : one));
    return (open === null ? path : [...path.slice(0, open), '**']).join('.');
  });
const world = fc.record({
  grants: fc.subarray([
    ...['events.read', 'events', 'system.events', 'audio.capture', 'bridges.gpio'],
    ...IDS.map((id) => `events.read:${id}`),
  ]),
  publics: fc.array(
    fc.tuple(fc.constantFrom(...IDS), filter).map(([id, tail]) => [id, `app.${id}.${tail}`] as const),
    { maxLength: 4 },
  ),
  caller: fc.constantFrom(...IDS),
});

interface World {
  readonly grants: readonly string[];
  readonly publics: readonly (readonly [string, string])[];
  readonly caller: string;
}

async function rightsOf({ grants, publics }: World): Promise<ReadRights> {
  const holds = (_: unknown, wanted: string) => grants.some((grant) => implies(grant, wanted));
  const require = (_: unknown, wanted: string) => {
    if (!holds(_, wanted)) throw Object.assign(new Error(wanted), { code: 'CAPABILITY_DENIED' });
  };
  const capabilities = { holds, require, requireAny: require } as unknown as Capabilities;
  const topics = new PublicTopics({ warn: () => undefined } as never);
  const open = (id: string) => publics.filter(([of]) => of === id).map(([, one]) => one);
  const apps = {
    list: async () => IDS.map((id) => ({ id })),
    manifest: async (id: string) => ({ id, events: { public: open(id) } }),
    onChange: () => ({ [Symbol.dispose]: () => undefined }),
  };
  await topics.follow(apps as never, { use: () => undefined } as never);
  return new ReadRights(AREAS, capabilities, topics);
}

/** The rule, said as plainly as it can be. */
function mayRead({ grants, publics, caller }: World, name: string, source: string): boolean {
  const holds = (wanted: string) => grants.some((grant) => implies(grant, wanted));
  if (holds('system.events')) return true;
  if (name.startsWith('app.') && source.startsWith('app.')) {
    const owner = source.slice(4);
    const open = publics.some(([id, one]) => id === owner && matchesTopic(one, name));
    return owner === caller || open || holds(`events.read:${owner}`);
  }
  const areas = AREAS.filter((area) => matchesTopic(area.filter, name));
  if (areas.length > 0)
    return areas.every(({ capabilities = [] }) => capabilities.length === 0 || capabilities.some(holds));
  if (!name.startsWith('app.')) return false;
  // What the Core says below an app's name.
  const below = (id: string) => name.startsWith(`app.${id}.`);
  return (
    below(caller) ||
    holds('events.read') ||
    IDS.some((id) => below(id) && holds(`events.read:${id}`)) ||
    publics.some(([, one]) => matchesTopic(one, name))
  );
}

const valid = (one: string) => {
  try {
    return parseFilter(one).length > 0;
  } catch {
    return false;
  }
};

test('a reader receives only events that it may read, and all of them', async () => {
  await fc.assert(
    fc.asyncProperty(
      world,
      fc.array(filter.filter(valid), { minLength: 1, maxLength: 3 }),
      fc.array(topic),
      async (w, filters, names) => {
        fc.pre(w.publics.every(([, one]) => valid(one)));
        const rights = await rightsOf(w);
        const caller = { kind: 'app', id: w.caller } as const;
        const accepted = filters.filter((one) => {
          try {
            rights.of(caller, one);
            return true;
          } catch {
            return false;
          }
        });
        const reader = new Reader(rights, caller);
        const subscribed = reader.narrowed(accepted);
        for (const name of names) {
          // An app publishes below its own name alone.
          const owners = IDS.filter((id) => name.startsWith(`app.${id}.event.`)).map((id) => `app.${id}`);
          for (const source of ['core', ...owners]) {
            const event = { topic: name, source, ts: 0, seq: 0, priority: 'normal', payload: {} } as const;
            const got = subscribed.some((one) => matchesTopic(one, name)) && reader.mayRead(event);
            const due = accepted.some((one) => matchesTopic(one, name)) && mayRead(w, name, source);
            assert.equal(got, due, `${name} from ${source}: ${filters.join(' ')} -> ${subscribed.join(' ')}`);
          }
        }
      },
    ),
    { numRuns: runs(3_000) },
  );
});

test('a filter is not widened by the meaning of its part, had a person written it', async () => {
  const rights = await rightsOf({ grants: [], publics: [], caller: 'com.example.a' });
  const wanted = '*.com.example.a.event.*';
  const { filters } = rights.of({ kind: 'app', id: 'com.example.a' }, wanted);
  assert.ok(!filters.some((one) => matchesTopic(one, 'app.com.example.a.event.two.deep')), filters.join(' '));
  assert.ok(
    filters.some((one) => matchesTopic(one, 'app.com.example.a.event.one')),
    filters.join(' '),
  );
});

test('the intersection of two filters matches what both match', () => {
  fc.assert(
    fc.property(filter.filter(valid), filter.filter(valid), topic, (one, other, name) => {
      const [a, b] = [parseFilter(one), parseFilter(other)];
      const both = intersection(a, b);
      // `app.<id>.event.*` means all below it: a part that only looks so cannot be said as a filter.
      fc.pre(both === undefined || canonicalFilter(both.join('.')) === both.join('.'));
      const matches = both !== undefined && matchesTopic(both.join('.'), name);
      assert.equal(matches, matchesTopic(one, name) && matchesTopic(other, name));
      assert.equal(overlaps(a, b), both !== undefined);
      if (covers(a, b) && matchesTopic(other, name)) assert.ok(matchesTopic(one, name));
    }),
    { numRuns: runs(5_000) },
  );
});
