/** A whole device under systemd, on a kernel with AppArmor and with filters of addresses: both are enforced, and nothing works less for it. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, health, readyCore } from '../fixtures/installed-core.ts';
import { wrong } from '../fixtures/probe/table.ts';
import { DeviceBox, WITHOUT_DEVICE } from './device-box.ts';
import { CONNECT, LISTEN, NODE, OUTSIDE, PORT, PROBE_SKU, PROBES, placeProbes, rowsOf } from './probe-apps.ts';

const SLOW = { ms: 480_000, every: 1_000 };

describe('a device with AppArmor and address rules', { skip: WITHOUT_DEVICE, timeout: 2_400_000 }, () => {
  let box: DeviceBox;
  before(
    async () => {
      box = await DeviceBox.boot({ sku: PROBE_SKU, prepare: placeProbes });
      await readyCore(box, undefined, SLOW.ms);
      // The machine has no udev, which gives a node its group.
      await box.output(`chgrp dialout ${NODE} && chmod 660 ${NODE} && systemd-run -q --unit=listen python3 ${LISTEN}`);
    },
    { timeout: 900_000 },
  );
  after(async () => await box?.[Symbol.asyncDispose]());

  /** Refusals of AppArmor so far, without the numbers that differ in each run. */
  const denied = async (): Promise<readonly string[]> => {
    const lines = (await box.output('journalctl -k -q -o cat')).split('\n');
    const told = lines.flatMap((line) => /^audit:.*apparmor="DENIED" (.*)/.exec(line)?.[1] ?? []);
    return told.map((line) => line.replace(/ pid=\d+/, ''));
  };
  const confined = async (unit: string) =>
    (await box.output(`cat /proc/$(systemctl show -P MainPID ${unit})/attr/current`)).trim();

  it('starts its Core under its profile, and the profile refuses it nothing', { timeout: 900_000 }, async () => {
    assert.equal(await confined('device-core'), 'device-core (enforce)');
    const app = async () => (await box.output('systemctl is-active app-agenda || true')) === 'active\n';
    await eventually(app, 'the first app', SLOW);
    assert.equal(await confined('app-agenda'), 'device-app-agenda (enforce)');
    const { components } = await health(box);
    assert.match(components['apps.walls']?.message ?? '', /mac: kernel/);
    assert.deepEqual(await denied(), []);
  });

  it('lets its Core reach beyond the device for a plugin of the SKU, and for no other reason', {
    timeout: 300_000,
  }, async () => {
    const from = async (unit: string, host: string, port: number) =>
      (await box.output(`python3 ${CONNECT} system.slice/${unit}.service ${host} ${port}`)).trim();
    assert.equal(await from('device-core', OUTSIDE.host, OUTSIDE.port), 'done');
    assert.match(await box.output('systemctl cat device-core'), /^# Plugin egress .*\nIPAddressAllow=any$/m);
    const allow = (what: string) =>
      box.output(`systemctl set-property --runtime device-core IPAddressAllow= IPAddressAllow=${what}`);
    await allow('localhost');
    assert.equal(await from('device-core', OUTSIDE.host, OUTSIDE.port), 'ETIMEDOUT');
    assert.equal(await from('device-core', '127.0.0.1', PORT), 'done');
    assert.equal(await from('listen', OUTSIDE.host, OUTSIDE.port), 'done');
    await allow('any');
  });

  for (const probe of PROBES)
    it(`gives an app in ${probe.language}, with network ${probe.network}, the answers of the table`, {
      timeout: 600_000,
    }, async () => {
      const before = (await denied()).length;
      await box.output(`${CTL} app start com.example.${probe.name}`, SLOW);
      const said = await eventually(
        async () => {
          const lines = (await box.output(`journalctl -q -o cat SYSLOG_IDENTIFIER=app-${probe.name}`)).split('\n');
          return lines.find((line) => line.startsWith('{'));
        },
        'the answers of the probe',
        SLOW,
      );
      assert.deepEqual(wrong(rowsOf(probe), JSON.parse(said)), []);
      // The one row that AppArmor answers before another wall does.
      const refused = (await denied()).slice(before);
      assert.equal(refused.length, probe.network === 'none' ? 0 : 1, refused.join('\n'));
      for (const line of refused) assert.match(line, new RegExp(`profile="device-app-${probe.name}".*sock_type="raw"`));
    });

  it('starts no app whose profile is not loaded', { timeout: 600_000 }, async () => {
    const file = '/run/device-profiles/app-python-none.bin';
    await box.output(`head -c 100 ${file} >${file}.cut && mv ${file}.cut ${file}`);
    await box.run(`${CTL} app start com.example.python-none`, SLOW);
    const told = async () => /python-none .*a need of its unit is missing/.test(await box.output(`${CTL} app list`));
    await eventually(told, 'the reason of the failure', SLOW);
    assert.notEqual(await box.output('systemctl is-active app-python-none || true'), 'active\n');
  });
});
