/** What a card looks like, and what holds of every card at any text size, in either direction. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  type Card,
  checkCard,
  checkScene,
  describeScene,
  layoutText,
  type Scene,
  THEMES,
  TYPE,
} from '@device-core/plugin-api/scene';
import type { TextQuestion, TextSize } from '@device-core/plugin-api/services/renderer';
import fc from 'fast-check';
import { cardScene, turnedPage } from '../../../plugins/display/shared/cards/index.ts';
import { runs } from '../../fixtures/runs.ts';
import { assertUsable, targets } from '../../fixtures/targets.ts';

/** Letters of one width: what holds must not hang on a font. */
const measure =
  (textScale: number) =>
  async (texts: readonly TextQuestion[]): Promise<readonly TextSize[]> =>
    texts.map(({ text, role = 'body', width, lines }) => {
      const { size, line } = TYPE[role];
      const bounds = { ...(width === undefined ? {} : { width }), lines: lines ?? 1_000 };
      const laid = layoutText(text, bounds, (piece) => piece.length * size * textScale * 0.55);
      return {
        width: Math.max(0, ...laid.lines.map((one) => one.width)),
        height: laid.lines.length * line * textScale,
        lines: laid.lines.length,
        cut: laid.cut,
      };
    });

const NOW = 1_795_376_460_000;
const theme = THEMES[0]!;
const seen = (card: Card, { textScale = 1, locale = 'en', page = 0 } = {}): Promise<Scene> =>
  cardScene(card, { theme, textScale, locale, page, now: NOW, measure: measure(textScale) });

const words = fc.array(
  fc.constantFrom('a', 'light', 'Wohnzimmer', 'Feuerwehrhauptmann', 'مرحبا', 'בוקר', '{', '{time}', '12:30'),
  {
    minLength: 1,
    maxLength: 4,
  },
);
const line = (units: number) => words.map((all) => all.join(' ').slice(0, units));
const long = fc.array(words, { minLength: 1, maxLength: 30 }).map((all) => all.flat().join(' ').slice(0, 2_000));
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const plain = (text: string) => text.replaceAll(/[{}]/g, '');
const title = line(60)
  .map(plain)
  .filter((text) => text.trim() !== '');
const actions = maybe(
  fc
    .array(title, { maxLength: 2 })
    .map((titles) =>
      titles.map((one, index) => ({ id: `a${index}`, title: one, ...(index === 1 ? { primary: true } : {}) })),
    ),
);
const base = { title: maybe(line(200).map(plain)), icon: maybe(fc.constant('icons/sun.png')), actions };
const ids = fc.constantFrom('a', 'b', 'c');
const card: fc.Arbitrary<Card> = fc
  .oneof(
    fc.record({
      ...base,
      template: fc.constant('text'),
      value: maybe(line(24).map(plain)),
      body: maybe(long.map(plain)),
    }),
    fc.record({
      ...base,
      template: fc.constant('list'),
      items: fc.array(
        fc.record({
          id: maybe(ids),
          title,
          body: maybe(line(200).map(plain)),
          icon: base.icon,
          value: maybe(line(40).map(plain)),
        }),
        { maxLength: 50 },
      ),
    }),
    fc.record({
      ...base,
      template: fc.constant('choice'),
      body: maybe(long.map(plain)),
      options: fc
        .array(title, { minLength: 2, maxLength: 8 })
        .map((titles) => titles.map((one, index) => ({ id: `o${index}`, title: one }))),
    }),
    fc.record({
      ...base,
      template: fc.constant('image'),
      image: fc.constant('a.png'),
      label: title,
      caption: maybe(line(200).map(plain)),
    }),
    fc.record({
      ...base,
      template: fc.constant('progress'),
      progress: maybe(fc.double({ min: 0, max: 1, noNaN: true })),
      body: maybe(long.map(plain)),
    }),
    fc.record({
      ...base,
      template: fc.constant('media'),
      playing: fc.boolean(),
      artist: maybe(title),
      image: maybe(fc.constant('a.png')),
      positionMs: maybe(fc.integer({ min: 0, max: 1e9 })),
      durationMs: maybe(fc.integer({ min: 0, max: 1e9 })),
      controls: maybe(fc.uniqueArray(fc.constantFrom('previous', 'play', 'pause', 'next'), { maxLength: 3 })),
    }),
    fc.record({
      ...base,
      template: fc.constant('timer'),
      until: fc.integer({ min: 0, max: 2 * NOW }),
      durationMs: maybe(fc.integer({ min: 0, max: 1e9 })),
      body: maybe(long.map(plain)),
    }),
  )
  .map((shape) => checkCard(JSON.parse(JSON.stringify({ card: 1, ...shape })), 'a card'));

