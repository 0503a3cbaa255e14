/** Texts that authors and operators write: scenes, cards, scenarios, manifests, SKUs. */
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  checkCard,
  checkScene,
  describeScene,
  layoutText,
  patchScene,
  THEMES,
  TYPE,
} from '@device-core/plugin-api/scene';
import type { TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';
import { resolveSku } from '../../../kernel/boot/check.ts';
import { readManifest } from '../../../kernel/boot/manifests.ts';
import { AppManifestReader } from '../../../plugins/apps/apps/app-manifest.ts';
import { cardScene } from '../../../plugins/display/shared/cards/index.ts';
import { CONTROLS } from '../../../plugins/hardware/simulator/controls.ts';
import { printScenario, ScenarioReader } from '../../../plugins/hardware/simulator/scenario.ts';
import { type Target, WrongAcceptance } from '../target.ts';

const ROOT = join(import.meta.dirname, '../../..');
const seedFiles = (pattern: string): readonly Buffer[] =>
  globSync(pattern, { cwd: ROOT })
    .sort()
    .map((file) => readFileSync(join(ROOT, file)));
const json = (value: unknown): Buffer => Buffer.from(JSON.stringify(value));
const WORLD = { now: 1_795_376_460_000, locale: 'en', timeZone: 'Europe/Berlin' };

/** A caller has parsed the JSON; what is none of it never comes here. */
function parsed(bytes: Buffer): { readonly value: unknown } | undefined {
  try {
    return { value: JSON.parse(bytes.toString('utf8')) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

const SCENES: readonly unknown[] = [
  {
    scene: 1,
    title: 'Kitchen',
    background: '@background',
    nodes: [
      { kind: 'text', id: 'clock', text: '{time}', x: 20, y: 20, w: 300, role: 'title' },
      { kind: 'rect', id: 'box', x: 0, y: 0, w: 40, h: 40, radius: 8, fill: '@accent', tap: 'box', label: 'Box' },
      {
        kind: 'path',
        d: 'M0 0L40 0 20 30z',
        fill: {
          linear: 90,
          stops: [
            [0, '#000000'],
            [1, '@accent'],
          ],
        },
      },
      { kind: 'group', x: 5, y: 5, clip: true, w: 9, h: 9, nodes: [{ kind: 'ellipse', w: 5, h: 5, sweep: 90 }] },
    ],
    timelines: [{ node: 'box', property: 'opacity', from: 0, to: 1, ms: 400 }],
  },
  { scene: 1, nodes: [{ kind: 'character', w: 200, h: 200, state: 'idle', expression: 'happy' }] },
];

const SCENE: Target = {
  name: 'scene',
  form: 'value',
  words: ['kind', 'nodes', '{time}', '{date}', '@accent', 'M0 0a1 1 0 011 1z', 'group', 'image', 'sprite', 'timelines'],
  async open() {
    return {
      seeds: SCENES.map(json),
      run(bytes) {
        const text = parsed(bytes);
        if (text === undefined) return false;
        const scene = checkScene(text.value, 'of a test');
        describeScene(scene, WORLD);
        return true;
      },
    };
  },
};

const PATCHES: readonly unknown[] = [
  { version: 1, set: [{ id: 'clock', text: 'Tea at {time}' }], remove: ['box'], timelines: [] },
  { version: 1, add: [{ node: { kind: 'rect', id: 'new', w: 9, h: 9, fill: '@accent' } }], background: '#102030' },
];

const PATCH: Target = {
  name: 'scene-patch',
  form: 'value',
  words: ['set', 'add', 'remove', 'into', 'before', 'clock', 'box', 'timelines', 'kind', 'nodes'],
  async open() {
    const scene = checkScene(SCENES[0], 'of a test');
    return {
      seeds: PATCHES.map(json),
      run(bytes) {
        const text = parsed(bytes);
        if (text === undefined) return false;
        const patched = patchScene(scene, text.value, 'of a test');
        try {
          checkScene(patched, 'after a patch');
        } catch (error) {
          throw new WrongAcceptance(`the patch is taken and no scene is left: ${(error as Error).message}`);
        }
        return true;
      },
    };
  },
};

const CARDS: readonly unknown[] = [
  { card: 1, template: 'text', title: 'Tea', value: '3', body: 'is ready', actions: [{ id: 'ok', title: 'Good' }] },
  { card: 1, template: 'list', title: 'Day', items: [{ id: 'a', title: 'One', body: 'more', value: '5' }] },
  {
    card: 1,
    template: 'choice',
    options: [
      { id: 'a', title: 'A' },
      { id: 'b', title: 'B' },
    ],
  },
  { card: 1, template: 'media', title: 'Song', playing: true, positionMs: 1, durationMs: 9, controls: ['play'] },
  { card: 1, template: 'timer', until: 1_795_376_470_000, durationMs: 60_000 },
  { card: 1, template: 'progress', progress: 0.5 },
];

const CARD: Target = {
  name: 'card',
  form: 'value',
  words: ['template', 'items', 'options', 'actions', 'primary', 'icon', '{time}', 'מ', '\u202e'],
  async open() {
    return {
      seeds: CARDS.map(json),
      async run(bytes) {
        const text = parsed(bytes);
        if (text === undefined) return false;
        const card = checkCard(text.value, 'of a test');
        const scene = await cardScene(card, { theme: THEMES[0]!, ...WORLD, textScale: 1, page: 0, measure });
        try {
          checkScene(scene, 'of a card');
        } catch (error) {
          throw new WrongAcceptance(`the card is taken and its scene is none: ${(error as Error).message}`);
        }
        return true;
      },
    };
  },
};

/** Letters of one width. */
async function measure(texts: readonly TextQuestion[]): Promise<readonly TextSize[]> {
  return texts.map(({ text, role = 'body', width = Number.POSITIVE_INFINITY, lines = 1_000 }) => {
    const { size, line } = TYPE[role];
    const laid = layoutText(text, { width, lines }, (piece) => piece.length * size * 0.55);
    const widest = Math.max(0, ...laid.lines.map((one) => one.width));
    return { width: widest, height: laid.lines.length * line, lines: laid.lines.length, cut: laid.cut };
  });
}

const SCENARIO: Target = {
  name: 'scenario',
  form: 'value',
  words: ['do', 'expect', 'params', 'after', 'at', 'sim.heal', '*a', '&a', '!!', '---\n', '- '],
  async open() {
    const reader = new ScenarioReader(CONTROLS);
    return {
      seeds: seedFiles('plugins/hardware/simulator/scenarios/*.yaml'),
      run(bytes) {
        const { lines, text, ...scenario } = reader.read(bytes.toString('utf8'));
        if (lines.length !== scenario.steps.length) throw new WrongAcceptance('a step has no line');
        const again = reader.read(printScenario(scenario));
        // As JSON: a negative zero comes back as zero.
        if (JSON.stringify(again.steps) !== JSON.stringify(scenario.steps))
          throw new WrongAcceptance(`steps come back as others: ${JSON.stringify(again.steps)}`);
        return text.length > 0;
      },
    };
  },
};

const YAML_WORDS = ['*a', '&a ', '!!binary ', '---\n', '- ', '<<: ', '? ', '|\n', '__proto__', 'plugins', 'id'];

const PLUGIN_MANIFEST: Target = {
  name: 'plugin-manifest',
  cost: 3,
  form: 'value',
  words: YAML_WORDS,
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'fm-'));
    const file = join(folder, 'plugin.yaml');
    return {
      seeds: seedFiles('manifests/plugins/{hardware,voice}/*.yaml'),
      run(bytes) {
        writeFileSync(file, bytes);
        let refused = 0;
        const read = readManifest(file, 'plugin', () => {
          refused += 1;
        });
        if ((read === undefined) !== refused > 0) throw new WrongAcceptance(`${refused} problems, and ${typeof read}`);
        return read !== undefined;
      },
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true });
      },
    };
  },
};

