/** What people see, looked at by whoever built it: DEVICE_PICTURES=write writes them anew. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, suite, test } from 'node:test';
import { type Card, CONTRAST, DAY } from '@device-core/plugin-api/scene';
import type { Alarm } from '@device-core/plugin-api/services/alarms';
import { leakCheck } from '@device-core/plugin-api/testing';
import { drawScreen, type ScreenName } from '../../../plugins/display/home/screens/index.ts';
import { SURROUNDINGS } from '../../fixtures/glass.ts';
import {
  cardPicture,
  EVENING,
  FACTS,
  ringingPicture,
  type ScreenOptions,
  screenPicture,
} from '../../fixtures/home-screens.ts';
import { withMeasure } from '../../fixtures/measured.ts';
import { assertPicture, NO_PICTURES, type Picture, pixelsOf, pngOf, sideBySide } from '../../fixtures/pictures.ts';

after(leakCheck());

const large: ScreenOptions = { surroundings: { textScale: 2 } };
const ALARMS: readonly Alarm[] = [
  {
    id: 'a',
    kind: 'alarm',
    time: '06:30',
    days: ['mon', 'tue', 'wed', 'thu', 'fri'],
    on: true,
    next: EVENING + 38_940_000,
  },
  { id: 'b', kind: 'reminder', time: '17:00', text: 'Water the plants', on: true, next: EVENING + 76_740_000 },
];
const SCREENS: readonly (readonly [name: string, screen: ScreenName, options?: ScreenOptions])[] = [
  ['home-night', 'home'],
  ['home-day', 'home', { surroundings: { theme: DAY } }],
  ['home-contrast', 'home', { surroundings: { theme: CONTRAST } }],
  ['home-large', 'home', large],
  ['home-timer', 'home', { facts: { notifications: [], timers: [{ id: 't', at: EVENING + 437_000, seconds: 600 }] } }],
  ['home-alarm', 'home', { facts: { notifications: [], alarms: ALARMS } }],
  ['alarms', 'timers', { facts: { alarms: ALARMS }, surroundings: { theme: DAY, locale: 'de-DE' } }],
  ['launcher', 'apps'],
  ['launcher-large', 'apps', large],
  ['notifications', 'notifications'],
  ['notifications-large', 'notifications', large],
  ['settings', 'settings'],
  ['settings-day', 'settings', { surroundings: { theme: DAY, locale: 'de-DE' } }],
  ['settings-large', 'settings', large],
  ['settings-right-to-left', 'settings', { surroundings: { locale: 'ar' } }],
  ['display', 'look', { surroundings: { theme: DAY } }],
  ['display-large', 'look', large],
  ['display-large-end', 'look', { ...large, page: 2 }],
  ['privacy', 'privacy'],
  ['privacy-contrast', 'privacy', { surroundings: { theme: CONTRAST } }],
  ['departures', 'departures'],
  ['timers', 'timers', { facts: { timers: [{ id: 't', at: EVENING + 437_000, seconds: 600 }] } }],
  ['offline', 'problem', { facts: { problem: { kind: 'offline', code: 'NETWORK_UNREACHABLE' } } }],
  [
    'error',
    'problem',
    { facts: { problem: { kind: 'failed', code: 'failed', what: 'nfc' } }, surroundings: { theme: DAY } },
  ],
  ['pairing', 'pairing', { facts: { pairing: { url: 'http://127.0.0.1:55280/ui/#code=ABCD-EFGH', until: 0 } } }],
];

const CARDS: Readonly<Record<string, Card>> = {
  text: {
    card: 1,
    template: 'text',
    title: 'Living room',
    value: '21.5 °C',
    body: 'A little warmer than yesterday. The heating is off until six in the evening.',
  },
  list: {
    card: 1,
    template: 'list',
    title: 'Tomorrow',
    items: [
      { id: 'a', title: 'Dentist', body: 'Schillerstraße 12', value: '08:30' },
      { id: 'b', title: 'Stand-up', value: '10:00' },
      { id: 'c', title: 'Lunch with Maria', body: 'The small place by the river', value: '12:30' },
      { id: 'd', title: 'Train to Hamburg', body: 'Platform 7', value: '17:05' },
      { id: 'e', title: 'Call home', value: '20:00' },
    ],
  },
  choice: {
    card: 1,
    template: 'choice',
    title: 'Which light?',
    options: ['Kitchen', 'Bedroom', 'Hall', 'Study'].map((title) => ({ id: title.toLowerCase(), title })),
  },
  image: {
    card: 1,
    template: 'image',
    title: 'Front door',
    image: 'photo.png',
    label: 'The evening sky',
    caption: 'Somebody rang a minute ago.',
    actions: [
      { id: 'ignore', title: 'Ignore' },
      { id: 'open', title: 'Open', primary: true },
    ],
  },
  progress: {
    card: 1,
    template: 'progress',
    title: 'Coffee',
    progress: 0.62,
    body: 'Two cups, strong',
    actions: [{ id: 'stop', title: 'Stop' }],
  },
  media: {
    card: 1,
    template: 'media',
    title: 'Blue in Green',
    artist: 'Miles Davis',
    image: 'photo.png',
    playing: true,
    positionMs: 84_000,
    durationMs: 337_000,
    controls: ['previous', 'play', 'pause'],
  },
  timer: {
    card: 1,
    template: 'timer',
    title: 'Pasta',
    until: EVENING + 437_000,
    durationMs: 600_000,
    actions: [{ id: 'stop', title: 'Stop', primary: true }],
  },
};

/** An evening sky, made here. */
async function photo(): Promise<Uint8Array> {
  const [width, height] = [312, 156];
  const data = new Uint8ClampedArray(width * height * 4);
  for (let y = 0; y < height; y += 1)
    for (let x = 0; x < width; x += 1) {
      const low = y / height;
      const hill = y > 108 + 22 * Math.sin(x / 47) + 8 * Math.sin(x / 13);
      const sun = Math.hypot(x - 214, y - 84) < 26;
      data.set(
        hill ? [32, 30, 58, 255] : sun ? [255, 214, 150, 255] : [70 + 175 * low, 60 + 70 * low, 120 - 10 * low, 255],
        (y * width + x) * 4,
      );
    }
  return await pngOf({ width, height, data });
}

