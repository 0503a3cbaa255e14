/** A bridge on a busy board, which has not answered in time when its endpoint was to be given the settings. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { type Endpoints, endpoints } from '@device-core/plugin-api/services/endpoints';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/gpio/index.ts';

after(leakCheck());

const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/gpio.yaml');
const NOTHING = { [Symbol.dispose]: () => undefined, [Symbol.asyncDispose]: async () => undefined };
const version = { major: 1, minor: 0 };
const GPIO0 = { name: 'gpio0', class: 1, version, maxInflight: 8, maxTransfer: 4_096, boot: '1' };

const CASES: readonly (readonly [what: string, answers: readonly (CoreError | undefined)[], tries: number])[] = [
  ['is tried again after a pause where there was no answer', [late(), late(), undefined], 3],
  [
    'is not tried again where the endpoint said no',
    [new CoreError('BRIDGE_FAILED', { endpoint: 'gpio0', status: 'UNSUPPORTED' })],
    1,
  ],
];

function late(): CoreError {
  return new CoreError('TIMEOUT', { what: 'the request to gpio0', ms: 1_001 });
}

for (const [what, answers, tries] of CASES)
  it(`the configuration ${what}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpio-'));
    const clock = virtualClock();
    let asked = 0;
    const service: Endpoints = {
      list: async () => [{ ...GPIO0, source: 'bridge', where: 'bridge' }],
      async request() {
        const answer = answers[asked++];
        if (answer) throw answer;
        return new Uint8Array(4);
      },
      onEvent: () => NOTHING,
      onChange(listener) {
        listener([{ source: 'bridge', where: 'bridge', state: 'up', endpoints: [GPIO0] }]);
        return NOTHING;
      },
      serve: () => NOTHING,
    };
    const host = await createTestHost(plugin, {
      manifest: MANIFEST,
      clock,
      config: { handles: [{ name: 'contact', endpoint: 'gpio0', line: 9, direction: 'in' }] },
      services: [
        given(operations, { add: () => NOTHING, addStream: () => NOTHING }),
        given(device, { info: async () => ({ paths: { etc: folder, var: folder, run: folder } }) as DeviceInfo }),
        given(endpoints, service),
      ],
    });
    const health = async (): Promise<string | undefined> => {
      let status: string | undefined;
      await host.hook('health.collect').promise({
        add(name, component) {
          if (name === 'gpio') ({ status } = component);
        },
        bridge: () => undefined,
        warn: () => undefined,
      });
      return status;
    };
    await clock.settle();
    assert.deepEqual([asked, await health()], [1, 'error']);
    await clock.advance(60_000);
    assert.deepEqual([asked, await health()], [tries, answers.includes(undefined) ? 'okay' : 'error']);
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  });
