/** The supervisor of units, under a systemd of its own. */
import assert from 'node:assert/strict';
import { appendFileSync, chmodSync, existsSync, readFileSync } from 'node:fs';
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
    assert.match(said, /✔ has a connection of a child that is gone known by its user/);
  });

  test('tells of each end that others bring about, with the bus gone, too; guests end with the Core', async (t) => {
    const program = '/checkout/test/containers/inside/states.ts';
    await using box = await wardenBox({ core: `${NODE} ${program}` });
    chmodSync(box.folder, 0o777);
    await box.output('systemctl restart device-core');
    const events = (): readonly Told[] =>
      existsSync(`${box.folder}/events`)
        ? readFileSync(`${box.folder}/events`, 'utf8')
            .split('\n')
            .slice(0, -1)
            .map((line) => JSON.parse(line))
        : [];
    const order = (text: string) => appendFileSync(`${box.folder}/orders`, `${text}\n`);
    const told = (event: string, run?: string) =>
      eventually(() => events().find((one) => one.event === event && one.run === run), `${event} of ${run}`, {
        ms: 30_000,
      });
    await told('up');

    order('start demo');
    const { pid } = await told('started', 'demo.1');
    assert.match(await box.output('systemctl show -p CPUQuotaPerSecUSec app-demo'), /=500ms/);
    const before = Date.now();
    await box.output(`kill -9 ${pid}`);
    const killed = await told('ended', 'demo.1');
    assert.deepEqual(killed.end, { signal: 'SIGKILL', cause: 'signal' });
    t.diagnostic(
      `a kill was told ${killed.at - before} ms after it was sent, starting a shell in the container included`,
    );

    order('start demo');
    await told('started', 'demo.2');
    assert.match(await box.output('systemctl show -p CPUQuotaPerSecUSec app-demo'), /=500ms/);
    await box.output('for n in 1 2 3; do systemctl daemon-reload; done; systemctl stop app-demo');
    const { end } = await told('ended', 'demo.2');
    assert.deepEqual(end, { signal: 'SIGTERM', cause: 'stopped', reason: 'another program stopped its unit' });

    order('start demo');
    const third = await told('started', 'demo.3');
    await box.output('systemctl stop dbus.socket dbus.service');
    order('usage demo.3');
    const asked = await told('usage');
    assert.equal(asked.code, 'UNAVAILABLE');
    order('start other');
    assert.match((await told('refused')).reason ?? '', /systemd/);
    await box.output(`kill -9 ${third.pid}; systemctl start dbus.socket dbus.service`);
    assert.deepEqual((await told('ended', 'demo.3')).end, { signal: 'SIGKILL', cause: 'signal' });

    order('start demo');
    await eventually(() => events().findLast(({ event, run }) => event === 'started' && run !== 'demo.3'), 'one more');
    const began = Date.now();
    await box.output('systemctl kill -s KILL --kill-who=main device-core');
    const gone = async () => (await box.run('systemctl is-active app-demo')).stdout !== 'active\n';
    await eventually(gone, 'the guest ends with the Core', { ms: 20_000 });
    t.diagnostic(`a guest was gone ${Date.now() - began} ms after its Core was killed`);
  });
});

interface Told {
  readonly event: string;
  readonly at: number;
  readonly run?: string;
  readonly pid?: number;
  readonly end?: object;
  readonly code?: string;
  readonly reason?: string;
}
