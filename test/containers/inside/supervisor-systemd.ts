/** The contract of supervisors for units of systemd: run as the Core's own unit in the box of the warden. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { appSupervisorContract } from '../../contracts/app-supervisor.ts';
import { openUnits } from './units.ts';

after(leakCheck());
describe('supervisor-systemd', () => appSupervisorContract(openUnits));

describe('the budget of a unit', () => {
  const begin = async (units: Awaited<ReturnType<typeof openUnits>>, script: string) => {
    const { run } = await units.supervisor.start(await units.spec('demo', script), { token: 't'.repeat(20) });
    return units.supervisor.ended(run);
  };

  it('ends one that starts tasks without end, and tells why', async () => {
    await using units = await openUnits();
    const { cause, reason } = await begin(units, 'while :; do (:); done');
    assert.equal(cause, 'signal');
    assert.match(reason ?? '', /^it started \d+ processes and threads a second, and 200 are allowed$/);
  });

  it('gives its files in memory half of its memory each', async () => {
    await using units = await openUnits();
    await begin(units, 'df --output=size,target /tmp /dev/shm; exit 0');
    const lines = (await units.supervisor.output('demo', 10)).map(({ text }) => text.trim());
    assert.deepEqual(lines.slice(1), ['65536 /tmp', '65536 /dev/shm']);
  });
});
