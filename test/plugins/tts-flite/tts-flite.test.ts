/** Costs speech: the synthesizer is compiled and speaks in full. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createTestHost, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Flite } from '../../../plugins/voice/tts-flite/engine.ts';
import { plugin } from '../../../plugins/voice/tts-flite/index.ts';
import { normalText } from '../../../plugins/voice/tts-flite/normal-text.ts';
import { spoken, ttsContract } from '../../contracts/tts.ts';
import { ANY_CHARACTER } from '../../fixtures/any-text.ts';
import { EngineRegistry } from '../../fixtures/engine-registry.ts';
import { runs } from '../../fixtures/runs.ts';
import { part } from '../../fixtures/scope.ts';

fc.configureGlobal({ numRuns: runs(100) });

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/voice/tts-flite.yaml');

async function start(config: object = {}) {
  const registry = new EngineRegistry();
  const host = await createTestHost(plugin, { manifest, services: [registry.service], config });
  const { engine, description } = registry.find('tts');
  const voices = description.voices ?? [];
  return { host, registry, engine, description, voices, foreign: 'de', [Symbol.asyncDispose]: () => host.stop() };
}

describe('tts-flite', () => {
  describe('is an engine that', () => ttsContract(() => start()));

  it('says what it can, and goes when it stops', async () => {
    const flite = await start({ voice: 'kal16' });
    assert.deepEqual(flite.description.languages, ['en']);
    assert.deepEqual(flite.voices, ['kal16', 'slt', 'rms', 'awb']);
    const [own] = await spoken(flite.engine, 'Hello.', { language: 'en-GB' });
    const [named] = await spoken(flite.engine, 'Hello.', { voice: 'kal16' });
    assert.deepEqual(own, named);
    await flite.host.stop();
    assert.deepEqual(flite.registry.rows, []);
    assert.deepEqual(flite.host.leaks(), []);
  });

  it('compiles its program at the first need, and lets go of it after a pause', async (t) => {
    const clock = virtualClock();
    const { scope, ...rest } = part(clock);
    const flite = new Flite('slt', 1_000, scope);
    const wasm = (globalThis as unknown as { readonly WebAssembly: { compile(bytes: unknown): Promise<object> } })
      .WebAssembly;
    const compiled = t.mock.method(wasm, 'compile');
    const count = () => compiled.mock.callCount();
    await clock.advance(10_000);
    assert.deepEqual([count(), clock.pending], [0, 0], 'nobody spoke');
    for (let time = 0; time < 3; time++) {
      await spoken(flite, 'Hello.');
      await clock.advance(999);
    }
    assert.equal(count(), 1);
    await clock.advance(1);
    assert.equal(clock.pending, 0);
    await flite.warm();
    assert.equal(count(), 2);
    await rest[Symbol.asyncDispose]();
  });

  it('pauses between clauses, longer between sentences', async () => {
    await using flite = await start();
    const length = async (text: string) =>
      (await spoken(flite.engine, text)).reduce((sum, { samples }) => sum + samples.length, 0) / 16;
    const apart = (await length('Good morning everybody')) + (await length('and good night'));
    const clause = await length('Good morning everybody, and good night');
    const sentence = await length('Good morning everybody. And good night');
    assert.ok(Math.abs(clause - apart - 120) < 60, `${clause - apart} ms`);
    assert.ok(Math.abs(sentence - apart - 250) < 60, `${sentence - apart} ms`);
  });
});

describe('text for flite', () => {
  const texts: readonly (readonly [string, string])[] = [
    ['Hello, world.', 'Hello, world.'],
    ['21.5 °C', '21.5 degrees Celsius'],
    ['1 °C and 11 °F, 90°', '1 degree Celsius and 11 degrees Fahrenheit, 90 degrees'],
    ['-3 °C', 'minus 3 degrees Celsius'],
    ['45% & more', '45 percent and more'],
    ['80 km/h or 1 km', '80 kilometers per hour or 1 kilometer'],
    ['12 kWh', '12 kilowatt hours'],
    ['on 2024-05-09', 'on May 9, 2024'],
    ['at 9:00 or 14:30', "at 9 o'clock or 14:30"],
    ['€3.50, €1 and £20', '3 euros 50, 1 euro and 20 pounds'],
    ['naïve café “déjà vu” – straße', 'naive cafe "deja vu", strasse'],
    ['10–12', '10 to 12'],
    ['a🙂b', 'a b'],
    ['<b>bold</b>', 'b bold /b'],
    ['漢字', ''],
    ['...', ''],
  ];
  for (const [text, wanted] of texts) it(`of ${text}`, () => assert.equal(normalText(text), wanted));

  it('is ASCII in one line, for any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: ANY_CHARACTER, maxLength: 60 }), (text) => {
        assert.match(normalText(text), /^[\x20-\x7e]*$/);
      }),
    );
  });
});
