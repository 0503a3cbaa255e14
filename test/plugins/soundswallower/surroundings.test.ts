/** Wake phrases as people say them, and in rooms; and the makers of rooms and noises that this is measured with. */
import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join as path } from 'node:path';
import { after, describe, it } from 'node:test';
import { CAPTURE_RATE } from '@device-core/plugin-api/services/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import { spot } from '../../contracts/wake.ts';
import { gated, mix, type Surroundings, surroundings } from '../../fixtures/noises.ts';
import { PEOPLE, WITHOUT_PEOPLE } from '../../fixtures/people.ts';
import { inRoom, roomOf } from '../../fixtures/rooms.ts';
import { SPEAKERS } from '../../fixtures/speakers.ts';
import { join, noise, pcmOf, silence } from '../../fixtures/speech.ts';
import { start } from './start.ts';

/** Every twentieth clip of a word: all of them take minutes. */
const EVERY = 20;

after(leakCheck());

/** As a microphone gives it that is switched on before somebody calls. */
function around(said: Int16Array): Int16Array {
  const whole = join(silence(600), said, silence(700));
  const hiss = noise('pink', (whole.length / CAPTURE_RATE) * 1_000, 6);
  return whole.map((sample, index) => sample + (hiss[index] ?? 0));
}

const powerOf = (samples: Int16Array) => samples.reduce((sum, sample) => sum + sample * sample, 0) / samples.length;

describe('rooms and noises', () => {
  for (const [rt60, distance] of [
    [0.3, 1],
    [0.4, 2],
    [0.8, 4],
  ] as const)
    it(`sound on for ${rt60} s, ${distance} m away`, () => {
      const response = roomOf({ rt60, distance, seed: 2 });
      const left: number[] = [];
      let sum = 0;
      for (let at = response.length - 1; at >= 0; at--) left[at] = sum += response[at]! ** 2;
      const below = (db: number) => left.findIndex((energy) => 10 * Math.log10(energy / sum) < db);
      const measured = (2 * (below(-35) - below(-5))) / CAPTURE_RATE;
      assert.ok(Math.abs(measured / rt60 - 1) < 0.1, `${measured} s`);
      assert.ok(Math.abs(sum - 1) < 1e-3, `an energy of ${sum}`);
    });

  it('keep speech where it was, and let it fade', () => {
    const click = new Int16Array(CAPTURE_RATE / 2);
    click[100] = 20_000;
    const heard = inRoom(click, roomOf({ rt60: 0.3, distance: 1 }));
    assert.ok(heard.subarray(0, 100).every((sample) => Math.abs(sample) <= 1));
    assert.ok(Math.abs(heard[100]!) > 2_000, `${heard[100]}`);
    assert.equal(heard.length, click.length + 0.3 * CAPTURE_RATE);
  });

  it('are as loud as they are asked to be, and the same for the same seed', () => {
    const tone = Int16Array.from({ length: CAPTURE_RATE }, (_, at) => 6_000 * Math.sin(at / 5));
    for (const kind of ['pink', 'babble', 'music', 'fan', 'clatter'] as const satisfies readonly Surroundings[]) {
      const sound = surroundings(kind, 1_000, 3, [tone]);
      assert.deepEqual(sound, surroundings(kind, 1_000, 3, [tone]), kind);
      const mixed = mix(tone, sound, 10);
      const rest = mixed.map((sample, index) => sample - tone[index]!);
      const snr = 10 * Math.log10(powerOf(tone) / powerOf(rest));
      assert.ok(Math.abs(snr - 10) < 0.5, `${kind}: ${snr} dB`);
    }
    assert.ok(gated(noise('pink', 100, 20)).every((sample) => sample === 0));
  });
});

describe('soundswallower and people', { timeout: 600_000 }, () => {
  it('finds a word that no dictionary has as its speakers say it', async (t) => {
    await using one = await start('wake');
    const missed: string[] = [];
    for (const speaker of SPEAKERS.slice(0, 4))
      if ((await spot(one.engine, around(await speaker.speak('snowboy')), ['snowboy'])).length === 0)
        missed.push(speaker.name);
    t.diagnostic(`missed: ${JSON.stringify(missed)}`);
    assert.ok(missed.length <= 1, JSON.stringify(missed));
  });

  it('finds words as people say them', { skip: WITHOUT_PEOPLE }, async (t) => {
    await using one = await start('wake');
    for (const word of ['jarvis', 'snowboy']) {
      const folder = path(PEOPLE, 'wake', word);
      const clips = (await readdir(folder)).filter((name) => name.endsWith('.wav')).sort();
      const some = clips.filter((_, index) => index % EVERY === 0);
      let found = 0;
      for (const clip of some) {
        const hits = await spot(one.engine, around(pcmOf(await readFile(path(folder, clip)))), [word]);
        assert.ok(hits.length <= 1, clip);
        found += hits.length;
      }
      t.diagnostic(`${word}: ${found} of ${some.length}`);
      assert.ok(found >= some.length * 0.5, `${word}: ${found} of ${some.length}`);
    }
  });
});
