/** What is enforced of apps is told, and what a SKU demands is held against it. */
import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import type { Enforced } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Checked, check } from '../../../plugins/apps/apps/doctor.ts';
import { FakeSupervisor } from '../../fixtures/fake-supervisor.ts';
import { callAs, manifestOf, putApp, startBench } from './fixture.ts';

after(leakCheck());

const ID = 'com.example.demo';
const prepare = (installed: string) => putApp(installed, manifestOf(ID));
const operator = { kind: 'operator', id: 'operator' } as const;

async function healthOf(bench: Awaited<ReturnType<typeof startBench>>) {
  const components: Record<string, object> = {};
  const warnings: string[] = [];
  const report: HealthReport = {
    add(name, health) {
      components[name] = health;
    },
    bridge: () => undefined,
    warn: (code, message) => void warnings.push(`${code}: ${message}`),
  };
  await bench.host.hook('health.collect').promise(report);
  return { walls: components['apps.walls'] as Record<string, string>, warnings };
}

describe('the enforcement of apps', () => {
  const LEVELS: readonly (readonly [
    enforced: 'kernel' | 'watched' | 'none',
    demanded: 'kernel' | 'watched' | undefined,
    lacking: boolean,
  ])[] = [
    ['kernel', 'kernel', false],
    ['kernel', 'watched', false],
    ['watched', 'kernel', true],
    ['watched', 'watched', false],
    ['none', 'kernel', true],
    ['none', 'watched', true],
    ['none', undefined, false],
  ];
  for (const [enforced, demanded, lacking] of LEVELS)
    it(`is ${lacking ? 'less than' : 'enough for'} the demand, where it is ${enforced} and ${demanded ?? 'nothing'} is`, async () => {
      const report = await new FakeSupervisor({ enforced: { memory: enforced } }).enforcement();
      const found = check(report, demanded === undefined ? {} : { memory: demanded }).find(
        ({ kind }) => kind === 'memory',
      );
      assert.equal(found?.lacking ?? false, lacking);
      assert.equal(
        found?.remedy === undefined,
        enforced === 'kernel',
        'what could be done stands beside what is not enforced',
      );
    });

  it('is told by apps.doctor, each kind with its reason and its remedy', async () => {
    await using bench = await startBench({ prepare, config: { demand: { mac: 'kernel' } } });
    const answer = (await bench.operation('apps.doctor').run({}, callAs(operator))) as {
      readonly by: string;
      readonly insecure: boolean;
      readonly kinds: readonly Checked[];
    };
    assert.deepEqual([answer.by, answer.insecure], ['process', true]);
    const of = (kind: Enforced) => answer.kinds.find((one) => one.kind === kind);
    const { reason, remedy, ...mac } = of('mac') ?? {};
    assert.deepEqual(mac, { kind: 'mac', enforced: 'none', demanded: 'kernel', lacking: true });
    assert.match(`${reason} ${remedy}`, /AppArmor/);
    assert.equal(of('memory')?.enforced, 'watched');
  });

  it('that is below the demand of the SKU starts no app, and both /health and the app name the missing walls', async () => {
    await using bench = await startBench({ prepare, config: { insecure: false, demand: { mac: 'kernel' } } });
    const { state, reason } = await bench.apps.start(ID);
    assert.equal(state, 'failed');
    assert.match(reason ?? '', /^SANDBOX_UNAVAILABLE: .*\(missing: mac\)/);
    const { walls, warnings } = await healthOf(bench);
    assert.deepEqual([walls.status, walls.code], ['error', 'SANDBOX_UNAVAILABLE']);
    assert.match(walls.message ?? '', /^no app starts, for mac is demanded; user: /);
    assert.deepEqual(warnings, []);
  });

  it('is not needed with apps.insecure, and a warning names the missing walls', async () => {
    await using bench = await startBench({ prepare, config: { demand: { mac: 'kernel' } } });
    assert.equal((await bench.apps.start(ID)).state, 'running');
    const { walls, warnings } = await healthOf(bench);
    assert.equal(walls.status, 'okay');
    assert.deepEqual(warnings.length, 1);
    assert.match(warnings[0]!, /^APPS_INSECURE: apps.insecure: apps start although nothing keeps mac;/);
  });
});
