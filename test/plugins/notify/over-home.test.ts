/** A banner over home: time and day stand below it whole, or not at all. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { nodesOf, type Scene } from '@device-core/plugin-api/scene';
import type { Notification } from '@device-core/plugin-api/services/display';
import { drawScreen } from '../../../plugins/display/home/screens/index.ts';
import { bannerScene } from '../../../plugins/display/notify/banner-scene.ts';
import { FakeDisplay, SURROUNDINGS } from '../../fixtures/fake-display.ts';
import { EVENING, FACTS } from '../../fixtures/home-facts.ts';
import { assertUsable } from '../../fixtures/targets.ts';

const SHORT = 'The oven is hot';
const LONG = 'The camera of the front door does not answer, and its battery was low an hour ago '.repeat(3);
const TWO = ['Stop', '5 minutes more'].map((title, index) => ({ id: `${index}`, title }));
const BANNERS = {
  'one line': { text: SHORT },
  'a long text': { text: LONG },
  'with progress': { text: SHORT, progress: 0.4 },
  'with buttons': { text: LONG, progress: 0.4, buttons: TWO },
  'with one button': { text: SHORT, buttons: TWO.slice(0, 1) },
};

suite('a banner over home', () => {
  for (const [name, look] of Object.entries(BANNERS))
    for (const textScale of [1, 1.25, 1.5, 2])
      for (const locale of ['en-US', 'de-DE', 'ar'])
        test(`${name}, text scale ${textScale}, ${locale}`, async () => {
          const display = new FakeDisplay();
          const surroundings = { ...SURROUNDINGS, textScale, locale };
          display.surroundings = surroundings;
          const { service } = display;
          const banner = { key: 'k', at: 0, version: 1, level: 'error', ...look } as const;
          const view = { title: 'Doorbell', device: 'Device', former: undefined, more: 0 };
          const { scene, box } = await bannerScene(service, banner, view);
          const card = [...nodesOf((scene as Scene).nodes)].find(({ id }) => id === 'card');
          const end = box.y + 8 + (card?.h ?? 0);
          const showing: Notification = {
            id: 'k',
            kind: 'banner',
            title: 'Doorbell',
            level: 'error',
            at: EVENING,
            state: 'showing',
            count: 1,
            ...look,
          };
          const facts = { ...FACTS, notifications: [showing] };
          const home = await drawScreen('home', { facts, surroundings, now: EVENING, page: 0 }, (texts) =>
            service.measure(texts),
          );
          assertUsable(home, 'home');
          const texts = [...nodesOf(home.nodes)].filter(
            (node) => node.kind === 'text' && /^\{(time|date)/.test(node.text),
          );
          for (const { y = 0, h = 0 } of texts) assert.ok(y >= end && y + h <= 720 - 40 - 88, `${y} + ${h}, ${end}`);
          // Large letters fill the panel; at the plain size the time is always seen.
          if (textScale === 1) assert.ok(texts.length >= (name === 'with buttons' ? 1 : 2));
        });

  test('that waits or is over takes no place', async () => {
    const display = new FakeDisplay();
    const clock = async (state: 'waiting' | 'showing' | 'dismissed') => {
      const one = { id: 'k', kind: 'banner', title: 'a', text: 'b', level: 'info', at: 0, count: 1, state } as const;
      const drawing = { facts: { ...FACTS, notifications: [one] }, surroundings: SURROUNDINGS, now: EVENING, page: 0 };
      const { nodes } = await drawScreen('home', drawing, (texts) => display.service.measure(texts));
      return [...nodesOf(nodes)].find((node) => node.kind === 'text')?.y;
    };
    assert.deepEqual([await clock('waiting'), await clock('dismissed')], [40, 40]);
    assert.ok(((await clock('showing')) ?? 0) > 180);
  });
});
