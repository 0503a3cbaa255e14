import assert from 'node:assert/strict';
import { after, it } from 'node:test';
import type { ComponentHealth } from '@device-core/plugin-api/services/health';
import { operations } from '@device-core/plugin-api/services/operations';
import { speech } from '@device-core/plugin-api/services/speech';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/voice/speech/index.ts';

after(leakCheck());

const MANIFEST = 'manifests/plugins/voice/speech.yaml';
const LATER = 600_000;

for (const [absentAfterMs, warned] of [
  [0, ['the order of engines names wake bell, tts espek: not there, so others are asked']],
  [LATER, []],
] as const)
  it(`engines of the order that are not there after ${absentAfterMs} ms are ${warned.length > 0 ? '' : 'not yet '}warned of`, async () => {
    const config = { absentAfterMs, order: { wake: ['bell'], tts: ['espek', 'mouth'] } };
    const services = [[operations, new TestOperations()]] as const;
    await using host = await createTestHost(plugin, { manifest: MANIFEST, services, config });
    const description = { id: 'mouth', title: 'Mouth', languages: [], stage: 'local' } as const;
    const silent = {
      async *speak() {
        yield { rate: 16_000, samples: new Int16Array(1) };
      },
    };
    await host.service(speech).register('tts', description, silent, 'plugin.test');
    const warnings: string[] = [];
    await host.hook('health.collect').promise({
      add: (_name: string, _health: ComponentHealth) => undefined,
      bridge: () => undefined,
      warn: (_code, message) => void warnings.push(message),
    });
    await host.settle();
    assert.deepEqual(warnings, warned);
  });
