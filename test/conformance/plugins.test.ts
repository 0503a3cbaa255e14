/** The plugins port-sim and cbp with the bridge in C in the place of the simulator. */
import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { endpoints } from '@device-core/plugin-api/services/endpoints';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin as cbp } from '../../plugins/hardware/cbp/index.ts';
import { plugin as endpointsPlugin } from '../../plugins/hardware/endpoints/index.ts';
import { plugin as portSim } from '../../plugins/hardware/port-sim/index.ts';
import { EndpointClient } from '../fixtures/endpoint-client.ts';
import { buildResponder, noCompiler } from '../fixtures/responder.ts';

const manifest = (id: string) => new URL(`../../manifests/plugins/hardware/${id}.yaml`, import.meta.url).pathname;

let command = '';
before(() => {
  if (!noCompiler) command = buildResponder().program;
});
after(leakCheck());

it('a device runs on another bridge program when port-sim is told its path', { skip: noCompiler }, async () => {
  const port = await createTestHost(portSim, { manifest: manifest('port-sim'), config: { command } });
  const hub = await createTestHost(endpointsPlugin, { manifest: manifest('endpoints') });
  const services = [
    [bridgePort, port.service(bridgePort)],
    [endpoints, hub.service(endpoints)],
  ] as const;
  const host = await createTestHost(cbp, { manifest: manifest('cbp'), services });
  const io = new EndpointClient(hub.service(endpoints));
  assert.deepEqual(
    (await hub.service(endpoints).list()).map(({ name }) => name),
    ['sys', 'gpio0', 'i2c0', 'spi0', 'spi1'],
  );
  const tx = Buffer.from('through two plugins');
  const rx = await io.spixTransfer('spi0', { cs: 0, mode: 0, speedHz: 1_000_000, tx, rxLength: tx.length });
  assert.ok(tx.equals(rx));
  await host.stop();
  await hub.stop();
  await port.stop();
  assert.deepEqual([host.leaks(), hub.leaks(), port.leaks()], [[], [], []]);
});

it('a path where no program is leaves a device without a bridge, in words', async () => {
  const nowhere = { command: '/nowhere/bridge' };
  await using port = await createTestHost(portSim, { manifest: manifest('port-sim'), config: nowhere });
  const error = await port
    .service(bridgePort)
    .transact(new Uint8Array(64))
    .catch((thrown: unknown) => thrown);
  assert.match(String(error), /ENOENT/);
});
