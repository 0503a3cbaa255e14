/** What a scene, a patch and a card may hold, and how what they may not is refused. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import {
  CARD_SCHEMA,
  checkCard,
  checkScene,
  imagesOf,
  nodesOf,
  PATCH_SCHEMA,
  patchScene,
  pathProblem,
  SCENE_SCHEMA,
  type Scene,
  unnamed,
} from '@device-core/plugin-api/scene';
import { Ajv } from 'ajv';
import fc from 'fast-check';
import { runs } from '../../fixtures/runs.ts';
import { cards, patches, scenes } from './arbitrary.ts';

const text = (more: object = {}): object => ({ kind: 'text', text: 'Hello', ...more });
const rect = (more: object = {}): object => ({ kind: 'rect', w: 10, h: 10, ...more });
const scene = (...nodes: readonly unknown[]): object => ({ scene: 1, nodes });
const deep = (depth: number): object => (depth === 0 ? rect() : { kind: 'group', nodes: [deep(depth - 1)] });
const TIMELINE = { node: 't', property: 'x', to: 1, ms: 100 };

const BAD: readonly (readonly [title: string, value: unknown, where: string, reason: RegExp])[] = [
  ['no object', [], '/', /must be an object/],
  ['nothing', {}, '/scene', /missing/],
  ['a scene of another version', { scene: 2, nodes: [] }, '/scene', /one of 1/],
  ['an unknown member', { scene: 1, nodes: [], backgruond: '#000000' }, '/backgruond', /did you mean background\?/],
  ['an unknown member of a node', scene(text({ txet: 'x' })), '/nodes/0/txet', /did you mean text\?/],
  ['an unknown kind', scene({ kind: 'txt' }), '/nodes/0/kind', /did you mean text\?/],
  ['no kind', scene({}), '/nodes/0/kind', /missing/],
  ['no text', scene({ kind: 'text' }), '/nodes/0/text', /missing/],
  ['nodes that are no list', { scene: 1, nodes: {} }, '/nodes', /must be a list/],
  ['257 nodes', scene(...Array.from({ length: 257 }, () => rect())), '/nodes/256', /more than 256 nodes/],
  ['groups 9 deep', scene(deep(8)), `/nodes${'/0/nodes'.repeat(8)}`, /more than 8 deep/],
  ['65 KiB', scene(...Array.from({ length: 35 }, () => text({ text: 'x'.repeat(1_900) }))), '/', /65536 are the limit/],
  ['NaN', scene(rect({ x: Number.NaN })), '/nodes/0/x', /number from -4096 to 4096/],
  ['1e308', scene(rect({ w: 1e308 })), '/nodes/0/w', /number from 0 to 4096/],
  ['infinity', scene(rect({ y: Number.POSITIVE_INFINITY })), '/nodes/0/y', /number from/],
  ['a size below nothing', scene(rect({ w: -1 })), '/nodes/0/w', /number from 0/],
  [
    'a duplicate id',
    scene(text({ id: 'a' }), { kind: 'group', nodes: [rect({ id: 'a' })] }),
    '/nodes/1/nodes/0/id',
    /id of \/nodes\/0, too/,
  ],
  ['an id with a blank', scene(text({ id: 'a b' })), '/nodes/0/id', /letters, digits/],
  ['a colour of three digits', scene(rect({ fill: '#fff' })), '/nodes/0/fill', /#rrggbb/],
  ['an unknown token', scene(rect({ fill: '@acent' })), '/nodes/0/fill', /did you mean @accent\?/],
  [
    'a gradient of one stop',
    scene(rect({ fill: { linear: 0, stops: [[0, '#000000']] } })),
    '/nodes/0/fill/stops',
    /2 to 16/,
  ],
  ['half of a surrogate pair', scene(text({ text: 'a\ud800b' })), '/nodes/0/text', /half of a surrogate pair/],
  ['a control character', scene(text({ text: 'a\u001b[31mb' })), '/nodes/0/text', /control character/],
  ['2,001 code units of text', scene(text({ text: 'a'.repeat(2_001) })), '/nodes/0/text', /2000 are the limit/],
  ['an unknown binding', scene(text({ text: '{tiem:HH}' })), '/nodes/0/text', /did you mean \{time\}\?/],
  ['a time since nowhere', scene(text({ text: '{elapsed:soon}' })), '/nodes/0/text', /milliseconds/],
  ['a countdown to nowhere', scene(text({ text: '{countdown:soon}' })), '/nodes/0/text', /milliseconds/],
  ['path data that ends in a command', scene({ kind: 'path', d: 'M0 0L1' }), '/nodes/0/d', /lacks a number/],
  [
    'path data that never ends',
    scene({ kind: 'path', d: `M0 0${'l1 1'.repeat(1_100)}` }),
    '/nodes/0/d',
    /more than 1024 segments/,
  ],
  [
    'path data longer than the limit',
    scene({ kind: 'path', d: `M0 0${' '.repeat(8_200)}` }),
    '/nodes/0/d',
    /8192 are the limit/,
  ],
  [
    'an image by address',
    scene({ kind: 'image', image: 'http://a.example/x.png', w: 1, h: 1 }),
    '/nodes/0/image',
    /sha256/,
  ],
  [
    'an image above the package',
    scene({ kind: 'image', image: 'icons/../../x.png', w: 1, h: 1 }),
    '/nodes/0/image',
    /package/,
  ],
  [
    'an image by an absolute path',
    scene({ kind: 'image', image: '/etc/passwd', w: 1, h: 1 }),
    '/nodes/0/image',
    /package/,
  ],
  ['a timeline of nobody', { scene: 1, nodes: [], timelines: [TIMELINE] }, '/timelines/0/node', /no node t/],
  [
    'a timeline that says when it began',
    { scene: 1, nodes: [text({ id: 't' })], timelines: [{ ...TIMELINE, at: 5 }] },
    '/timelines/0/at',
    /no member at/,
  ],
  [
    '33 timelines',
    { scene: 1, nodes: [text({ id: 't' })], timelines: Array.from({ length: 33 }, () => TIMELINE) },
    '/timelines',
    /32 are the limit/,
  ],
  [
    'a timeline of no time',
    { scene: 1, nodes: [text({ id: 't' })], timelines: [{ ...TIMELINE, ms: 0 }] },
    '/timelines/0/ms',
    /number from 1/,
  ],
  [
    'a timeline of what its node has not',
    { scene: 1, nodes: [text({ id: 't' })], timelines: [{ ...TIMELINE, property: 'sweep' }] },
    '/timelines/0/property',
    /a text has no sweep/,
  ],
  [
    'a timeline to what its node may not be',
    { scene: 1, nodes: [text({ id: 't' })], timelines: [{ ...TIMELINE, property: 'opacity', to: 2 }] },
    '/timelines/0/to',
    /number from 0 to 1/,
  ],
  ['a member of the prototype', JSON.parse('{"scene": 1, "nodes": [], "__proto__": {}}'), '/__proto__', /no member/],
];

describe('a scene is refused with the place and the reason', () => {
  for (const [title, value, where, reason] of BAD)
    test(title, () => {
      assert.throws(
        () => checkScene(value, 'the scene'),
        (error) =>
          error instanceof CoreError &&
          error.code === 'SCENE_INVALID' &&
          error.details.where === where &&
          reason.test(error.message),
      );
    });
  test('a group that holds itself ends at the limit of depth', () => {
    const group: { kind: string; nodes: unknown[] } = { kind: 'group', nodes: [] };
    group.nodes.push(group);
    assert.throws(() => checkScene(scene(group), 'the scene'), /more than 8 deep/);
  });
});

test('texts that are hard to draw are no mistake: marks upon marks, long emoji, a change of direction', () => {
  const family = '👨‍👩‍👧‍👦'.repeat(4);
  checkScene(
    scene(text({ text: `a${'\u0301'.repeat(1_999)}` }), text({ text: family }), text({ text: 'a\u202eb' })),
    'the scene',
  );
});

test('scenes that checkScene takes fit the published schema, and those that it refuses for their shape do not', () => {
  const ajv = new Ajv({ strict: false });
  const fits = ajv.compile(SCENE_SCHEMA);
  fc.assert(
    fc.property(scenes, (one) => {
      checkScene(one, 'the scene');
      assert.ok(fits(JSON.parse(JSON.stringify(one))), JSON.stringify(fits.errors));
    }),
    { numRuns: runs(300) },
  );
  for (const bad of [
    scene({ kind: 'txt' }),
    scene(text({ txet: 'x' })),
    { scene: 2, nodes: [] },
    scene({ kind: 'text' }),
  ])
    assert.equal(fits(bad), false);
});

test('a card of any template is taken, fits the published schema, and is refused with place and reason', () => {
  const fits = new Ajv({ strict: false }).compile(CARD_SCHEMA);
  fc.assert(
    fc.property(cards, (card) => {
      checkCard(card, 'the card');
      assert.ok(fits(JSON.parse(JSON.stringify(card))), JSON.stringify(fits.errors));
    }),
    { numRuns: runs(300) },
  );
  const table: readonly (readonly [unknown, RegExp])[] = [
    [{ card: 1, template: 'lits', items: [] }, /\/template: .*did you mean list\?/],
    [{ card: 1, template: 'list', items: [{ titel: 'x' }] }, /\/items\/0\/titel: .*did you mean title\?/],
    [
      { card: 1, template: 'list', items: Array.from({ length: 51 }, () => ({ title: 'x' })) },
      /\/items: .*50 are the limit/,
    ],
    [{ card: 1, template: 'choice', options: [{ id: 'a', title: 'A' }] }, /\/options: .*2 to 8/],
    [
      {
        card: 1,
        template: 'choice',
        options: [
          { id: 'a', title: 'A' },
          { id: 'a', title: 'B' },
        ],
      },
      /\/options\/1\/id: a is there twice/,
    ],
    [
      { card: 1, template: 'text', actions: [1, 2, 3].map((id) => ({ id: `a${id}`, title: 'A' })) },
      /\/actions: .*2 are the limit/,
    ],
    [{ card: 1, template: 'image', image: 'a.png' }, /\/label: it is missing/],
    [{ card: 2, template: 'text' }, /\/card: it must be one of 1/],
    [{ template: 'text' }, /\/card: it is missing/],
  ];
  for (const [value, reason] of table) assert.throws(() => checkCard(value, 'the card'), reason);
});

describe('a patch', () => {
  const base: Scene = checkScene(
    {
      scene: 1,
      nodes: [text({ id: 't', role: 'title' }), { kind: 'group', id: 'g', nodes: [rect({ id: 'r' })] }],
      timelines: [TIMELINE],
    },
    'the scene',
  );
  const patched = (patch: object): Scene => patchScene(base, { version: 1, ...patch }, 'the scene');

  test('sets, takes away, adds at the end, into a group and before a node, and removes with all within', () => {
    const after = patched({
      remove: ['r'],
      set: [{ id: 't', text: 'Bye', role: null }],
      add: [
        { node: rect({ id: 'new' }), into: 'g' },
        { node: rect({ id: 'first' }), before: 't' },
        { node: rect({ id: 'last' }) },
      ],
      progress: 0.5,
    });
    assert.deepEqual(
      [...nodesOf(after.nodes)].map(({ id }) => id),
      ['first', 't', 'g', 'new', 'last'],
    );
    assert.deepEqual(after.nodes[1], { kind: 'text', text: 'Bye', id: 't' });
    assert.equal(after.progress, 0.5);
    assert.equal(patched({ remove: ['g'] }).nodes.length, 1);
  });
  test('leaves the former scene and nodes that it does not name as they were', () => {
    const before = JSON.stringify(base);
    const after = patched({ set: [{ id: 't', x: 5 }] });
    assert.equal(JSON.stringify(base), before);
    assert.equal(after.nodes[1], base.nodes[1]);
  });
  test('replaces the timeline of the same node and property, and forgets those of removed nodes', () => {
    assert.deepEqual(
      patched({ timelines: [{ ...TIMELINE, to: 9 }] }).timelines?.map(({ to }) => to),
      [9],
    );
    assert.equal(patched({ remove: ['t'] }).timelines, undefined);
  });
  for (const [title, patch, where] of [
    ['a node that is not there', { set: [{ id: 'x', x: 1 }] }, '/set/0/id'],
    ['another kind', { set: [{ id: 't', kind: 'rect' }] }, '/set/0/kind'],
    ['a member that does not fit', { set: [{ id: 't', radius: 3 }] }, '/set/0/radius'],
    ['a required member taken away', { set: [{ id: 't', text: null }] }, '/set/0/text'],
    ['a duplicate id', { add: [{ node: rect({ id: 't' }) }] }, '/nodes/2/id'],
    ['into what is no group', { add: [{ node: rect(), into: 't' }] }, '/add/0/into'],
    ['a node in a group that is removed', { remove: ['g'], set: [{ id: 'r', x: 1 }] }, '/set/0/id'],
    ['nodes beyond the limit', { add: Array.from({ length: 254 }, () => ({ node: rect() })) }, '/nodes/255'],
    ['an unknown member', { sets: [] }, '/sets'],
  ] as const)
    test(`is refused whole: ${title}`, () => {
      assert.throws(
        () => patched(patch),
        (error) => error instanceof CoreError && error.code === 'SCENE_INVALID' && error.details.where === where,
      );
    });
  test('of any kind gives a scene that is right, or nothing', () => {
    const fits = new Ajv({ strict: false }).compile(PATCH_SCHEMA);
    let taken = 0;
    fc.assert(
      fc.property(
        scenes.chain((one) => fc.tuple(fc.constant(one), patches(one))),
        ([one, patch]) => {
          const before = JSON.stringify(one);
          let after: Scene | undefined;
          try {
            after = patchScene(one, patch, 'the scene');
            taken += 1;
          } catch (error) {
            assert.ok(error instanceof CoreError && error.code === 'SCENE_INVALID', String(error));
          }
          assert.equal(JSON.stringify(one), before);
          if (after === undefined) return;
          checkScene(after, 'the patched scene');
          assert.ok(fits(JSON.parse(JSON.stringify(patch))), JSON.stringify(fits.errors));
        },
      ),
      { numRuns: runs(500) },
    );
    assert.ok(taken > 0, 'no patch was taken');
  });
});

test('path data: what SVG allows is read, and no text makes the reader throw or run away', () => {
  for (const good of [
    'M0 0',
    'm0,0 1,1-2-2z',
    'M.5.5a1 1 0 00.5.5',
    'M0 0h10v10H0Z',
    'M1e1 2E-1c1 2 3 4 5 6s1 2 3 4',
    'M0 0q1 2 3 4t5 6zm3 3l1 1',
  ])
    assert.equal(pathProblem(good), undefined, good);
  for (const bad of ['', '  ', 'L1 1', 'M0', 'M0 0x', 'M0 0a1 1 0 2 0 1 1', 'M0 0z1', 'M1e9 0', 'M0 0l1,,1'])
    assert.equal(typeof pathProblem(bad), 'string', bad);
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom(...'MmLlHhVvCcSsQqTtAaZz0123456789.,-+eE \n'), maxLength: 400 }),
      (data) => {
        pathProblem(data);
      },
    ),
    { numRuns: runs(2_000) },
  );
});

test('images of a scene are named once, and targets without a name are found', () => {
  const one = checkScene(
    scene(
      { kind: 'image', image: 'a.png', w: 1, h: 1, tap: 'x' },
      { kind: 'group', tap: 'named', nodes: [{ kind: 'sprite', image: 'a.png', frames: 2, w: 1, h: 1 }, text()] },
    ),
    'the scene',
  );
  assert.deepEqual([...imagesOf(one)], ['a.png']);
  assert.deepEqual(unnamed(one), ['x']);
});
