import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/vad-fvad/index.ts';
import { loudVadContract, vadContract } from '../../contracts/vad.ts';
import { startEngine } from '../../fixtures/speech-registry.ts';

const MANIFEST = 'manifests/plugins/voice/vad-fvad.yaml';
const start = (config = {}) => startEngine(plugin, MANIFEST, 'vad', config);
after(leakCheck());

describe('vad-fvad', () => {
  vadContract(() => start());
  loudVadContract(() => start());

  it('agrees with its manifest, and leaves with the plugin', async () => {
    const target = await start();
    assert.deepEqual([...target.registered], ['vad fvad']);
    assert.equal(target.owner, 'plugin.vad-fvad');
    await target.host.stop();
    assert.deepEqual([...target.registered], []);
    assert.deepEqual(target.host.leaks(), []);
  });
});
