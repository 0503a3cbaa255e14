/** What holds of every screen of the device, at any text size, in any language and theme. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { describeScene, GRID, nodesOf, THEMES } from '@device-core/plugin-api/scene';
import fc from 'fast-check';
import { drawRinging, drawScreen, SCREENS, type ScreenName } from '../../../plugins/display/home/screens/index.ts';
import { LANGUAGES } from '../../../plugins/display/home/strings/index.ts';
import { FakeDisplay, SURROUNDINGS } from '../../fixtures/fake-display.ts';
import { EVENING, FACTS } from '../../fixtures/home-facts.ts';
import { runs } from '../../fixtures/runs.ts';
import { assertUsable, targets } from '../../fixtures/targets.ts';

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
      kind: fc.constantFrom('offline', 'failed', 'setting', 'app', 'wifi'),
      code: fc.constantFrom('failed', 'STATE_UNWRITABLE'),
      what: text,
    }),
    { nil: undefined },
  ),
  microphone: fc.constantFrom('on', 'off', 'none'),
  wifi: fc.option(
    fc.array(
      fc.record({
        ssid: text,
        signal: fc.double({ min: 0, max: 1, noNaN: true }),
        security: fc.constantFrom('open', 'wpa', 'wpa3', 'enterprise', 'wep'),
        known: fc.boolean(),
        joined: fc.boolean(),
      }),
      { maxLength: 20 },
    ),
    { nil: undefined },
  ),
  chosen: fc.option(fc.record({ ssid: text, busy: fc.boolean() }), { nil: undefined }),
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
        assertUsable(scene, screen);
      }),
      { numRuns: runs(600) },
    );
  });

  test('has the same where a timer rings, however many and long they are', async () => {
    const timer = fc.record({ id: fc.uuid(), at: fc.nat(2 * EVENING), seconds: fc.integer({ min: 1, max: 86_400 }) });
    const given = fc.record({
      timers: fc.array(timer, { minLength: 1, maxLength: 20 }),
      textScale: fc.constantFrom(1, 1.25, 1.5, 2),
      locale: fc.constantFrom('en-US', 'de-DE', 'fr', 'ar', 'he'),
      theme: fc.constantFrom(...THEMES),
    });
    await fc.assert(
      fc.asyncProperty(given, async ({ timers, ...around }) => {
        const display = new FakeDisplay();
        const surroundings = { ...SURROUNDINGS, ...around };
        display.surroundings = surroundings;
        const scene = await drawRinging(timers, surroundings, (texts) => display.service.measure(texts));
        assertUsable(scene, 'ringing');
        const stop = targets(scene.nodes).find(({ tap }) => tap === 'ring.stop');
        const texts = [...nodesOf(scene.nodes)].filter(({ kind, w }) => kind === 'text' && (w ?? 0) > 600);
        for (const { y = 0, h = 0 } of texts) assert.ok(y >= 0 && y + h <= (stop?.y ?? 0), 'no text under a button');
        assert.ok(stop && (stop.w ?? 0) >= 2 * GRID.target && (stop.h ?? 0) >= GRID.target);
      }),
      { numRuns: runs(100) },
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
