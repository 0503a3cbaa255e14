import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/port-spidev/index.ts';
import { noSpidev, SpidevLab } from '../../fixtures/spidev.ts';

const MANIFEST = new URL('../../../manifests/plugins/hardware/port-spidev.yaml', import.meta.url).pathname;

describe('port of a spidev', () => {
  after(leakCheck());

  it('starts on a machine without such a device, and names it as missing', async () => {
    await using host = await createTestHost(plugin, { manifest: MANIFEST, config: { device: '/dev/spidev7.3' } });
    const port = host.service(bridgePort);
    assert.equal((await port.info()).device, '/dev/spidev7.3');
    await assert.rejects(port.transact(new Uint8Array(64)), { code: 'NOT_INITIALIZED' });
  });

  it('does what a port has to do, over the real addon', { skip: noSpidev, timeout: 100_000 }, async () => {
    await using lab = await SpidevLab.open();
    const { NODE_TEST_CONTEXT: _, ...env } = process.env;
    const file = join(import.meta.dirname, 'shimmed/port.ts');
    const child = spawn(process.execPath, ['--test', '--test-timeout=60000', file], {
      env: { ...env, ...lab.environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((done) => child.on('close', done));
    const said = await Promise.all([text(child.stdout), text(child.stderr)]);
    assert.equal(await ended, 0, said.join('\n').slice(-8_000));
  });
});
