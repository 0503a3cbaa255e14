import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Variant } from '@device-core/plugin-api/inside/dbus';
import { powerSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { operations } from '@device-core/plugin-api/services/operations';
import { type PowerState, power } from '@device-core/plugin-api/services/power';
import { createTestHost, leakCheck, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/power/index.ts';
import { type PowerUnderTest, powerContract } from '../../contracts/power.ts';
import { realBus, WITHOUT_DBUS } from '../../fixtures/dbus-peer.ts';
import { count, dbusService, flag, type Properties } from '../../fixtures/dbus-service.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { pipeAt, tellOn } from '../../fixtures/kernel-links.ts';
import { real } from '../../fixtures/real-device.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/power.yaml');
const MAINS: PowerState = { source: 'mains', level: 0.5, state: 'ok' };
const EVENT = 'change@/devices/bat\0ACTION=change\0SUBSYSTEM=power_supply\0';

async function start(config: object, ...more: readonly ReturnType<typeof real>[]) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, services: [[operations, table], ...more] });
  return { host, table };
}

async function simulated(): Promise<PowerUnderTest> {
  const { host, table } = await start({});
  let now: PowerState = { source: 'mains', state: 'ok' };
  const become = (state: PowerState) => {
    now = state;
    return host.service(powerSimulator).simulate(state);
  };
  await become({ source: 'mains', state: 'ok' });
  return { host, table, become, nudge: () => become(now), [Symbol.asyncDispose]: () => host.stop() };
}

function supplies() {
  const root = mkdtempSync(join(tmpdir(), 'power-'));
  const events = join(root, 'events');
  pipeAt(events);
  const sys = join(root, 'sys');
  const file = (name: string, members: Record<string, string>) => {
    mkdirSync(join(sys, name), { recursive: true });
    for (const [member, value] of Object.entries(members)) writeFileSync(join(sys, name, member), `${value}\n`);
  };
  const write = ({ source, level, state }: PowerState): void => {
    file('AC', { type: 'Mains', online: source === 'mains' ? '1' : '0' });
    const status = state === 'charging' ? 'Charging' : source === 'mains' ? 'Not charging' : 'Discharging';
    file('BAT0', { type: 'Battery', scope: 'System', present: level === undefined ? '0' : '1', status });
    file('BAT0', { capacity: String(Math.round((level ?? 0) * 100)) });
    file('mouse', { type: 'Battery', scope: 'Device', present: '1', status: 'Discharging', capacity: '3' });
  };
  return { root, sys, events, write };
}

async function kernel(): Promise<PowerUnderTest> {
  const { root, sys, events, write } = supplies();
  write(MAINS);
  const { host, table } = await start({ provider: 'sysfs', sys, events });
  const nudge = () => tellOn(events, EVENT);
  return {
    host,
    table,
    nudge,
    become: (state) => {
      write(state);
      return nudge();
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

const UPOWER = 'org.freedesktop.UPower';
const PATH = '/org/freedesktop/UPower';

async function upower(path: string) {
  const whole = ({ source, level, state }: PowerState): Properties => ({
    IsPresent: flag(level !== undefined),
    Type: count(2),
    Percentage: new Variant('d', (level ?? 0) * 100),
    State: count(state === 'charging' ? 1 : source === 'battery' ? 2 : 4),
  });
  const objects = new Map([
    [`${PATH} ${UPOWER}`, { OnBattery: flag(false) }],
    [`${PATH}/devices/DisplayDevice ${UPOWER}.Device`, whole(MAINS)],
  ]);
  const service = await dbusService(path, { name: UPOWER, objects });
  const device = `${PATH}/devices/DisplayDevice`;
  return {
    nudge: () =>
      service.change(device, `${UPOWER}.Device`, {
        UpdateTime: new Variant('t', 1n),
        Percentage: new Variant('d', 50),
      }),
    become(state: PowerState) {
      objects.set(`${device} ${UPOWER}.Device`, whole(state));
      service.change(PATH, UPOWER, { OnBattery: flag(state.source === 'battery') });
      service.change(device, `${UPOWER}.Device`, whole(state));
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

async function byBus(): Promise<PowerUnderTest> {
  const bus = await realBus();
  const service = await upower(bus.path);
  const { host, table } = await start({ provider: 'upower', bus: bus.path });
  return {
    host,
    table,
    become: service.become,
    nudge: service.nudge,
    async [Symbol.asyncDispose]() {
      await host.stop();
      await service[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
    },
  };
}

describe('power', { timeout: 120_000 }, () => {
  powerContract('simulated power', simulated);
  powerContract('the kernel', kernel);
  describe('UPower', { skip: WITHOUT_DBUS }, () => {
    powerContract('UPower', byBus);

    it('is asked as soon as it runs; while it does not, the kernel is', async () => {
      await using bus = await realBus();
      const { root, sys, events, write } = supplies();
      write({ source: 'battery', level: 0.4, state: 'ok' });
      const { host } = await start({ provider: 'auto', bus: bus.path, sys, events }, real());
      const status = () =>
        host
          .service(power)
          .status()
          .catch(() => undefined);
      assert.deepEqual(await status(), { provider: 'sysfs', source: 'battery', level: 0.4, state: 'ok' });
      {
        await using _service = await upower(bus.path);
        await eventually(async () => (await status())?.provider === 'upower', 'UPower is asked');
      }
      await eventually(async () => (await status())?.provider === 'sysfs', 'the kernel stands in');
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      rmSync(root, { recursive: true, force: true });
    });
  });

  it('of a device without any supply in sight is mains, and no timer runs for it', async () => {
    const { root, events } = supplies();
    const { host } = await start({ provider: 'sysfs', sys: join(root, 'absent'), events });
    assert.deepEqual(await host.service(power).status(), { provider: 'sysfs', source: 'mains', state: 'ok' });
    assert.deepEqual(
      host.leaks().filter((label) => /look at the battery/.test(label)),
      [],
    );
    await host.stop();
    rmSync(root, { recursive: true, force: true });
  });
});
