/** What the plugin `power` must do, whoever it asks. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { type PowerState, power } from '@device-core/plugin-api/services/power';
import type { TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { eventually, stays } from '../fixtures/eventually.ts';

export interface PowerUnderTest extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  /** Lets the surroundings be so, and whoever is asked tell of it. */
  become(state: PowerState): Promise<void> | void;
  /** Says that something changed although nothing did. */
  nudge(): Promise<void> | void;
}

const STATES: readonly PowerState[] = [
  { source: 'battery', level: 0.8, state: 'ok' },
  { source: 'battery', level: 0.15, state: 'low' },
  { source: 'battery', level: 0.05, state: 'critical' },
  { source: 'mains', level: 0.06, state: 'charging' },
  { source: 'mains', level: 1, state: 'ok' },
  { source: 'mains', state: 'ok' },
];

export function powerContract(name: string, open: () => Promise<PowerUnderTest>): void {
  const told = ({ host }: PowerUnderTest) =>
    host.published.filter(({ topic }) => topic === 'system.power').map(({ payload }) => payload);

  it(`${name} tells what is so when it starts, and each change once`, async () => {
    await using one = await open();
    await eventually(() => told(one).length === 1, 'the first word');
    for (const [at, state] of STATES.entries()) {
      await one.become(state);
      await eventually(() => {
        assert.deepEqual(told(one).at(-1), state);
        return true;
      }, `system.power says ${state.state}`);
      assert.equal(told(one).length, at + 2);
      const { provider: _, ...status } = await one.table.run('power.status', {});
      assert.deepEqual(status, state);
    }
  });

  it(`${name} says nothing where nothing changed, and holds nothing when it stops`, async () => {
    const one = await open();
    await eventually(() => told(one).length === 1, 'the first word');
    for (let at = 0; at < 3; at += 1) await one.nudge();
    await stays(() => told(one).length === 1, 'one word', { ms: 400 });
    assert.deepEqual(await one.host.service(power).status(), await one.table.run('power.status', {}));
    await one[Symbol.asyncDispose]();
    assert.deepEqual(one.host.leaks(), []);
  });
}
