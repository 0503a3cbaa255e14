import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { TEXT_PAIRS, THEMES } from '@device-core/plugin-api/scene';
import {
  type Config,
  type ConfigChange,
  type ConfigEntry,
  config as configService,
} from '@device-core/plugin-api/services/config';
import { type IntentDefinition, type IntentRun, type Intents, intents } from '@device-core/plugin-api/services/intents';
import { given, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { settingsOf } from '../../../plugins/display/display/settings/device-settings.ts';
import { isNight, untilChange } from '../../../plugins/display/display/settings/hours.ts';
import { spokenOf } from '../../../plugins/display/display/settings/spoken.ts';
import { themesOf } from '../../../plugins/display/display/settings/themes.ts';
import { runs } from '../../fixtures/runs.ts';
import { boot, scene } from './fixture.ts';

after(leakCheck());

/** Settings of a device, which change. */
class Settings implements Partial<Config> {
  readonly values = new Map<string, unknown>();
  readonly #listeners = new Set<(change: ConfigChange) => void>();

  async list(_: unknown, prefix = ''): Promise<readonly ConfigEntry[]> {
    const entries = [...this.values].filter(([key]) => key.startsWith(prefix));
    return entries.map(([key, value]) => ({ key, value, source: 'device', revision: 1 }));
  }

  async set(_: unknown, key: string, value: unknown): Promise<ConfigEntry> {
    this.values.set(key, value);
    const entry = { key, value, source: 'device', revision: 1 } as const;
    for (const listener of this.#listeners) listener({ scope: {}, ...entry });
    return entry;
  }

  watch(_: unknown, listener: (change: ConfigChange) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}

describe('members of the configuration that are live', () => {
  it('are taken without a restart: who draws is told, and what a person chose still holds', async () => {
    const clock = virtualClock({ now: Date.UTC(2026, 5, 1, 12) });
    const settings = new Settings();
    await using bench = await boot({ clock, services: [given(configService, settings)] });
    await clock.advance(100);
    const { display } = bench;
    let told = 0;
    using _ = display.onSurroundings(() => {
      told += 1;
    });
    const before = told;
    await display.put({ id: 'page', layer: 'home', scene: scene('here') });
    const base = { locale: 'en-GB', timeZone: 'UTC' };
    for (const [config, seen] of [
      [{ textScale: 2 }, { textScale: 2 }],
      [{ theme: 'day' }, { theme: THEMES.find(({ id }) => id === 'day') }],
      [
        { reducedMotion: true, fps: 10 },
        { reducedMotion: true, fps: 10 },
      ],
      [{ locale: 'de-DE' }, { locale: 'de-DE' }],
      [{ timeZone: 'Europe/Berlin' }, { timeZone: 'Europe/Berlin' }],
      [{}, { textScale: 1, reducedMotion: false, fps: 30, ...base }],
    ] as const) {
      await bench.host.configure({ ...base, ...config });
      const now: object = await display.surroundings();
      for (const [name, value] of Object.entries(seen)) assert.deepEqual(Object(now)[name], value, name);
    }
    assert.ok(told > before);
    await bench.shows(['here']);
    await bench.host.configure({ ...base, brightness: 0.5 });
    assert.equal((await bench.state()).brightness, 0.5);
    await settings.set({}, 'display.brightness', 0.3);
    await settings.set({}, 'display.textScale', 1.25);
    await clock.advance(1_000);
    await bench.host.configure({ ...base, brightness: 0.7, textScale: 2 });
    assert.equal((await bench.state()).brightness, 0.3);
    assert.equal((await display.surroundings()).textScale, 1.25);
    await bench.host.configure({ ...base, dimMs: 2_000 });
    await clock.advance(2_500);
    assert.equal((await bench.state()).power, 'dim');
    assert.equal(bench.host.leaks().length > 0, true, 'it runs');
  });

  it('that cannot be are given back', async () => {
    await using bench = await boot();
    await assert.rejects(bench.host.configure({ locale: 'en-GB', timeZone: 'Nowhere/Nothing' }), {
      code: 'CHANGE_UNDONE',
    });
    assert.equal((await bench.display.surroundings()).timeZone, 'UTC');
  });
});

describe('settings of the device', () => {
  async function device(config: object = {}) {
    const settings = new Settings();
    const clock = virtualClock({ now: Date.UTC(2026, 5, 1, 12) });
    const bench = await boot({ clock, config, services: [given(configService, settings)] });
    await clock.advance(100);
    const set = async (key: string, value: unknown) => {
      await settings.set({}, key, value);
      await clock.advance(1_000);
      return bench.display.surroundings();
    };
    return { bench, clock, settings, set };
  }

  it('are in force at once, and every drawing plugin is asked to draw again', async () => {
    const { bench, set } = await device();
    await using _ = bench;
    const told: number[] = [];
    using listening = bench.display.onSurroundings(({ textScale }) => void told.push(textScale));
    assert.equal((await set('display.textScale', 1.5)).textScale, 1.5);
    assert.equal((await set('display.theme', 'contrast')).theme.id, 'contrast');
    assert.equal((await set('display.theme', 'auto')).theme.id, 'day');
    assert.equal((await set('display.reducedMotion', true)).reducedMotion, true);
    assert.equal((await set('display.locale', 'ar-EG')).locale, 'ar-EG');
    assert.equal((await set('display.timeZone', 'Asia/Tokyo')).timeZone, 'Asia/Tokyo');
    await set('display.brightness', 0.6);
    assert.equal(bench.panel.levels.at(-1), 0.4, 'in Tokyo it is nine in the evening');
    assert.equal((await bench.state()).brightness, 0.6);
    assert.ok(told.length >= 5 && told.every((scale) => scale === 1.5), listening ? 'told each time' : '');
  });

  it('that mean nothing leave those of the SKU in force, and are named in health', async () => {
    const { bench, set } = await device({ textScale: 1.25 });
    await using _ = bench;
    const bad = {
      textScale: 3,
      theme: 'pink',
      reducedMotion: 'yes',
      locale: 'no locale',
      timeZone: 'Mars/Base',
      brightness: 7,
    };
    const before = await bench.display.surroundings();
    for (const [name, value] of Object.entries(bad)) await set(`display.${name}`, value);
    assert.deepEqual(await bench.display.surroundings(), before);
    const warned: string[] = [];
    const report = { add: () => undefined, bridge: () => undefined, warn: (code: string) => void warned.push(code) };
    await bench.host.hook('health.collect').promise(report as never);
    assert.equal(warned.filter((code) => code === 'SETTING_INVALID').length, Object.keys(bad).length);
  });

  it('keep the brightness that was set in any way', async () => {
    const { bench, settings } = await device();
    await using _ = bench;
    await bench.display.brightness(0.3);
    assert.equal(settings.values.get('display.brightness'), 0.3);
  });

  it('give way to a low battery: fewer frames, no shadows, no motion, until it is charged', async () => {
    const { bench, clock } = await device({ fps: 60 });
    await using _ = bench;
    bench.host.publish('system.power', { source: 'battery', level: 0.08, state: 'low' });
    await clock.advance(10);
    const { fps, plain, reducedMotion } = await bench.display.surroundings();
    assert.deepEqual({ fps, plain, reducedMotion }, { fps: 15, plain: true, reducedMotion: true });
    bench.host.publish('system.power', { source: 'mains', state: 'okay' });
    await clock.advance(10);
    assert.equal((await bench.display.surroundings()).fps, 60);
  });

  it('of any shape are read without harm', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('textScale', 'theme', 'locale', 'timeZone', 'brightness', '__proto__', 'x.y'),
        fc.jsonValue(),
        (name, value) => {
          const { settings, problems } = settingsOf([{ key: `display.${name}`, value }]);
          assert.ok(Object.keys(settings).length + problems.length <= 1);
        },
      ),
      { numRuns: runs(500) },
    );
  });
});