const APP_MANIFEST: Target = {
  name: 'app-manifest',
  cost: 2,
  form: 'value',
  words: [...YAML_WORDS, 'capabilities', 'functions', 'exec', 'egress', 'runtime'],
  async open() {
    const reader = await AppManifestReader.load('1.0.0');
    return {
      seeds: seedFiles('docs/examples/*/app.yaml'),
      run(bytes) {
        reader.check(bytes.toString('utf8'), 'app.yaml');
        return true;
      },
    };
  },
};

const SKU: Target = {
  name: 'sku',
  cost: 6,
  form: 'value',
  words: [...YAML_WORDS, 'extends', 'grants', 'safeMode', 'auth', 'configuration', 'base.yaml', 'file.yaml'],
  async open() {
    const folder = mkdtempSync(join(tmpdir(), 'fs-'));
    cpSync(join(ROOT, 'manifests/skus'), folder, { recursive: true });
    const file = join(folder, 'file.yaml');
    return {
      seeds: seedFiles('manifests/skus/{gateway,safe-mode,speaker}.yaml'),
      run(bytes) {
        writeFileSync(file, bytes);
        return resolveSku(file).problems.length === 0;
      },
      async [Symbol.asyncDispose]() {
        rmSync(folder, { recursive: true });
      },
    };
  },
};

export const VALUES: readonly Target[] = [SCENE, PATCH, CARD, SCENARIO, PLUGIN_MANIFEST, APP_MANIFEST, SKU];
