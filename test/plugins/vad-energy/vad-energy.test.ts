import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/vad-energy/index.ts';
import { judge, share, vadContract } from '../../contracts/vad.ts';
import { inNoise, join, noise, say, silence } from '../../fixtures/speech.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

const MANIFEST = 'manifests/plugins/voice/vad-energy.yaml';
const start = (config = {}) => startEngine(plugin, MANIFEST, 'vad', config);
after(leakCheck());

describe('vad-energy', () => {
  vadContract(() => start());

  it('agrees with its manifest, and leaves with the plugin', async () => {
    const target = await start();
    assert.deepEqual([...target.registered], ['vad energy']);
    assert.equal(target.owner, 'plugin.vad-energy');
    await target.host.stop();
    assert.deepEqual([...target.registered], []);
    assert.deepEqual(target.host.leaks(), []);
  });

  it('does not take loud noise for speech that never ends', async () => {
    await using target = await start();
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const)
      assert.ok(share(await judge(target.engine, noise(colour, 4_000, 3_000))) < 0.1, colour);
  });

  it('hears speech in noise', async () => {
    await using target = await start();
    const said = await say('turn on the kitchen light please');
    const frames = Math.floor(said.length / 320);
    for (const colour of ['white', 'pink', 'brown', 'hum'] as const) {
      const results = await judge(target.engine, inNoise(join(silence(1_000), said), colour, 20));
      assert.ok(share(results.slice(50, 50 + frames)) > 0.5, colour);
    }
  });
});
