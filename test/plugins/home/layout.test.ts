/** What holds of every screen of the device, at any text size, in any language and theme. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import {
  checkScene,
  describeScene,
  hitTest,
  PANEL_UNITS,
  SCENE_LIMITS,
  type SceneNode,
  THEMES,
  unnamed,
} from '@device-core/plugin-api/scene';
import fc from 'fast-check';
import { drawScreen, SCREENS, type ScreenName } from '../../../plugins/display/home/screens/index.ts';
import { LANGUAGES } from '../../../plugins/display/home/strings/index.ts';
import { FakeDisplay, SURROUNDINGS } from '../../fixtures/fake-display.ts';
import { EVENING, FACTS } from '../../fixtures/home-facts.ts';
import { runs } from '../../fixtures/runs.ts';

interface Box {
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
  readonly tap: string;
}

function targets(nodes: readonly SceneNode[], left = 0, top = 0): readonly Box[] {
  return nodes.flatMap((node) => {
    const box = { x: left + (node.x ?? 0), y: top + (node.y ?? 0), w: node.w ?? 0, h: node.h ?? 0 };
    const own = node.tap === undefined ? [] : [{ ...box, tap: node.tap }];
    return node.kind === 'group' ? [...own, ...targets(node.nodes, box.x, box.y)] : own;
  });
}

const overlap = (one: Box, other: Box): boolean =>
  one.x < other.x + other.w && other.x < one.x + one.w && one.y < other.y + other.h && other.y < one.y + one.h;

const names = Object.keys(SCREENS) as ScreenName[];
const text = fc.constantFrom(
  'a',
  'Dentist at half past eight',
  'Feuerwehrhauptmann '.repeat(8),
  'مرحبا بالعالم',
  '{x} {time',
  '12',
);
const facts = fc.record({
  notifications: fc
    .array(fc.record({ title: text, text, level: fc.constantFrom('info', 'success', 'warn', 'error') }), {
      maxLength: 12,
    })
    .map((all) =>
      all.map((one, index) => ({
        ...one,
        id: `n${index}`,
        kind: 'toast' as const,
        at: EVENING,
        state: 'shown' as const,
        count: index,
      })),
    ),
  apps: fc
    .array(text, { maxLength: 20 })
    .map((all) => all.map((title, index) => ({ id: `a${index}`, title, running: true }))),
  timers: fc
    .array(fc.nat(1e8), { maxLength: 5 })
    .map((all) => all.map((ms, index) => ({ id: `t${index}`, at: EVENING + ms, seconds: 1 }))),
  problem: fc.option(
    fc.record({
      kind: fc.constantFrom('offline', 'failed', 'setting', 'app'),
      code: fc.constantFrom('failed', 'STATE_UNWRITABLE'),
      what: text,
    }),
    { nil: undefined },
  ),
  microphone: fc.constantFrom('on', 'off', 'none'),
});

suite('every screen of the device', () => {
  test('has targets of a finger, inside of the panel and none over another, and a name for each', async () => {
    const given = fc.record({
      screen: fc.constantFrom(...names),
      facts,
      textScale: fc.constantFrom(1, 1.25, 1.5, 2),
      locale: fc.constantFrom('en-US', 'de-DE', 'fr', 'ar', 'he'),
      theme: fc.constantFrom(...THEMES),
      page: fc.nat(9),
    });
    await fc.assert(
      fc.asyncProperty(given, async ({ screen, facts: some, textScale, locale, theme, page }) => {
        const display = new FakeDisplay();
        const surroundings = { ...SURROUNDINGS, textScale, locale, theme };
        display.surroundings = surroundings;
        const shown = JSON.parse(JSON.stringify({ ...FACTS, ...some }));
        const scene = await drawScreen(screen, { facts: shown, surroundings, now: EVENING, page }, (texts) =>
          display.service.measure(texts),
        );
        checkScene(scene, screen);
        assert.deepEqual(unnamed(scene), []);
        const all = targets(scene.nodes);
        for (const [index, box] of all.entries()) {
          const said = `${screen}: ${JSON.stringify(box)}`;
          assert.ok(box.w >= SCENE_LIMITS.target && box.h >= SCENE_LIMITS.target, `too small: ${said}`);
          assert.ok(
            box.x >= 0 && box.y >= 0 && box.x + box.w <= PANEL_UNITS && box.y + box.h <= PANEL_UNITS,
            `outside: ${said}`,
          );
          for (const other of all.slice(index + 1))
            assert.ok(!overlap(box, other), `${said} is over ${JSON.stringify(other)}`);
          assert.equal(hitTest(scene, box.x + box.w / 2, box.y + box.h / 2)?.tap, box.tap);
        }
      }),
      { numRuns: runs(600) },
    );
  });

  for (const screen of names)
    test(`${screen} says what it is, and leads back`, async () => {
      const display = new FakeDisplay();
      const scene = await drawScreen(
        screen,
        { facts: FACTS, surroundings: SURROUNDINGS, now: EVENING, page: 0 },
        (texts) => display.service.measure(texts),
      );
      const said = describeScene(scene, { now: EVENING, locale: 'en', timeZone: 'UTC' });
      assert.ok((said[0] ?? '').length > 2);
      assert.equal(
        targets(scene.nodes).some(({ tap }) => tap === 'back'),
        screen !== 'home',
      );
    });

  test('has its words in each language', () => {
    const leaves = (value: unknown, at = ''): readonly string[] =>
      typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.entries(value).flatMap(([key, inner]) => leaves(inner, `${at}.${key}`))
        : [at];
    const wanted = new Set(leaves(LANGUAGES.en));
    for (const [language, strings] of Object.entries(LANGUAGES))
      assert.deepEqual(new Set(leaves(strings)), wanted, language);
  });
});
