/** What the plugin `network` must do, whoever it asks. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type NetworkState, type NetworkStatus, network } from '@device-core/plugin-api/services/network';
import type { TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { eventually, stays } from '../fixtures/eventually.ts';

export interface NetworkUnderTest extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  /** Lets the surroundings be so, and whoever is asked tell of it. */
  become(state: NetworkState): Promise<void> | void;
  /** Says that something changed although nothing did. */
  nudge(): Promise<void> | void;
  /** A passphrase that is taken, one that is not, and where they would be seen if they leaked. */
  readonly wifi?: { readonly ssid: string; readonly right: string; readonly wrong: string; readonly open: string };
}

const STATES: readonly (readonly [string, NetworkState])[] = [
  ['a cable and a way beyond', { state: 'online', type: 'ethernet', metered: false }],
  ['a network of its own', { state: 'local', type: 'ethernet', metered: false }],
  ['a mobile network, which costs', { state: 'online', type: 'mobile', metered: true }],
  ['nothing', { state: 'offline', type: 'none', metered: false }],
  ['a Wi-Fi', { state: 'online', type: 'wifi', metered: false }],
];

export function networkContract(name: string, open: () => Promise<NetworkUnderTest>): void {
  const told = ({ host }: NetworkUnderTest) =>
    host.published.filter(({ topic }) => topic === 'system.network').map(({ payload }) => payload);
  const latest = async (one: NetworkUnderTest, state: NetworkState) => {
    await eventually(() => {
      assert.deepEqual(told(one).at(-1), state);
      return true;
    }, `system.network says ${state.state}`);
  };

  it(`${name} tells what is so when it starts, and each change once`, async () => {
    await using one = await open();
    await eventually(() => told(one).length === 1, 'the first word');
    for (const [what, state] of STATES) {
      const before = told(one).length;
      const same = JSON.stringify(told(one).at(-1)) === JSON.stringify(state);
      await one.become(state);
      await latest(one, state);
      assert.equal(told(one).length, before + (same ? 0 : 1), what);
      const status = await one.table.run<NetworkStatus & Record<string, unknown>>('network.status', {});
      assert.deepEqual({ state: status.state, type: status.type, metered: status.metered }, state, what);
      assert.equal(
        status.links.some(({ up, type }) => up && type === state.type),
        state.type !== 'none',
        what,
      );
    }
  });

  it(`${name} says nothing where nothing changed`, async () => {
    await using one = await open();
    await eventually(() => told(one).length === 1, 'the first word');
    for (let at = 0; at < 3; at += 1) await one.nudge();
    await stays(() => told(one).length === 1, 'one word', { ms: 400 });
  });

  it(`${name} gives the same by service and by operation, and holds nothing when it stops`, async () => {
    const one = await open();
    const by = await one.host.service(network).status();
    assert.deepEqual(await one.table.run('network.status', {}), by);
    await assert.rejects(one.table.run('network.status', {}, { caller: { kind: 'app', id: 'com.example.app' } }), {
      code: 'CAPABILITY_DENIED',
    });
    await one[Symbol.asyncDispose]();
    assert.deepEqual(one.host.leaks(), []);
  });

  it(`${name} joins and forgets a Wi-Fi, or says why it cannot`, async () => {
    await using one = await open();
    const { table, host, wifi } = one;
    const list = async () => (await table.run<{ networks: { ssid: string }[] }>('network.wifi', {})).networks;
    if (!wifi) {
      const status = await host.service(network).status();
      assert.equal(status.wifi, false);
      assert.ok(status.reason);
      await assert.rejects(list(), { code: 'UNAVAILABLE' });
      await assert.rejects(table.run('network.join', { ssid: 'Workshop' }), { code: 'UNAVAILABLE' });
      await assert.rejects(table.run('network.forget', { ssid: 'Workshop' }), { code: 'UNAVAILABLE' });
      return;
    }
    const { ssid, right, wrong, open: free } = wifi;
    const known = async (name: string) => (await list()).find((found) => found.ssid === name);
    await table.run('network.forget', { ssid }).catch(() => undefined);
    for (const params of [{ ssid }, { ssid, passphrase: '' }, { ssid, passphrase: wrong }, { ssid: 'Nowhere' }])
      await assert.rejects(table.run('network.join', params), (error: Error & { code: string }) => {
        assert.equal(error.code, 'NETWORK_REFUSED');
        assert.ok(!error.message.includes(wrong), error.message);
        return true;
      });
    assert.deepEqual(
      { ...(await known(ssid)), signal: 0 },
      { ssid, signal: 0, security: 'wpa', known: false, joined: false },
    );
    await table.run('network.join', { ssid, passphrase: `${right}\n` });
    assert.deepEqual(
      { ...(await known(ssid)), signal: 0 },
      { ssid, signal: 0, security: 'wpa', known: true, joined: true },
    );
    await table.run('network.join', { ssid: free });
    assert.deepEqual([(await known(free)) && true, (await known(ssid)) && true], [true, true]);
    await table.run('network.join', { ssid });
    await table.run('network.forget', { ssid });
    await assert.rejects(table.run('network.forget', { ssid }), { code: 'NETWORK_REFUSED' });
    const seen = JSON.stringify([host.logged, host.published]);
    for (const secret of [right, wrong]) assert.ok(!seen.includes(secret), 'a passphrase stands in a log or an event');
  });
}
