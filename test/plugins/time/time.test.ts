import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { wallTimeSimulator } from '@device-core/plugin-api/inside/services/simulators';
import { operations } from '@device-core/plugin-api/services/operations';
import { type WallTimeState, type WallTimeStatus, wallTime } from '@device-core/plugin-api/services/wall-time';
import { createTestHost, leakCheck, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/life/time/index.ts';
import { realBus, WITHOUT_DBUS } from '../../fixtures/dbus-peer.ts';
import { dbusService, flag, text } from '../../fixtures/dbus-service.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const manifest = join(import.meta.dirname, '../../../manifests/plugins/life/time.yaml');
const BERLIN = 'Europe/Berlin';

interface TimeUnderTest extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  /** Somebody sets the clock. */
  set(): Promise<void> | void;
  /** Somebody else says where the device is. */
  move(zone: string): Promise<void> | void;
  /** It may not say so itself. */
  readonly refuses?: true;
}

async function start(config: object) {
  const table = new TestOperations();
  const host = await createTestHost(plugin, { manifest, config, services: [[operations, table]] });
  return { host, table };
}

function system() {
  const root = mkdtempSync(join(tmpdir(), 'time-'));
  const zone = (name: string) => {
    symlinkSync(`/usr/share/zoneinfo/${name}`, join(root, 'new'));
    renameSync(join(root, 'new'), join(root, 'localtime'));
  };
  zone(BERLIN);
  mkdirSync(join(root, 'timesync'));
  const flag = join(root, 'timesync', 'synchronized');
  return { root, flag, zone, localtime: join(root, 'localtime'), set: () => writeFileSync(flag, '') };
}

async function simulated(): Promise<TimeUnderTest> {
  const { host, table } = await start({ provider: 'sim' });
  const hand = host.service(wallTimeSimulator);
  const now: { -readonly [K in keyof WallTimeState]: WallTimeState[K] } = { set: false, zone: BERLIN };
  await hand.simulate(now);
  const become = (part: Partial<WallTimeState>) => hand.simulate(Object.assign(now, part));
  return {
    host,
    table,
    set: () => become({ set: true }),
    move: (zone) => become({ zone }),
    [Symbol.asyncDispose]: () => host.stop(),
  };
}

async function files(): Promise<TimeUnderTest> {
  const { root, flag, zone, localtime, set } = system();
  const { host, table } = await start({ provider: 'files', flag, localtime, askKernel: false });
  return {
    host,
    table,
    set,
    move: zone,
    refuses: true,
    async [Symbol.asyncDispose]() {
      await host.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function timedated(): Promise<TimeUnderTest> {
  const bus = await realBus();
  const [name, path] = ['org.freedesktop.timedate1', '/org/freedesktop/timedate1'];
  const objects = new Map([[`${path} ${name}`, { Timezone: text(BERLIN), NTPSynchronized: flag(false) }]]);
  const service = await dbusService(bus.path, {
    name,
    objects,
    answer({ member, body = [] }) {
      if (member !== 'SetTimezone') return undefined;
      if (body[0] === 'Asia/Tokyo') return { error: 'org.freedesktop.DBus.Error.InteractiveAuthorizationRequired' };
      service.change(path, name, { Timezone: text(String(body[0])) });
      return {};
    },
  });
  const { root, flag: file, set } = system();
  const { host, table } = await start({ provider: 'timedated', bus: bus.path, flag: file, askKernel: false });
  return {
    host,
    table,
    set,
    move: (zone) => service.change(path, name, { Timezone: text(zone) }),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await service[Symbol.asyncDispose]();
      await bus[Symbol.asyncDispose]();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

describe('time', { timeout: 120_000 }, () => {
  contract('a simulated time', simulated);
  contract('files of the system', files);
  describe('timedated', { skip: WITHOUT_DBUS }, () => {
    contract('timedated', timedated);

    it('may refuse a zone, and then it is said whose rule that is', async () => {
      await using one = await timedated();
      const refused = one.host.service(wallTime).setZone('Asia/Tokyo');
      await assert.rejects(refused, (error: Error & { code: string }) => {
        assert.equal(error.code, 'UNAVAILABLE');
        assert.match(error.message, /polkit/);
        return true;
      });
    });
  });
});

function contract(name: string, open: () => Promise<TimeUnderTest>): void {
  const told = ({ host }: TimeUnderTest) =>
    host.published.filter(({ topic }) => topic === 'system.time').map(({ payload }) => payload);
  const latest = (one: TimeUnderTest, state: WallTimeState) =>
    eventually(
      () => {
        assert.deepEqual(told(one).at(-1), state);
        return true;
      },
      `system.time says ${JSON.stringify(state)}`,
    );

  it(`${name} tells when the clock was set, and where the device is`, async () => {
    await using one = await open();
    await latest(one, { set: false, zone: BERLIN });
    await one.set();
    // No file tells timedated of it: it is asked with pauses until it was.
    await latest(one, { set: true, zone: BERLIN });
    await one.move('America/New_York');
    await latest(one, { set: true, zone: 'America/New_York' });
    const {
      now,
      provider: _,
      ...state
    } = await one.table.run<WallTimeStatus & Record<string, unknown>>('time.status', {});
    assert.deepEqual(state, { set: true, zone: 'America/New_York' });
    assert.ok(Number.isInteger(now));
  });

  it(`${name} takes a zone that there is, and no other word`, async () => {
    const one = await open();
    for (const zone of ['Europe/Nowhere', '+02:00', '../../etc/shadow', 'x'.repeat(65)])
      await assert.rejects(one.table.run('time.setZone', { zone }), { code: 'PARAMS_INVALID' }, zone);
    const asked = one.table.run('time.setZone', { zone: 'Asia/Kolkata' });
    if (one.refuses) await assert.rejects(asked, { code: 'UNAVAILABLE' });
    else {
      await asked;
      await latest(one, { set: false, zone: 'Asia/Kolkata' });
    }
    await one[Symbol.asyncDispose]();
    assert.deepEqual(one.host.leaks(), []);
  });
}