describe('the hours of the night', () => {
  const NIGHT = { from: '21:00', to: '07:00' };
  const at = (hour: number, minute = 0) => Date.UTC(2026, 0, 15, hour, minute);
  for (const [hours, hour, zone, night] of [
    [NIGHT, 20, 'UTC', false],
    [NIGHT, 21, 'UTC', true],
    [NIGHT, 0, 'UTC', true],
    [NIGHT, 6, 'UTC', true],
    [NIGHT, 7, 'UTC', false],
    [NIGHT, 12, 'Asia/Tokyo', true],
    [NIGHT, 20, 'Europe/Berlin', true],
    [{ from: '01:00', to: '05:00' }, 0, 'UTC', false],
    [{ from: '01:00', to: '05:00' }, 3, 'UTC', true],
    [{ from: '00:00', to: '00:00' }, 3, 'UTC', false],
  ] as const)
    it(`${hour}:00 UTC in ${zone}, from ${hours.from} to ${hours.to}: ${night ? 'night' : 'day'}`, () => {
      assert.equal(isNight(at(hour), zone, hours), night);
    });

  it('change when it was said, where no clock is set', () => {
    const minute = fc.nat(24 * 60 - 1);
    const hour = (value: number) =>
      `${String(Math.floor(value / 60)).padStart(2, '0')}:${String(value % 60).padStart(2, '0')}`;
    fc.assert(
      fc.property(minute, minute, fc.nat(86_400_000 * 300), (from, to, ms) => {
        fc.pre(from !== to);
        const hours = { from: hour(from), to: hour(to) };
        const now = Date.UTC(2026, 0, 1) + ms;
        const until = untilChange(now, 'UTC', hours);
        assert.ok(until > 0 && until <= 86_400_000);
        assert.equal(isNight(now + until - 1, 'UTC', hours), isNight(now, 'UTC', hours));
        assert.notEqual(isNight(now + until, 'UTC', hours), isNight(now, 'UTC', hours));
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('a theme of the SKU', () => {
  it('has its values over the names', () => {
    const { night, day } = themesOf({
      night: { colours: { accent: '#ffcc00' }, type: { body: { size: 32 } }, font: 'Own' },
    });
    assert.deepEqual(
      [night.colours.accent, night.type.body.size, night.type.body.line, night.font],
      ['#ffcc00', 32, 48, 'Own'].with(2, night.type.body.line),
    );
    assert.equal(
      day,
      THEMES.find(({ id }) => id === 'day'),
    );
  });

  const REFUSED: readonly (readonly [what: string, colours: Record<string, string>, said: RegExp])[] = [
    [
      'text that cannot be read',
      { 'text-soft': '#333a45' },
      /themes\.night: text-soft on background has a contrast of \d\.\d, less than 4\.5/,
    ],
    ['a ground that is too bright', { raised: '#8a8f99' }, /themes\.night: text.* on raised has a contrast of/],
    ['a name that there is not', { acent: '#ffffff' }, /themes\.night\.colours\.acent: there is no such name/],
    ['a colour that is none', { accent: 'red' }, /themes\.night\.colours\.accent: red is not #rrggbb/],
    ['text that lets the ground through', { text: '#ffffff80' }, /themes\.night\.colours\.text: /],
  ];
  for (const [what, colours, said] of REFUSED)
    it(`is refused at the start for ${what}`, async () => {
      await assert.rejects(boot({ config: { themes: { night: { colours } } } }), (error: Error & { code?: string }) => {
        assert.equal(error.code, 'PARAMS_INVALID');
        assert.match(error.message, said);
        return true;
      });
    });

  it('of the Core passes its own check, every pair of it', () => {
    for (const { id, colours } of THEMES) assert.doesNotThrow(() => themesOf({ [id]: { colours } }));
    assert.ok(TEXT_PAIRS.length > 20);
  });
});

describe('sentences to the screen', () => {
  class Sentences implements Partial<Intents> {
    readonly known = new Map<
      string,
      { definition: IntentDefinition; run: (run: IntentRun) => Promise<{ say?: string }> }
    >();

    add(definition: IntentDefinition, run: (run: IntentRun) => Promise<{ say?: string }>): AsyncDisposable {
      this.known.set(definition.id, { definition, run });
      return { [Symbol.asyncDispose]: async () => void this.known.delete(definition.id) };
    }

    say(id: string, slots = {}): Promise<{ say?: string }> {
      const intent = this.known.get(id) ?? assert.fail(`nobody understands ${id}`);
      return intent.run({ slots, text: '', turn: 't', signal: new AbortController().signal, deadline: 9e15 });
    }
  }

  it('is read aloud, in its order', async () => {
    const sentences = new Sentences();
    await using bench = await boot({ services: [given(intents, sentences)] });
    await bench.display.put({ id: 'x', layer: 'home', scene: scene('Rain at noon') });
    await bench.display.put({ id: 'turn', layer: 'voice', scene: scene('Listening') });
    assert.equal((await sentences.say('screen.read')).say, 'Rain at noon.', 'not what is shown of the question itself');
    await sentences.say('screen.home');
  });

  it('goes home: the plugin of the home screen is told', async () => {
    const sentences = new Sentences();
    await using bench = await boot({ services: [given(intents, sentences)] });
    const told: unknown[] = [];
    using listening = bench.display.onInput((surface, { phase, key }) => void told.push({ surface, phase, key }));
    await bench.display.put({ id: 'main', layer: 'home', scene: scene('Settings') });
    await sentences.say('screen.home');
    assert.deepEqual(told, [{ surface: 'main', phase: 'key', key: 'home' }]);
    await bench.display.home();
    assert.equal(told.length, 1, listening ? 'a plugin that ends the foreground wants no more than that' : '');
  });

  it('is an answer, not a speech', () => {
    const texts = { nothing: 'Nothing.', more: 'More.' };
    assert.equal(spokenOf([], texts), 'Nothing.');
    assert.equal(spokenOf(['Rain', ' ', 'At noon.'], texts), 'Rain. At noon.');
    assert.equal(spokenOf(['\u2068Home\u2069', '[Apps]'], texts), 'Home. Apps.', 'without what is only for the eye');
    const long = spokenOf(
      Array.from({ length: 500 }, (_, line) => `line ${line}`),
      texts,
    );
    assert.ok(long.length <= 620 && long.endsWith('More.'));
    assert.ok(spokenOf(['x'.repeat(5_000)], texts).length <= 620);
  });
});
