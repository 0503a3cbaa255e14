import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { networkSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { type NetworkState, network } from '@device-core/plugin-api/services/network';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/network/index.ts';
import { type NetworkUnderTest, networkContract } from '../../contracts/network.ts';
import { realBus, WITHOUT_DBUS } from '../../fixtures/dbus-peer.ts';
import { without } from '../../fixtures/debian.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { kernelLinks } from '../../fixtures/kernel-links.ts';
import { networkManager, RIGHT } from '../../fixtures/network-manager.ts';
import { real } from '../../fixtures/real-device.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/network.yaml');
const BEGIN: NetworkState = { state: 'online', type: 'ethernet', metered: false };

async function start(config: object) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, services: [[operations, table]] });
  return { host, table };
}

async function simulated(): Promise<NetworkUnderTest> {
  const { host, table } = await start({});
  const hand = host.service(networkSimulator);
  let now: NetworkState = { state: 'online', type: 'wifi', metered: false };
  const become = (state: NetworkState) => {
    now = state;
    return hand.simulate(state);
  };
  return {
    host,
    table,
    become,
    nudge: () => become(now),
    wifi: { ssid: 'Workshop', right: 'workshop', wrong: 'no-such-word', open: 'Café next door' },
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

async function kernel(): Promise<NetworkUnderTest> {
  const links = kernelLinks(BEGIN);
  const { sys, proc, events, become, nudge } = links;
  const { host, table } = await start({ provider: 'rtnetlink', sys, proc, events });
  return {
    host,
    table,
    become,
    nudge,
    async [Symbol.asyncDispose]() {
      await host.stop();
      links[Symbol.dispose]();
    },
  };
}

async function byBus(): Promise<NetworkUnderTest> {
  const bus = await realBus();
  const manager = await networkManager(bus.path);
  const { host, table } = await start({ provider: 'networkmanager', bus: bus.path });
  return {
    host,
    table,
    become: manager.become,
    nudge: manager.nudge,
    wifi: { ssid: 'Workshop', right: RIGHT, wrong: 'wrong-horse', open: 'Café' },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await manager[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
}

describe('network', { timeout: 120_000 }, () => {
  networkContract('a simulated network', simulated);
  networkContract('the kernel', kernel);
  describe('NetworkManager', { skip: WITHOUT_DBUS }, () => {
    networkContract('NetworkManager', byBus);

    it('keeps no profile of a passphrase that was not taken, and one of each network', async () => {
      await using bus = await realBus();
      await using manager = await networkManager(bus.path);
      const { host, table } = await start({ provider: 'networkmanager', bus: bus.path });
      const join = (passphrase: string) => table.run('network.join', { ssid: 'Workshop', passphrase });
      await assert.rejects(join('wrong-horse'), /passphrase/);
      assert.equal(manager.known.size, 0);
      await join(RIGHT);
      await join(RIGHT);
      assert.equal(manager.known.size, 1);
      await assert.rejects(join('wrong-horse'), { code: 'NETWORK_REFUSED' });
      assert.equal(manager.known.size, 1, 'the former one is still there');
      await assert.rejects(table.run('network.join', { ssid: 'Office', passphrase: 'x' }), /a name or a certificate/);
      const { networks } = await table.run<{ networks: { ssid: string; signal: number }[] }>('network.wifi', {});
      assert.deepEqual(
        networks.map(({ ssid, signal }) => [ssid, signal]),
        [
          ['Workshop', 0.82],
          ['Café', 0.6],
          ['Office', 0.3],
        ],
      );
      await host.stop();
    });

    it('is asked as soon as it runs; while it does not, the kernel is', async () => {
      await using bus = await realBus();
      using links = kernelLinks({ state: 'local', type: 'ethernet', metered: false });
      const { sys, proc, events } = links;
      const table = new TestOperations();
      const told = { provider: 'auto', bus: bus.path, sys, proc, events };
      await using host = await createTestHost(plugin, {
        manifest,
        config: told,
        services: [[operations, table], real()],
      });
      // While one goes and the other is not there yet, nobody can be asked.
      const status = () =>
        host
          .service(network)
          .status()
          .catch(() => undefined);
      const provider = async () => (await status())?.provider;
      assert.equal(await provider(), 'rtnetlink');
      {
        await using _manager = await networkManager(bus.path);
        await eventually(async () => (await provider()) === 'networkmanager', 'NetworkManager is asked');
      }
      await eventually(async () => (await provider()) === 'rtnetlink', 'the kernel stands in');
      await using _again = await networkManager(bus.path);
      await eventually(async () => (await provider()) === 'networkmanager', 'NetworkManager is asked again');
      bus.kill();
      await eventually(async () => (await provider()) === 'rtnetlink', 'the kernel stands in without a bus');
      await host.stop();
      assert.deepEqual(host.leaks(), []);
    });
  });

  const unshared = spawnSync('unshare', ['-rn', 'ip', 'link', 'set', 'lo', 'up']).status === 0;
  it('hears the kernel itself', {
    skip: without('iproute2') || (!unshared && 'no network of its own can be made here'),
  }, () => {
    const { status, stdout, stderr } = spawnSync(
      'unshare',
      ['-rn', process.execPath, join(import.meta.dirname, 'hears-kernel.ts')],
      { encoding: 'utf8', timeout: 60_000 },
    );
    assert.equal(status, 0, stderr);
    assert.match(stdout, /heard/);
  });
});
