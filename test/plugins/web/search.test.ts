/** The matcher of the page's search, the drawing of plugins, and what a page of a plugin may ask. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { type Entry, find, indexOf, slips, wordsOf } from '../../../plugins/interface/web/ui/core/search.ts';
import { BOX, layout } from '../../../plugins/interface/web/ui/pages/plugins/layout.ts';
import { at, readOf, requestOf } from '../../../plugins/interface/web/ui/view/asking.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { runs } from '../../fixtures/runs.ts';

const entry = (kind: Entry['kind'], title: string, note?: string, ...words: readonly string[]): Entry => ({
  kind,
  title,
  href: `#/${title}`,
  words,
  ...(note !== undefined && { note }),
});
const ENTRIES = [
  entry(
    'question',
    'Why was this refused?',
    undefined,
    'Warum wurde das abgelehnt?',
    'Pourquoi est-ce refusé ?',
    'denied',
  ),
  entry('question', 'What costs the CPU?', undefined, 'Was kostet die CPU?', 'slow hot load lent langsam'),
  entry('question', 'How do I undo this setting?', undefined, 'Wie mache ich diese Einstellung rückgängig?', 'reset'),
  entry('page', 'Settings'),
  entry('plugin', 'sensors', 'Sensors by name - list, read, follow'),
  entry('plugin', 'render-skia', 'Renderer of scenes by Skia'),
  entry('operation', 'display.surface.patch', 'Changes what a surface shows'),
  entry('setting', 'display.brightness', 'How bright the panel is'),
  entry('plugin', 'backup', 'Throws the state of the device away, copies it into one file'),
  entry('operation', 'system.backup', 'Make a backup of the state of the device'),
  entry('page', 'Logs'),
  entry('operation', 'sim.log', 'Let the bridge have something for the log'),
  entry('plugin', 'logs', 'The logs of the Core'),
  entry('setting', 'logBytes', 'plugins.supervisor-process.logBytes'),
];
const INDEX = indexOf(ENTRIES);

describe('the search', () => {
  for (const [query, title] of [
    ['why was this refused', 'Why was this refused?'],
    ['Warum wurde es abgelehnt', 'Why was this refused?'],
    ['pourquoi', 'Why was this refused?'],
    ['refuse', 'Why was this refused?'],
    ['what costs the cpu', 'What costs the CPU?'],
    ['why is it so slow', 'What costs the CPU?'],
    ['undo this setting', 'How do I undo this setting?'],
    ['rückgängig', 'How do I undo this setting?'],
    ['ruckgangig', 'How do I undo this setting?'],
    ['settings', 'Settings'],
    ['setings', 'Settings'],
    ['sensr', 'sensors'],
    ['esnsors', 'sensors'],
    ['skia', 'render-skia'],
    ['surface patch', 'display.surface.patch'],
    ['brightn', 'display.brightness'],
    ['backup', 'system.backup'],
    ['system.backup', 'system.backup'],
    ['log', 'Logs'],
    ['logs', 'Logs'],
    ['logbytes', 'logBytes'],
  ] as const)
    test(`answers "${query}" with ${title}`, () => assert.equal(find(INDEX, query)[0]?.title, title));

  test('finds nothing for unknown words, and for nothing', () => {
    for (const query of ['', '   ', '???', 'quaternion', 'zzzzzz']) assert.deepEqual(find(INDEX, query), []);
  });

  test('finds one of a thousand functions, and shows no more than asked for', () => {
    const many = Array.from({ length: 1000 }, (_, n) =>
      entry('function', `com.example.app${n}.doThing${n}`, 'Does it'),
    );
    const index = indexOf(many);
    assert.equal(find(index, 'doThing777')[0]?.title, 'com.example.app777.doThing777');
    assert.equal(find(index, 'com example', 30).length, 30);
  });

  test('takes any text, and each result was offered', () => {
    const text = fc.oneof(
      fc.string({ unit: ANY_CHARACTER, maxLength: 60 }),
      fc.constantFrom('constructor', '__proto__', '<script>'),
    );
    fc.assert(
      fc.property(fc.array(text, { maxLength: 8 }), text, (titles, query) => {
        const offered = titles.map((title) => entry('app', title));
        for (const one of find(indexOf(offered), query)) assert.ok(offered.includes(one));
        assert.ok(wordsOf(query).every((word) => word !== ''));
      }),
      { numRuns: runs(1_000) },
    );
  });

  test('finds each title by itself, first or among those that are called alike', () => {
    for (const { title } of ENTRIES)
      assert.match(find(INDEX, title)[0]!.title, new RegExp(`(^|\\.)${title.replace(/[?.]/g, '\\$&')}$`, 'i'));
  });

  test('counts one slip for a letter more, less, other, or in the other place', () => {
    for (const word of ['settings', 'setings', 'settinngs', 'setzings', 'stetings'])
      assert.ok(slips(word, 'settings', 1).whole <= (word === 'stetings' ? 2 : 1), word);
    assert.equal(slips('voice', 'bridge', 1).whole, 2);
  });
});

describe('the drawing of plugins', () => {
  const chain = (count: number) =>
    Array.from({ length: count }, (_, n) => ({
      id: `p${n}`,
      provides: { [`s${n}`]: '1.0.0' },
      requires: n === 0 ? {} : { [`s${Math.floor(n / 3)}`]: '^1.0.0' },
    }));
  test('puts each of sixty in a place of its own, right of what it needs', () => {
    const { places, edges, width, height } = layout(
      chain(60).map((one) => (one.id === 'p1' ? { ...one, requires: { s0: '^1.0.0' } } : one)),
    );
    assert.equal(new Set(places.map(({ x, y }) => `${x} ${y}`)).size, 60);
    const place = new Map(places.map((one) => [one.id, one]));
    for (const { from, to } of edges) assert.ok(place.get(from)!.x < place.get(to)!.x, `${from} -> ${to}`);
    for (const { x, y } of places) assert.ok(x + BOX.width <= width && y + BOX.height <= height);
  });
  test('comes to an end where a list has a circle, and where there is nothing', () => {
    const circle = [
      { id: 'a', provides: { a: '1.0.0' }, requires: { b: '^1.0.0' } },
      { id: 'b', provides: { b: '1.0.0' }, requires: { a: '^1.0.0' } },
    ];
    assert.equal(layout(circle).places.length, 2);
    assert.deepEqual(layout([]).places, []);
  });
});

describe('a page of a plugin', () => {
  const OPERATIONS = [
    { name: 'sensors.read', method: 'GET', path: '/sensors/:name' },
    { name: 'voice.say', method: 'POST', path: '/voice/say' },
    { name: 'apps.remove', method: 'POST', path: '/apps/:id/remove' },
    { name: 'rpc.only' },
  ] as const;
  test('asks by itself what reads, and nothing that changes something', () => {
    assert.deepEqual(readOf('sensors.read', { name: 'a/b' }, OPERATIONS), {
      method: 'GET',
      path: '/sensors/a%2Fb',
      rest: {},
    });
    for (const name of ['voice.say', 'apps.remove', 'rpc.only', 'not.there'])
      assert.equal(readOf(name, { id: 'x' }, OPERATIONS), undefined, name);
  });
  test('makes no path of missing values or of values that are no text', () => {
    for (const params of [{}, { id: null }, { id: {} }, { id: ['a'] }])
      assert.equal(requestOf('apps.remove', params as object as Record<string, unknown>, OPERATIONS), undefined);
    const made = requestOf('apps.remove', { id: '../../config', purge: true }, OPERATIONS);
    assert.deepEqual([made?.path, made?.rest], ['/apps/..%2F..%2Fconfig/remove', { purge: true }]);
  });
  test('looks for values by JSON pointer, and finds own members alone', () => {
    const data = { a: [{ 'b/c': 1 }], 'x~y': 2 };
    for (const [pointer, value] of [
      ['', data],
      ['/a/0/b~1c', 1],
      ['/x~0y', 2],
      ['/a/7', undefined],
      ['/constructor/name', undefined],
      ['/__proto__', undefined],
    ] as const)
      assert.deepEqual(at(data, pointer), value, pointer);
  });
});