suite('the scene of a card', () => {
  test('no target is smaller than a finger, outside, or over another: any card, text size, direction and page', async () => {
    const options = fc.record({
      textScale: fc.constantFrom(1, 1.25, 1.5, 2),
      locale: fc.constantFrom('en', 'de-DE', 'fr', 'ar', 'he'),
      page: fc.nat(60),
    });
    await fc.assert(
      fc.asyncProperty(card, options, async (shape, given) => assertUsable(await seen(shape, given), shape.template)),
      { numRuns: runs(1_000) },
    );
  });

  test('every row of a list is on one page, and the pages lead to each other by taps and swipes', async () => {
    const items = Array.from({ length: 50 }, (_, index) => ({ id: `i${index}`, title: `Thing ${index}` }));
    const found: string[] = [];
    let page: number | undefined = 0;
    let pages = 0;
    while (page !== undefined) {
      const scene: Scene = await seen({ card: 1, template: 'list', items }, { page });
      const taps = targets(scene.nodes).map(({ tap }) => tap);
      found.push(...taps.filter((tap) => tap.startsWith('i')));
      const further = turnedPage(scene, { phase: 'swipe', direction: 'up' });
      if (page > 0) assert.equal(turnedPage(scene, { phase: 'swipe', direction: 'down' }), page - 1);
      else assert.equal(turnedPage(scene, { phase: 'swipe', direction: 'down' }), undefined);
      if (further !== undefined)
        assert.equal(turnedPage(scene, { phase: 'tap', tap: `card.page.${further}` }), further);
      page = further;
      pages += 1;
    }
    assert.deepEqual(
      found,
      items.map(({ id }) => id),
    );
    assert.ok(pages >= 8 && pages <= 12, `${pages} pages`);
  });

  test('a text of many lines is turned without losing a line', async () => {
    const body = Array.from({ length: 120 }, (_, index) => `word${index}`).join(' ');
    const first = await seen({ card: 1, template: 'text', title: 'Long', body });
    const last = await seen({ card: 1, template: 'text', title: 'Long', body }, { page: 99 });
    const top = (scene: Scene) => {
      const window = scene.nodes.find(({ id }) => id === 'card-window');
      assert.ok(window?.kind === 'group' && window.clip === true);
      return { y: window.nodes[0]?.y ?? 0, h: window.h ?? 0, whole: window.nodes[0]?.h ?? 0 };
    };
    assert.equal(top(first).y, -0);
    assert.ok(-top(last).y < top(last).whole && -top(last).y + top(last).h >= top(last).whole);
    assert.equal(turnedPage(last, { phase: 'swipe', direction: 'up' }), undefined);
  });

  test('a screen of a language that runs to the left is the mirror of the other, but a player is not', async () => {
    const list: Card = {
      card: 1,
      template: 'list',
      title: 'Heute',
      items: [{ id: 'a', title: 'Zahnarzt', value: '08:30' }],
    };
    const player: Card = { card: 1, template: 'media', playing: true, controls: ['previous', 'pause', 'next'] };
    const places = async (shape: Card, locale: string) =>
      targets((await seen(shape, { locale })).nodes).map(({ x, w, tap }) => ({ tap, x, w }));
    assert.deepEqual(await places(list, 'ar'), await places(list, 'de'));
    const value = async (locale: string) => {
      const row = (await seen(list, { locale })).nodes.find(({ tap }) => tap === 'a');
      assert.ok(row?.kind === 'group');
      return row.nodes.find((node) => node.kind === 'text' && node.text === '08:30');
    };
    const [right, left] = [await value('de'), await value('ar')];
    assert.equal(left?.x, 624 - (right?.x ?? 0) - (right?.w ?? 0));
    const order = (shape: readonly { tap: string; x: number }[]) =>
      [...shape].sort((a, b) => a.x - b.x).map(({ tap }) => tap);
    for (const locale of ['de', 'ar'])
      assert.deepEqual(order(await places(player, locale)), ['previous', 'pause', 'next']);
  });

  test('a timer is counted and its ring closed by the screen alone, without figures in part', async () => {
    for (const textScale of [1, 1.25, 1.5, 2]) {
      const scene = await seen(
        { card: 1, template: 'timer', title: 'Tea', until: NOW + 120_000, durationMs: 240_000 },
        { textScale },
      );
      assert.deepEqual(scene.timelines, [
        { node: 'card-ring', property: 'sweep', from: 180, to: 0, ms: 120_000, ease: 'linear' },
      ]);
      const figure = scene.nodes.find((node) => node.kind === 'text' && node.text.startsWith('{countdown'));
      assert.ok(figure?.kind === 'text');
      assert.ok(5 * (figure.size ?? 0) * textScale * 0.55 <= 420, `${figure.size} at ${textScale}`);
    }
    const over = await seen({ card: 1, template: 'timer', until: NOW - 1, durationMs: 240_000 });
    assert.equal(over.timelines, undefined);
  });

  test('progress is a binding, and goes round for work of unknown length', async () => {
    const known = await seen({ card: 1, template: 'progress', title: 'Coffee', progress: 0.25 });
    const world = { now: NOW, locale: 'en', timeZone: 'UTC' };
    assert.deepEqual(describeScene(known, world), ['Coffee', '25%']);
    const unknown = await seen({ card: 1, template: 'progress', title: 'Kaffee' }, { locale: 'de' });
    assert.deepEqual(describeScene(unknown, world), ['Kaffee', 'Arbeitet']);
    assert.equal(unknown.timelines?.[0]?.repeat, 0);
  });

  test('the label of a row is all of it; braces without a binding are braces', async () => {
    const scene = await seen({
      card: 1,
      template: 'list',
      title: 'Today',
      items: [{ id: 'a', title: 'Dentist', body: 'Main street', value: '08:30' }],
    });
    assert.deepEqual(describeScene(scene, { now: NOW, locale: 'en', timeZone: 'UTC' }), [
      'Today',
      '[Dentist, Main street, 08:30]',
    ]);
    const braces = await seen({
      card: 1,
      template: 'choice',
      options: [
        { id: 'a', title: '{x}' },
        { id: 'b', title: 'b' },
      ],
    });
    checkScene(braces, 'a scene');
    assert.ok(JSON.stringify(braces).includes('{{x}'));
  });
});

test('a card with less than a millisecond left is a scene that the device takes', async () => {
  const cards: readonly Card[] = [
    { card: 1, template: 'media', title: 'Song', playing: true, durationMs: 0.5 },
    { card: 1, template: 'timer', until: NOW + 0.5, durationMs: 60_000 },
  ];
  for (const card of cards) {
    const scene = checkScene(await seen(checkCard(card, 'the card')), 'the scene');
    assert.deepEqual(scene.timelines ?? [], []);
  }
});
