import {
  CARD_SCHEMA,
  COLOUR_TOKENS,
  PATCH_SCHEMA,
  SCENE_LIMITS,
  SCENE_SCHEMA,
  THEMES,
  TYPE,
} from '../../../plugin-api/scene/index.ts';
import { LAYERS } from '../../../plugin-api/services/renderer.ts';
import { SCENARIO_SCHEMA } from '../../../plugins/hardware/simulator/scenario-schema.ts';
import { code, fence, page, table } from './markdown.ts';
import { declaration, readSource } from './source.ts';

const NODES = [
  'GroupNode',
  'RectNode',
  'EllipseNode',
  'PathNode',
  'TextNode',
  'ImageNode',
  'SpriteNode',
  'CharacterNode',
  'VideoNode',
];
const CARDS = [
  'CardAction',
  'TextCard',
  'ListCard',
  'ChoiceCard',
  'ImageCard',
  'ProgressCard',
  'MediaCard',
  'TimerCard',
];

/** docs/reference/scenes.md */
export function scenesPage(): string {
  const scene = readSource('plugin-api/scene/scene.ts');
  const card = readSource('plugin-api/scene/card.ts');
  const declared = (source: string, names: readonly string[]): string =>
    fence('ts', names.map((name) => declaration(source, name)).join('\n\n'));
  return page(
    'Scenes and cards',
    'What a screen shows, as data. A card says what a screen means, and a scene is for what no card says. `manifests/schema/` holds `scene.json`, `scene-patch.json` and `card.json` for editors. What is wrong is answered with `SCENE_INVALID`, a JSON pointer and the nearest known name.',
    '## Scene',
    declared(scene, ['Scene', 'NodeBase', 'Colour', 'Paint', 'Shadow']),
    '## Nodes',
    declared(scene, NODES),
    '## Motion',
    declared(scene, ['Timeline', 'Easing', 'Animated']),
    '## Patch',
    declared(scene, ['ScenePatch']),
    '## Limits',
    table(
      ['limit', 'most'],
      Object.entries(SCENE_LIMITS).map(([name, most]) => [code(name), String(most)]),
    ),
    '## Cards',
    declared(card, CARDS),
    '## Layers',
    'From below. An app draws in its own alone.',
    table(
      ['layer', 'number'],
      Object.entries(LAYERS).map(([name, number]) => [name, String(number)]),
    ),
    '## Type scale',
    table(
      ['role', 'size', 'line', 'weight'],
      Object.entries(TYPE).map(([role, { size, line, weight }]) => [
        code(role),
        String(size),
        String(line),
        String(weight),
      ]),
    ),
    '## Colours',
    'A token is written `@accent`.',
    table(
      ['token', ...THEMES.map(({ id }) => id)],
      COLOUR_TOKENS.map((token) => [code(token), ...THEMES.map(({ colours }) => code(colours[token]))]),
    ),
  );
}

const file = (schema: object): string =>
  `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...schema }, null, 2)}\n`;

/** Schemas of files that editors check: those of screens, and that of scenarios. */
export const SCENE_FILES: Readonly<Record<string, () => string>> = {
  '../../manifests/schema/scene.json': () => file(SCENE_SCHEMA),
  '../../manifests/schema/scene-patch.json': () => file(PATCH_SCHEMA),
  '../../manifests/schema/card.json': () => file(CARD_SCHEMA),
  '../../manifests/schema/scenario.json': () => file(SCENARIO_SCHEMA),
};
