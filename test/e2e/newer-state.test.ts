/** A Core that comes back to the state of a newer one: what it does not know is no damage, and is there again under the newer Core. */
import assert from 'node:assert/strict';
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { consents } from '@device-core/plugin-api/inside/services/consents';
import { audio } from '@device-core/plugin-api/services/audio';
import { config } from '@device-core/plugin-api/services/config';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { declaredStores, type Store, STORES as WRITTEN } from '../fixtures/stores.ts';

after(leakCheck());

const IDS =
  'operations identity system config plugin-store changes prompts supervisor-process rpc apps app-store ledger gpio simulator audio-sim audio speech intent voice updater http functions';
/** A device has one supervisor: the users of the other one are read when it makes a unit. */
const STORES = WRITTEN.filter(({ plugin }) => plugin !== 'supervisor-systemd');
// Whoever keeps something is there, whether or not it is in the list above.
const PLUGINS = Object.fromEntries([...IDS.split(' '), ...STORES.map(({ plugin }) => plugin)].map((id) => [id, '*']));
const DECLARED = declaredStores();
const formOf = ({ store }: Store) => DECLARED.get(store)!.writes;

/** A device whose stores are of the form that this Core writes, moved by so many. */
class Device implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dn-'));

  constructor(stores: readonly Store[], by: number) {
    for (const store of stores) {
      const files = { ...store.beside, [store.file]: store.text(formOf(store) + by) };
      for (const [name, text] of Object.entries(files)) {
        mkdirSync(dirname(this.place(name)), { recursive: true });
        writeFileSync(this.place(name), text);
      }
    }
  }

  place(name: string): string {
    return join(this.root, 'var', name);
  }

  /** Every file of its state, with what is in it. */
  files(): ReadonlyMap<string, string> {
    const names = globSync('**', { cwd: join(this.root, 'var') }).filter((name) => statSync(this.place(name)).isFile());
    return new Map(names.map((name) => [name, readFileSync(this.place(name), 'latin1')]));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Health {
  readonly warnings?: readonly { readonly code: string; readonly message: string }[];
}

const invocation = () => ({
  caller: { kind: 'operator', id: 'operator' } as const,
  signal: AbortSignal.timeout(10_000),
  deadline: Date.now() + 10_000,
});
const ask = async <T>(core: Core, name: string, params: object) =>
  (await core.service(operations).invoke(name, params, invocation())) as T;

/** What /health says of state that is newer. */
async function told(core: Core): Promise<string> {
  const { warnings = [] } = await ask<Health>(core, 'system.health', {});
  assert.deepEqual(
    warnings.filter(({ code }) => code === 'STATE_CORRUPT'),
    [],
  );
  const newer = warnings.filter(({ code }) => code === 'STATE_NEWER');
  return newer.map(({ message }) => message).join('\n');
}

/** All that can be done to change what is kept, and what a Core answers where it cannot keep it. */
async function use(core: Core, newer: boolean): Promise<void> {
  const refused = async (work: Promise<unknown>) => {
    if (newer) await assert.rejects(work, { code: 'STATE_NEWER' });
    else await work;
  };
  await core.service(config).set({}, 'lamp.colour', 'blue', { by: 'operator' });
  assert.equal((await core.service(config).get({}, 'lamp.colour')).value, 'blue');
  await refused(ask(core, 'config.set', { key: 'plugins.audio.duckDb', value: 12 }));
  await core.service(audio).setVolume(0.5);
  await refused(ask(core, 'plugins.switch', { id: 'gpio', enabled: false }));
  const answer = { capability: 'audio', allowed: true, by: 'operator', at: 1, version: '1.0.0' } as const;
  await refused(core.service(consents).keep('com.example.other', [answer]));
}

test('state of a newer form is left alone, nothing is swept, and the health says so', async () => {
  using device = new Device(STORES, 1);
  const before = device.files();
  {
    await using core = await startCore({ plugins: PLUGINS, root: device.root });
    assert.equal((await core.kernel.status()).state, 'ok');
    const text = await told(core);
    for (const { store, file, told: name = file, asked } of STORES)
      if (!asked) assert.ok(text.includes(name), `${store} is not told: ${text}`);
    await use(core, true);
  }
  const left = device.files();
  for (const [name, text] of before) assert.equal(left.get(name), text, `${name} is not what the newer Core left`);
  const aside = [...left.keys()].filter((name) => name.includes('corrupt'));
  assert.deepEqual(aside, []);
  await using again = await startCore({ plugins: PLUGINS, root: device.root });
  const entry = await again.service(config).get({}, 'lamp.colour');
  assert.equal(entry.value, 'blue');
  assert.equal(entry.setBy, 'operator', 'who set it is kept beside the newer metadata');
});

test('state of the form that the manifests name is read, and written again in that form', async () => {
  using device = new Device(STORES, 0);
  {
    await using core = await startCore({ plugins: PLUGINS, root: device.root });
    assert.equal(await told(core), '');
    await use(core, false);
  }
  await using again = await startCore({ plugins: PLUGINS, root: device.root });
  assert.equal(await told(again), '');
});

for (const newer of STORES.filter(({ store, beside }) => beside !== undefined || /journal/.test(store)))
  test(`where ${newer.store} alone is newer, nothing of what belongs to it is swept`, async () => {
    using device = new Device(
      STORES.filter((store) => store !== newer),
      0,
    );
    using ahead = new Device([newer], 1);
    const kept = ahead.files();
    for (const [name, text] of kept) {
      mkdirSync(dirname(device.place(name)), { recursive: true });
      writeFileSync(device.place(name), text);
    }
    for (const _ of ['once', 'and again']) {
      await using core = await startCore({ plugins: PLUGINS, root: device.root });
      assert.match(await told(core), new RegExp(newer.file));
    }
    const left = device.files();
    for (const [name, text] of kept) assert.equal(left.get(name), text, `${name} is not what the newer Core left`);
  });
