/** A service of endpoints as it looks from another process: what it tells is on its way for a while, what it is asked for it does at once. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, it } from 'node:test';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { type Endpoints, endpoints, type SourceView } from '@device-core/plugin-api/services/endpoints';
import { gpio } from '@device-core/plugin-api/services/gpio';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/gpio/index.ts';

after(leakCheck());

const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/hardware/gpio.yaml');
const NOTHING = { [Symbol.dispose]: () => undefined, [Symbol.asyncDispose]: async () => undefined };
const CONFIGURE = 0x03;
const READ = 0x01;
const version = { major: 1, minor: 0 };
const GPIO0 = { name: 'gpio0', class: 1, version, maxInflight: 8, maxTransfer: 4_096, boot: '1' };
const UP: SourceView = { source: 'bridge', where: 'bridge', state: 'up', endpoints: [GPIO0] };

const FIRST_NEWS: readonly (readonly [what: string, views: readonly SourceView[]])[] = [
  ['no source', []],
  ['a source that has not told', [{ source: 'bridge', where: 'bridge', state: 'down', reason: 'it has not told yet' }]],
];

for (const [what, views] of FIRST_NEWS)
  it(`configures a line before a request for it, where the last news was ${what}`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'gpio-'));
    const asked: number[] = [];
    let tell: (views: readonly SourceView[]) => void = () => undefined;
    const service: Endpoints = {
      // The news is out before whatever is answered.
      async list() {
        tell([UP]);
        return [{ ...GPIO0, source: 'bridge', where: 'bridge' }];
      },
      async request(_endpoint, op) {
        asked.push(op);
        return new Uint8Array(4);
      },
      onEvent: () => NOTHING,
      onChange(listener) {
        tell = listener;
        listener(views);
        return NOTHING;
      },
      serve: () => NOTHING,
    };
    const host = await createTestHost(plugin, {
      manifest: MANIFEST,
      config: { handles: [{ name: 'contact', endpoint: 'gpio0', line: 9, direction: 'in', edge: 'both' }] },
      services: [
        given(operations, { add: () => NOTHING, addStream: () => NOTHING }),
        given(device, { info: async () => ({ paths: { etc: folder, var: folder, run: folder } }) as DeviceInfo }),
        given(endpoints, service),
      ],
    });
    assert.equal(await host.service(gpio).read('contact'), 0);
    assert.deepEqual(asked, [CONFIGURE, READ]);
    await host.stop();
    rmSync(folder, { recursive: true, force: true });
  });
