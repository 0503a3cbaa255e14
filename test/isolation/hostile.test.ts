/** A stranger's plugin against the whole simulated device: it tries every contract, at both levels that have a border. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Isolation, SkuPlugin } from '@device-core/plugin-api';
import { contractIds, contractOf } from '@device-core/plugin-api/inside/contracts';
import { versionFolder } from '@device-core/plugin-api/inside/installed';
import { grants } from '@device-core/plugin-api/inside/services/grants';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { config } from '@device-core/plugin-api/services/config';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

after(leakCheck());

const SIMULATOR = join(import.meta.dirname, '../../manifests/skus/simulator.yaml');
const MODULE = join(import.meta.dirname, '../fixtures/hostile/index.ts');
const HASH = `sha256:${'0'.repeat(64)}`;
const all = contractIds();
const claims = Object.fromEntries(all.map((id) => [id, `^${contractOf(id)?.version}`]));

interface Said {
  readonly plugin: string;
  readonly service: string;
  readonly members: readonly string[];
  readonly act: string;
  readonly answer: string;
}

/** The reach of a guest as it said by events. */
interface Told {
  readonly reached: ReadonlyMap<string, readonly string[]>;
  readonly answers: ReadonlyMap<string, string>;
  done: boolean;
}

function listen(core: Core, id: string): Told {
  const reached = new Map<string, readonly string[]>();
  const answers = new Map<string, string>();
  const told: Told = { reached, answers, done: false };
  core.kernel.parts.bus.subscribe(`plugin.${id}.*`, ({ topic, payload }) => {
    const { plugin, service, members, act, answer } = payload as Said;
    if (plugin !== id) return undefined;
    if (topic.endsWith('.reached')) reached.set(service, members);
    if (topic.endsWith('.acted')) answers.set(act, answer);
    if (topic.endsWith('.done')) told.done = true;
    return undefined;
  });
  return told;
}

/** The simulator with a guest that claims everything: installed with these grants, or put into the SKU by the OEM. */
async function deviceWith(
  id: string,
  isolation: Isolation,
  granted?: readonly string[],
): Promise<Core & { readonly told: Told }> {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const { plugins } = parse(readFileSync(SIMULATOR, 'utf8')) as { plugins: Record<string, string | SkuPlugin> };
  // The store would refuse to run what it did not install; here the kernel stands alone.
  const { 'plugin-store': _, ...rest } = plugins;
  const line = { version: '1.0.0', hash: HASH, isolation, config: {} };
  const folder = granted ? join(root, 'var/plugins', id, versionFolder(line)) : join(root, id);
  mkdirSync(folder, { recursive: true });
  const manifest = { id, version: '1.0.0', summary: 'It tries everything', api: '^1.0.0', main: MODULE };
  writeFileSync(
    join(folder, 'plugin.yaml'),
    stringify({ ...manifest, optional: claims, publishes: [`plugin.${id}.*`] }),
  );
  const installed = { format: 1, plugins: { [id]: { ...line, enabled: true, installedAt: 1, granted } } };
  if (granted) writeFileSync(join(root, 'var/plugins/installed.yaml'), stringify(installed));
  const own = granted ? {} : { [id]: { version: '*', path: folder, isolation } };
  const core = await startCore({ root, plugins: { ...rest, ...own }, config: { http: { tcp: false } } });
  const told = listen(core, id);
  core.kernel.parts.bus.publish({ topic: 'hostile.begin', payload: {}, source: 'core' });
  const end = async () => {
    await core.stop();
    rmSync(root, { recursive: true, force: true });
  };
  return { ...core, told, stop: end, [Symbol.asyncDispose]: end };
}

describe("a stranger's plugin tries every contract of the device", () => {
  for (const isolation of ['process', 'worker'] as const)
    it(`at level ${isolation}: it reaches the open ones, and each other try is refused, named and counted`, async () => {
      const id = `hostile-${isolation}`;
      await using device = await deviceWith(id, isolation, []);
      await eventually(() => device.told.done, 'the end of its tries');
      const refusals = (await device.service(grants).refusals()).filter(
        ({ caller }) => 'id' in caller && caller.id === id,
      );
      const refused = new Map(refusals.map((one) => [one.capability, one]));
      for (const service of all) {
        const contract = contractOf(service)!;
        const one = refused.get(`service.${service}`);
        if (contract.access === 'open') {
          assert.equal(one, undefined, service);
          continue;
        }
        assert.equal(device.told.reached.get(service), undefined, service);
        assert.ok(one && one.count > 0, `${service} is counted`);
        const line =
          contract.access === 'tree' ? 'no line of a manifest' : `requires: { ${service}: ^${contract.version} }`;
        assert.ok(one.hint.startsWith(line), one.hint);
      }
      const open = [...device.told.reached.keys()];
      assert.ok(open.length >= 5, open.join());
      for (const [service, members] of device.told.reached)
        assert.deepEqual([...members].sort(), [...contractOf(service)!.members].sort(), service);
    });

  it('a granted service acts for the plugin alone, through the members that the contract declares', async () => {
    const powerful = all.filter((id) => contractOf(id)?.access === 'powerful');
    await using device = await deviceWith('claimer', 'worker', powerful);
    await eventually(() => device.told.done, 'the end of its tries');
    const user = device.kernel.parts.watch.usage.of('claimer');
    const provided = powerful.filter((id) => device.kernel.parts.services.provider(id));
    assert.ok(provided.length >= 25, provided.join());
    for (const service of provided) {
      const declared = contractOf(service)!.members;
      const reference = device.kernel.parts.services.find(service, '*', user) as object;
      assert.deepEqual(
        declared.filter((name) => !(name in reference)),
        [],
        `${service} has all that is declared`,
      );
      assert.deepEqual([...(device.told.reached.get(service) ?? [])].sort(), [...declared].sort(), service);
    }
    const { answers } = device.told;
    assert.equal((await device.service(config).get({}, 'hostile.key')).setBy, 'plugin.claimer');
    assert.deepEqual(JSON.parse(answers.get('capture') ?? ''), ['plugin:claimer']);
    assert.deepEqual(JSON.parse(answers.get('handle') ?? ''), 'plugin.claimer');
    assert.deepEqual(JSON.parse(answers.get('question') ?? ''), [
      'plugin:claimer',
      'plugin:claimer',
      null,
      null,
      false,
    ]);
    assert.deepEqual(JSON.parse(answers.get('source') ?? ''), ['problem', 'push']);
    const [guest] = await device.service(pluginManager).uses();
    const counts = new Map(guest?.uses.map(({ kind, name, count }) => [`${kind} ${name}`, count]));
    assert.equal(guest?.plugin, 'claimer');
    assert.deepEqual([counts.get('service prompts'), counts.get('service inputs')], [4, 1]);
    assert.equal(counts.get('service panel'), undefined, 'it was reached, and never called');
    for (const act of ['register', 'offer', 'unregister', 'describeApp'])
      assert.equal(answers.get(act), 'SERVICE_DENIED', act);
  });
});
