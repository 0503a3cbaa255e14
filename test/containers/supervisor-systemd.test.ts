/** The supervisor of units, under a systemd of its own. */
import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { NODE, wardenBox } from '../fixtures/warden-box.ts';

suite('supervisor-systemd', { skip: WITHOUT_CONTAINERS }, () => {
  test('does what every supervisor does', async () => {
    const program = '/checkout/test/containers/inside/supervisor-systemd.ts';
    await using box = await wardenBox({ core: `${NODE} --test-reporter=spec ${program}` });
    const over = async () => (await box.run('systemctl is-active device-core')).stdout !== 'active\n';
    await eventually(over, 'the end of the tests inside', { ms: 100_000, every: 200 });
    const said = await box.output('journalctl -q -o cat -u device-core');
    const result = await box.output('systemctl show -P Result device-core');
    assert.equal(result, 'success\n', `${said}\n${await box.output('journalctl -q -o short-monotonic | tail -80')}`);
    assert.match(said, /ℹ pass [1-9]/);
  });
});
