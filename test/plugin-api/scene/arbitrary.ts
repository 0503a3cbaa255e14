/** Scenes of any shape, for the properties of those who take them. */
import type { Card, Scene, SceneNode, ScenePatch, Timeline } from '@device-core/plugin-api/scene';
import { ANIMATED, CHARACTER_STATES, COLOUR_TOKENS, EASINGS, EXPRESSIONS } from '@device-core/plugin-api/scene';
import fc from 'fast-check';

const units = fc.double({ min: -900, max: 900, noNaN: true });
const size = fc.double({ min: 0, max: 900, noNaN: true });
const share = fc.double({ min: 0, max: 1, noNaN: true });
const hex = fc.integer({ min: 0, max: 0xffffff }).map((value) => `#${value.toString(16).padStart(6, '0')}`);
export const colours = fc.oneof(
  hex,
  fc.constantFrom(...COLOUR_TOKENS).map((token) => `@${token}`),
);
export const words = fc
  .array(
    fc.oneof(
      fc.lorem({ maxCount: 3 }),
      fc.constantFrom('مرحبا بالعالم', 'שלום', 'Ünïcode — ñandú', '👩‍👩‍👧‍👦', '漢字'),
    ),
    { maxLength: 6 },
  )
  .map((parts) => parts.join(' '));
const paint = fc.oneof(
  colours,
  fc.record({
    linear: fc.integer({ min: 0, max: 359 }),
    stops: fc.constant([
      [0, '#000000'],
      [1, '@accent'],
    ] as const),
  }),
  fc.record({
    radial: fc.constant(true as const),
    stops: fc.constant([
      [0, '#ffffff'],
      [1, '#00000000'],
    ] as const),
  }),
);
const common = {
  x: units,
  y: units,
  opacity: share,
  rotate: fc.integer({ min: -360, max: 360 }),
  scale: fc.double({ min: 0, max: 3, noNaN: true }),
};
const optional = <T extends Record<string, fc.Arbitrary<unknown>>, R extends keyof T & string>(
  required: readonly R[],
  model: T,
) => fc.record(model, { requiredKeys: [...required] as never });

const shape = { ...common, fill: paint, stroke: colours, strokeWidth: fc.integer({ min: 1, max: 24 }) };
const shadow = fc.record({ blur: fc.integer({ min: 0, max: 24 }), colour: colours });

/** A node without an id; in a group, others. */
const node: fc.Arbitrary<SceneNode> = fc.letrec((tie) => ({
  node: fc.oneof(
    { maxDepth: 3 },
    optional(['kind', 'w', 'h'], {
      ...shape,
      kind: fc.constant('rect'),
      w: size,
      h: size,
      radius: fc.integer({ min: 0, max: 60 }),
      shadow,
    }),
    optional(['kind', 'w', 'h'], {
      ...shape,
      kind: fc.constant('ellipse'),
      w: size,
      h: size,
      sweep: fc.integer({ min: -360, max: 360 }),
    }),
    optional(['kind', 'd'], {
      ...shape,
      kind: fc.constant('path'),
      d: fc.constantFrom('M0 0L40 0 20 30z', 'm10 10a5 5 0 015 5c1 2 3 4 5 6'),
      w: size,
      h: size,
    }),
    optional(['kind', 'text'], {
      ...common,
      kind: fc.constant('text'),
      text: words,
      w: size,
      role: fc.constantFrom('title', 'body', 'caption'),
    }),
    optional(['kind', 'w', 'h'], {
      ...common,
      kind: fc.constant('character'),
      w: size,
      h: size,
      state: fc.constantFrom(...CHARACTER_STATES),
      expression: fc.constantFrom(...EXPRESSIONS),
    }),
    optional(['kind', 'nodes'], {
      ...common,
      kind: fc.constant('group'),
      clip: fc.boolean(),
      w: size,
      h: size,
      nodes: fc.array(tie('node'), { maxLength: 4 }),
    }),
  ),
})).node as unknown as fc.Arbitrary<SceneNode>;

/** Every node by the way in which it stands in the scene. */
function named(nodes: readonly SceneNode[], prefix: string): readonly SceneNode[] {
  return nodes.map((one, index) => {
    const id = `${prefix}${index}`;
    return one.kind === 'group' ? { ...one, id, nodes: named(one.nodes, `${id}-`) } : { ...one, id };
  });
}

