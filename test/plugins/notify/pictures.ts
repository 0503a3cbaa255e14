/** What toasts and banners look like, over home and over an app. */
import { after, describe, it } from 'node:test';
import { DAY, NIGHT, type Scene } from '@device-core/plugin-api/scene';
import { LAYERS, type Surface } from '@device-core/plugin-api/services/renderer';
import { leakCheck } from '@device-core/plugin-api/testing';
import { drawScreen } from '../../../plugins/display/home/screens/index.ts';
import { bannerScene } from '../../../plugins/display/notify/banner-scene.ts';
import { LEVELS, type Level } from '../../../plugins/display/notify/request.ts';
import type { Drawing } from '../../../plugins/display/notify/stage.ts';
import { toastScene } from '../../../plugins/display/notify/toast-scene.ts';
import { surfaceOf } from '../../fixtures/glass.ts';
import { EVENING, FACTS } from '../../fixtures/home-facts.ts';
import { appSurface, homeSurface, type Measure, withMeasure } from '../../fixtures/measured.ts';
import { assertPicture, NO_PICTURES, painted } from '../../fixtures/pictures.ts';

after(leakCheck());

const ON_THE_GLASS = 2_000;
const TOASTS: Readonly<Record<Level, readonly [title: string, text: string]>> = {
  info: ['Agenda', 'Dentist at ten tomorrow, Park Street 4'],
  success: ['Photos', '128 pictures are saved'],
  warn: ['Garden', 'The soil of the tomatoes is dry. It has not rained for nine days, and none is in sight this week'],
  error: ['Doorbell', 'The camera does not answer'],
};

function over(layer: 'toast' | 'banner', { scene, box }: Drawing): Surface {
  return { ...surfaceOf(layer, [], { layer: LAYERS[layer] }), scene: scene as Scene, box };
}

function toast(display: Measure, level: Level, { count = 1, top = false } = {}): Promise<Drawing> {
  const [title, text] = TOASTS[level];
  const asked = { key: 'k', at: 0, count, version: 1, app: 'com.example.app', text, level };
  return toastScene(display, asked, { title, device: 'Device', entering: true, top });
}

describe('pictures of', { skip: NO_PICTURES }, () => {
  for (const level of LEVELS)
    for (const [where, theme] of [
      ['home', NIGHT],
      ['app', DAY],
    ] as const)
      it(`a toast ${level} over ${where}`, async () => {
        const surroundings = { theme };
        const surfaces = await withMeasure({ surroundings }, async (display) => [
          where === 'home' ? homeSurface() : await appSurface(display),
          over('toast', await toast(display, level, { count: level === 'info' ? 3 : 1, top: where === 'app' })),
        ]);
        await assertPicture(
          `notify/toast-${level}-${where}`,
          await painted(surfaces, { surroundings, at: ON_THE_GLASS }),
        );
      });

  const LOOKS = {
    night: {},
    day: { theme: DAY },
    large: { textScale: 2 },
    arabic: { locale: 'ar' },
  } as const;
  for (const [look, surroundings] of Object.entries(LOOKS))
    it(`a banner with progress and buttons, ${look}`, async () => {
      const banner = {
        key: 'k',
        at: 0,
        version: 1,
        app: 'com.example.kitchen',
        level: 'info' as const,
        progress: 0.62,
        text: 'Bread is in the oven: 18 minutes to go',
        buttons: [
          { id: 'more', title: '5 minutes more' },
          { id: 'stop', title: 'Stop' },
        ],
      };
      const surfaces = await withMeasure({ surroundings }, async (display) => [
        look === 'arabic' ? surfaceOf('home', [], { background: '@background' }) : homeSurface(),
        over(
          'banner',
          await bannerScene(display, banner, { title: 'Kitchen', device: 'Device', former: undefined, more: 0 }),
        ),
      ]);
      await assertPicture(`notify/banner-${look}`, await painted(surfaces, { surroundings, at: ON_THE_GLASS }));
    });

  const ASKED = {
    'error-home': [{ level: 'error', text: 'The camera of the front door does not answer' }, {}],
    'error-home-large': [{ level: 'error', text: 'No answer' }, { textScale: 1.5 }],
    'buttons-home': [
      { level: 'info', text: 'Bread is in the oven', progress: 0.62, buttons: [{ id: 'stop', title: 'Stop' }] },
      { theme: DAY },
    ],
  } as const;
  for (const [name, [look, surroundings]] of Object.entries(ASKED))
    it(`a banner over the clock: ${name}`, async () => {
      const showing = {
        id: 'k',
        kind: 'banner',
        title: 'Doorbell',
        at: EVENING,
        state: 'showing',
        count: 1,
        ...look,
      } as const;
      const banner = { key: 'k', at: 0, version: 1, app: 'com.example.doorbell', ...look };
      const view = { title: 'Doorbell', device: 'Device', former: undefined, more: 0 };
      const surfaces = await withMeasure({ surroundings }, async (display) => {
        const around = await display.surroundings();
        const drawing = { facts: { ...FACTS, notifications: [showing] }, surroundings: around, now: EVENING, page: 0 };
        const home = await drawScreen('home', drawing, (texts) => display.measure(texts));
        return [{ ...surfaceOf('home', []), scene: home }, over('banner', await bannerScene(display, banner, view))];
      });
      await assertPicture(`notify/banner-${name}`, await painted(surfaces, { surroundings, at: ON_THE_GLASS }));
    });
});