suite('screens of the device', { skip: NO_PICTURES }, () => {
  for (const [name, screen, options] of SCREENS)
    test(name, async () => assertPicture(`home/${name}`, await screenPicture(screen, options)));

  for (const locale of ['en', 'de', 'fr'])
    test(`display is three pages of the largest letters, in ${locale}`, async () => {
      const surroundings = { ...SURROUNDINGS, textScale: 2, locale };
      const pages = await withMeasure({ surroundings }, (display) =>
        Promise.all(
          [0, 1, 2, 3, 4].map((page) =>
            drawScreen('look', { facts: FACTS, surroundings, now: EVENING, page }, (texts) => display.measure(texts)),
          ),
        ),
      );
      assert.equal(new Set(pages.map((scene) => JSON.stringify(scene))).size, 3);
    });

  const rang = { id: 't', at: EVENING - 12_000, seconds: 300 };
  for (const [name, timers, around] of [
    ['ringing', [rang], {}],
    ['ringing-day', [rang, { ...rang, id: 'u', seconds: 5_400 }], { theme: DAY, locale: 'de-DE' }],
    ['ringing-large', [rang], { textScale: 2 }],
    ['ringing-large-right-to-left', [rang], { textScale: 2, locale: 'ar', theme: CONTRAST }],
  ] as const)
    test(name, async () => assertPicture(`home/${name}`, await ringingPicture(timers, around)));
  for (const [name, alarm, around] of [
    ['ringing-alarm', { kind: 'alarm' }, {}],
    [
      'ringing-reminder',
      { kind: 'reminder', text: 'Die Pflanzen im Wohnzimmer gießen' },
      { theme: DAY, locale: 'de-DE' },
    ],
  ] as const)
    test(name, async () =>
      assertPicture(`home/${name}`, await ringingPicture([], around, [{ id: 'a', at: EVENING, ...alarm }])),
    );
});

suite('cards', { skip: NO_PICTURES }, () => {
  for (const [name, card] of Object.entries(CARDS)) {
    test(name, async () =>
      assertPicture(`cards/${name}`, await cardPicture(card, { images: new Map([['photo.png', await photo()]]) })),
    );
  }
  for (const [name, locale, textScale] of [
    ['list', 'en', 2],
    ['choice', 'ar', 1.5],
    ['media', 'ar', 1],
  ] as const) {
    const said = `${name}-${textScale}${locale === 'ar' ? '-right-to-left' : ''}`;
    test(said, async () => {
      const images = new Map([['photo.png', await photo()]]);
      await assertPicture(
        `cards/${said}`,
        await cardPicture(CARDS[name] as Card, { images, surroundings: { textScale, locale, theme: DAY } }),
      );
    });
  }
});

suite('pictures of the documents', { skip: NO_PICTURES }, () => {
  const night = (screen: ScreenName, options?: ScreenOptions) => screenPicture(screen, options);
  const cases: Readonly<Record<string, () => Promise<readonly Picture[]>>> = {
    home: async () => [
      await night('home'),
      await night('home', { surroundings: { theme: DAY } }),
      await night('settings'),
      await night('notifications', { surroundings: { theme: DAY } }),
    ],
    cards: async () => {
      const images = new Map([['photo.png', await photo()]]);
      return await Promise.all(
        Object.values(CARDS).map((card, index) =>
          cardPicture(card, { images, surroundings: index % 2 === 1 ? { theme: DAY } : {} }),
        ),
      );
    },
  };
  for (const [name, pictures] of Object.entries(cases))
    test(`${name} shows what the device shows now`, async () => {
      const file = join(import.meta.dirname, `../../../docs/pictures/${name}.png`);
      const all = await pictures();
      const png = await sideBySide(
        all.map((one) => one.png),
        4,
        360,
      );
      if (process.env.DEVICE_PICTURES === 'write') {
        mkdirSync(dirname(file), { recursive: true });
        writeFileSync(file, png);
        return;
      }
      assert.ok(existsSync(file), `there is no docs/pictures/${name}.png; DEVICE_PICTURES=write writes it`);
      const [is, was] = [await pixelsOf(png), await pixelsOf(readFileSync(file))];
      assert.deepEqual([is.width, is.height], [was.width, was.height]);
      let differing = 0;
      for (let at = 0; at < is.data.length; at += 4)
        if ([0, 1, 2].some((channel) => Math.abs((is.data[at + channel] ?? 0) - (was.data[at + channel] ?? 0)) > 64))
          differing += 1;
      assert.ok(
        differing * 4 <= is.data.length / 100,
        `${differing} pixels differ; DEVICE_PICTURES=write writes it anew`,
      );
    });
});