const timeline = (ids: readonly string[]): fc.Arbitrary<Timeline> =>
  optional(['node', 'property', 'to', 'ms'], {
    node: fc.constantFrom(...ids),
    // Not every kind has a sweep.
    property: fc.constantFrom(...ANIMATED.filter((one) => one !== 'sweep')),
    from: share,
    to: share,
    ms: fc.integer({ min: 1, max: 2_000 }),
    delay: fc.integer({ min: 0, max: 500 }),
    ease: fc.constantFrom(...EASINGS),
    repeat: fc.integer({ min: 1, max: 3 }),
    alternate: fc.boolean(),
  }) as unknown as fc.Arbitrary<Timeline>;

export const idsOf = (nodes: readonly SceneNode[]): readonly string[] =>
  nodes.flatMap((one) => [one.id!, ...(one.kind === 'group' ? idsOf(one.nodes) : [])]);

export const scenes: fc.Arbitrary<Scene> = fc.array(node, { minLength: 1, maxLength: 6 }).chain((plain) => {
  const nodes = named(plain, 'n');
  return fc
    .record({ background: paint, timelines: fc.array(timeline(idsOf(nodes)), { maxLength: 4 }), title: words })
    .map((rest) => ({ scene: 1, nodes, ...rest }) as Scene);
});

/** A patch that fits a scene most of the time, and not always. */
export function patches(scene: Scene): fc.Arbitrary<ScenePatch> {
  const id = fc.constantFrom(...idsOf(scene.nodes), 'nobody');
  return optional(['version'], {
    version: fc.constant(1),
    set: fc.array(
      id.chain((one) =>
        fc.record({ id: fc.constant(one), x: units, opacity: fc.oneof(share, fc.constant(null), fc.constant(2)) }),
      ),
      { maxLength: 3 },
    ),
    add: fc.array(
      optional(['node'], {
        node: fc.tuple(node, fc.nat(99)).map(([one, number]) => ({ ...one, id: `a${number}` })),
        into: id,
      }),
      { maxLength: 2 },
    ),
    remove: fc.array(id, { maxLength: 2 }),
    timelines: fc.array(timeline(idsOf(scene.nodes)), { maxLength: 2 }),
    progress: share,
  }) as unknown as fc.Arbitrary<ScenePatch>;
}

const title = fc.string({ minLength: 1, maxLength: 60, unit: fc.constantFrom(...'abcdefghij ÄÖÜßéè مرحبا') });
const id = fc.stringMatching(/^[a-z]{3,12}$/);
const actions = fc.uniqueArray(fc.record({ id, title }), { maxLength: 2, selector: (one) => one.id });

/** Cards of every template. */
export const cards: fc.Arbitrary<Card> = fc.oneof(
  optional(['card', 'template'], { card: fc.constant(1), template: fc.constant('text'), title, body: words, actions }),
  optional(['card', 'template', 'items'], {
    card: fc.constant(1),
    template: fc.constant('list'),
    title,
    items: fc.array(optional(['title'], { id, title, body: words, value: fc.constantFrom('08:30', '12 °C') }), {
      maxLength: 12,
    }),
    actions,
  }),
  optional(['card', 'template', 'options'], {
    card: fc.constant(1),
    template: fc.constant('choice'),
    title,
    body: words,
    options: fc.uniqueArray(fc.record({ id, title }), { minLength: 2, maxLength: 8, selector: (one) => one.id }),
  }),
  optional(['card', 'template'], {
    card: fc.constant(1),
    template: fc.constant('progress'),
    title,
    progress: share,
    body: words,
    actions,
  }),
  optional(['card', 'template', 'playing'], {
    card: fc.constant(1),
    template: fc.constant('media'),
    title,
    artist: title,
    playing: fc.boolean(),
    positionMs: fc.nat(100_000),
    durationMs: fc.integer({ min: 1, max: 400_000 }),
    controls: fc.subarray(['previous', 'play', 'next'] as const),
  }),
  optional(['card', 'template', 'until'], {
    card: fc.constant(1),
    template: fc.constant('timer'),
    title,
    until: fc.constant(1_800_000_000_000),
    durationMs: fc.integer({ min: 1, max: 1e7 }),
    body: words,
    actions,
  }),
) as unknown as fc.Arbitrary<Card>;
