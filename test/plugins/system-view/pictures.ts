/** What the system shows, and what stands in for letters that no font of the device has. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { DAY, type Rect, type Scene } from '@device-core/plugin-api/scene';
import type { Prompt } from '@device-core/plugin-api/services/prompts';
import { LAYERS, type Surface } from '@device-core/plugin-api/services/renderer';
import { leakCheck } from '@device-core/plugin-api/testing';
import { goodbyeScene, safeModeScene } from '../../../plugins/display/system-view/pages.ts';
import { promptScene } from '../../../plugins/display/system-view/prompt-scene.ts';
import { CORNER, type Ear, earScene, noticeScene } from '../../../plugins/display/system-view/signs.ts';
import { stringsOf } from '../../../plugins/display/system-view/strings/index.ts';
import { OPTIONAL, without } from '../../fixtures/debian.ts';
import { surfaceOf } from '../../fixtures/glass.ts';
import { homeSurface, type Measure, withMeasure } from '../../fixtures/measured.ts';
import { assertPicture, NO_PICTURES, painted, pngOf } from '../../fixtures/pictures.ts';
import { AROUND, soft } from '../render-soft/soft.ts';
import { item, question } from './fixture.ts';

after(leakCheck());

/** Of the machine: the Core ships letters of Latin, Greek and Cyrillic. */
const [ARABIC] = OPTIONAL['fonts-dejavu-core'].files;
const EN = stringsOf('en');
const NOON = Date.UTC(2024, 4, 9, 12, 0);
const TITLE = 'مدير المواعيد والتذكيرات الذكي لجميع أفراد العائلة';

const ASKED: Partial<Prompt> = {
  until: NOON,
  what: [
    item('network.outbound:api.example.com', {
      summary: 'reach one host on the internet',
      params: { ports: [443] },
      reason: 'to fetch your appointments',
    }),
    item('audio.capture', {
      summary: 'hear the microphone',
      reason: 'so that you can dictate an appointment',
      optional: true,
    }),
  ],
};

function over(layer: 'prompt' | 'system', id: string, scene: Scene, box?: Rect): Surface {
  return { ...surfaceOf(id, [], { layer: LAYERS[layer] }), scene, ...(box && { box }) };
}

async function asked(display: Measure, more: Partial<Prompt> = {}): Promise<readonly Surface[]> {
  const look = { page: 0, off: new Set<string>(), armed: true };
  const { scene } = await promptScene(display, question('q', { ...ASKED, ...more }), look);
  return [
    homeSurface(),
    over('prompt', 'prompt', scene),
    over('system', 'capture', earScene({ state: 'heard', by: ['Voice'] }, EN), CORNER),
  ];
}

describe('pictures of', { skip: NO_PICTURES }, () => {
  const PROMPTS = {
    consent: {},
    'consent-day': { theme: DAY },
    'consent-large': { textScale: 2 },
    'consent-german-large': { locale: 'de', textScale: 1.25 },
    'consent-mirrored': { locale: 'ar' },
  } as const;
  for (const [name, surroundings] of Object.entries(PROMPTS))
    it(`a question: ${name}`, async () => {
      const surfaces = await withMeasure({ surroundings }, (display) => asked(display));
      await assertPicture(`system-view/${name}`, await painted(surfaces, { surroundings, at: 2_000 }));
    });

  for (const [name, surroundings] of Object.entries({
    'confirm-install': {},
    'confirm-install-large': { textScale: 2 },
  }))
    it(`an act that a person confirms: ${name}`, async () => {
      const more: Partial<Prompt> = {
        kind: 'confirm',
        title: 'Firefox on Linux',
        subject: 'page.1',
        operation: 'apps.install',
        act: 'install an app',
        about: { id: 'com.example.agenda', title: 'Agenda', version: '1.2.0', signer: 'Example Ltd' },
      };
      const { version: _, signer: __, ...act } = question('q', { ...ASKED, ...more });
      const look = { page: 0, off: new Set<string>(), armed: true };
      const { scene } = await withMeasure({ surroundings }, (display) => promptScene(display, act, look));
      const surfaces = [homeSurface(), over('prompt', 'prompt', scene)];
      await assertPicture(`system-view/${name}`, await painted(surfaces, { surroundings, at: 2_000 }));
    });

  it('a question of an app whose name is Arabic, on a device without such a font: its id', async () => {
    const surfaces = await withMeasure({}, (display) => asked(display, { title: TITLE }));
    assert.doesNotMatch(JSON.stringify(surfaces), /"text":"[^"]*\p{Script=Arabic}/u);
    await assertPicture('system-view/consent-no-font', await painted(surfaces, { at: 2_000 }));
  });

  it('the same with a font pack', { skip: without('fonts-dejavu-core') }, async () => {
    const fonts = [{ family: 'DejaVu Sans', path: ARABIC }];
    const surfaces = await withMeasure({ fonts }, (display) => asked(display, { title: TITLE }));
    await assertPicture('system-view/consent-arabic', await painted(surfaces, { fonts, at: 2_000 }));
  });

  const SIGNS: Readonly<Record<string, Ear>> = {
    'listening-for-its-name': { state: 'name' },
    'heard-by-an-app': { state: 'heard', by: ['Agenda', 'voice'] },
  };
  for (const [name, ear] of Object.entries(SIGNS))
    it(`the sign of the microphone over home: ${name}`, async () => {
      const surfaces = [homeSurface(), over('system', 'capture', earScene(ear, EN), CORNER)];
      await assertPicture(`system-view/${name}`, await painted(surfaces));
    });

  it('the line and the muted sign over home', async () => {
    const told = { level: 'error', icon: 'error', text: 'Voice does not work' } as const;
    const notice = await withMeasure({}, (display) => noticeScene(told, display));
    const surfaces = [
      homeSurface(),
      over('system', 'notice', notice.scene, notice.box),
      over('system', 'capture', earScene({ state: 'muted' }, EN), CORNER),
    ];
    await assertPicture('system-view/problem', await painted(surfaces));
  });

  it('safe mode, by the soft renderer', async () => {
    await using device = await soft();
    const display: Measure = {
      measure: (texts) => device.renderer.measure(texts, AROUND),
      surroundings: async () => AROUND,
    };
    const blame = {
      plugin: 'garden',
      outcome: 'crashed',
      message: "Cannot read properties of undefined (reading 'soil')",
    };
    const code = 'device-core safe mode; crashed; garden; Cannot read properties of undefined';
    const scene = await safeModeScene(display, blame, code);
    await device.apply({ surroundings: AROUND, set: [over('system', 'page', scene)] });
    await device.apply({ surroundings: AROUND });
    const png = await pngOf({ width: 720, height: 720, data: new Uint8ClampedArray(device.glass.rgba()) });
    const areas = scene.nodes.map(({ kind, x = 0, y = 0, w = 0, h = 0 }) => ({ name: kind, rect: { x, y, w, h } }));
    await assertPicture('system-view/safe-mode-soft', { png, areas });
  });

  it('the end', async () => {
    await assertPicture(
      'system-view/goodbye',
      await painted([over('system', 'page', goodbyeScene('Battery empty', EN))]),
    );
  });
});
