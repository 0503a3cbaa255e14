/** Who may steer the simulated bridge: its control socket is a way around every grant. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, describe, it } from 'node:test';
import { type Identity, identity } from '@device-core/plugin-api/inside/services/identity';
import { type ProcessOwner, processes } from '@device-core/plugin-api/inside/services/processes';
import { bridgePort } from '@device-core/plugin-api/services/bridge-port';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/hardware/port-sim/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { deviceWithBoard } from '../../fixtures/kept-board.ts';
import { SimControl } from '../../fixtures/sim-control.ts';

after(leakCheck());

const MANIFEST = new URL('../../../manifests/plugins/hardware/port-sim.yaml', import.meta.url).pathname;
const uid = process.getuid?.() ?? 0;
const nobody = () => Promise.reject(new Error('it is not asked'));

/** A device on which every connection comes from process `pid` of that owner. */
function device(peerOf: Identity['peerOf'], owner: ProcessOwner) {
  const asked = { add: nobody, end: nobody, startOf: nobody, ownerOfTcp: nobody, ownerOf: async () => owner };
  const known = {
    peerOf,
    authenticate: nobody,
    issue: nobody,
    revoke: nobody,
    launched: nobody,
    onRevoked: () => ({ [Symbol.dispose]: () => undefined }),
  };
  return createTestHost(plugin, {
    manifest: MANIFEST,
    services: [[identity, known], [processes, asked], deviceWithBoard()],
  });
}

const GONE: ProcessOwner = { kind: 'unknown', why: 'ended' };
const other = { pid: 2 ** 30, uid, gid: 0 };

describe('the control socket of the simulator', () => {
  const refused: readonly [string, Identity['peerOf'], ProcessOwner, RegExp][] = [
    ['of an app', async () => other, { kind: 'app', id: 'com.example.a', ended: false }, /app com\.example\.a/],
    ['of an app that has ended', async () => other, { kind: 'app', id: 'com.example.a', ended: true }, /com\.example/],
    ['of a plugin', async () => other, { kind: 'plugin', id: 'guest', ended: false }, /plugin guest/],
    ['that slipped away from its guest', async () => other, { kind: 'core' }, /the Core started/],
    ['that nobody knows', async () => other, { kind: 'unknown' }, /cannot be identified/],
    ['of another user', async () => ({ ...other, uid: 54_321 }), { kind: 'stranger' }, /its user is 54321/],
    [
      'whose owner was settled as the connection came',
      async () => ({ ...other, owner: GONE }),
      { kind: 'stranger' },
      /cannot be identified/,
    ],
    ['whose credentials cannot be read', nobody, { kind: 'stranger' }, /cannot be identified/],
  ];
  for (const [title, peerOf, owner, reason] of refused) {
    it(`is closed to a process ${title}, and the log says so`, async () => {
      await using host = await device(peerOf, owner);
      const socket = connect(`${host.device.paths.run}/cbp-sim.sock`);
      let bytes = 0;
      socket.on('data', (chunk: Buffer) => {
        bytes += chunk.length;
        socket.destroy();
      });
      socket.on('error', () => socket.destroy());
      await once(socket, 'close');
      assert.equal(bytes, 0);
      const told = () => host.logged.filter(({ level }) => level === 'warn').map((line) => JSON.stringify(line));
      await eventually(() => told().some((line) => reason.test(line)), `${reason} in the log`);
      assert.equal((await host.service(bridgePort).transact(new Uint8Array(64))).length, 64);
    });
  }

  const welcome: readonly [string, Identity['peerOf'], ProcessOwner][] = [
    ['the operator', async () => other, { kind: 'stranger' }],
    ['the Core itself', async () => ({ ...other, pid: process.pid }), { kind: 'core' }],
    ['whoever its mode lets in, where no credentials can be read', async () => undefined, { kind: 'unknown' }],
  ];
  for (const [title, peerOf, owner] of welcome) {
    it(`is open to ${title}`, async () => {
      await using host = await device(peerOf, owner);
      using control = await SimControl.open(host.device.paths.run);
      assert.equal((await control.ask({ counts: {} })).ok, true);
    });
  }
});
