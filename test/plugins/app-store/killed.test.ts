/** A Core that ends at any write or step: the next one has the old version or the new one, whole, with the data that belong to it. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { APP_PACKAGE, changeOf } from '@device-core/plugin-api/inside/packages';
import type { ChangeInfo } from '@device-core/plugin-api/inside/services/changes';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppPackages } from '../../fixtures/app-packages.ts';
import { InstantChanges } from '../../fixtures/changes.ts';
import { FaultyDisk } from '../../fixtures/faulty-disk.ts';
import { runs } from '../../fixtures/runs.ts';
import { type StoreBench, startStore } from './start.ts';

const ID = 'com.example.guest';
const packages = new AppPackages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

/** Keeps what it was at when everything ended, and takes it back or goes on for the next Core, as plugin `changes` does. */
class CutOffChanges extends InstantChanges {
  /** Steps that are begun before it all ends; the last one is done or not. */
  #left = Number.POSITIVE_INFINITY;
  #last = true;
  #record: { maker: string; begun: string[]; done: string[]; data: Record<string, unknown> } | undefined;

  cutAfter(steps: number, last: boolean): void {
    this.#left = steps;
    this.#last = last;
  }

  override async begin({ data, ...rest }: Parameters<InstantChanges['begin']>[0]): Promise<string> {
    const record = { maker: rest.kind, begun: [] as string[], done: [] as string[], data: { ...data } };
    this.#record = record;
    const maker = this.makers.get(rest.kind);
    for (const { name } of maker?.steps ?? []) {
      if (this.#left-- <= 0) break;
      record.begun.unshift(name);
      if (this.#left === 0 && !this.#last) break;
      // What the disk refuses is where it was cut off.
      const more = await maker?.perform(name, record.data, '1').catch(() => undefined);
      if (!more) break;
      record.data = { ...record.data, ...more };
      record.done.push(name);
    }
    return '1';
  }

  /** What the next Core does with it, with the makers of that Core. */
  async takeUp(next: InstantChanges): Promise<void> {
    const record = this.#record;
    const maker = record && next.makers.get(record.maker);
    if (!record || !maker) return;
    const data = JSON.parse(JSON.stringify(record.data));
    if (!record.done.includes(maker.commit)) {
      for (const name of record.begun) await maker.undo(name, data, '1');
      return;
    }
    const begun = [...record.begun];
    try {
      for (const { name } of maker.steps) {
        if (record.done.includes(name)) continue;
        begun.unshift(name);
        await maker.perform(name, data, '1');
      }
    } catch {
      for (const name of begun) await maker.undo(name, data, '1');
    }
  }

  override async get(): Promise<ChangeInfo> {
    return { state: 'done', result: {} } as never;
  }
}

const dataOf = ({ state }: StoreBench) => join(state, 'apps', ID, 'data');

function writing(bench: StoreBench): void {
  bench.apps.onStart = ({ version }) => {
    mkdirSync(dataOf(bench), { recursive: true });
    writeFileSync(join(dataOf(bench), 'version'), version);
  };
}

/** The list names one version, whose code is whole; its data are of its form; nothing else lies there. */
async function check(bench: StoreBench, where: string): Promise<string> {
  const { apps } = await bench.store.list();
  assert.equal(apps.length, 1, where);
  const [app] = apps;
  assert.ok(app);
  const list = async () => readFileSync(`${app.folder}.sha256`, 'utf8');
  const change = await changeOf(APP_PACKAGE, app.folder, app.hash, list, { files: 100, bytes: 1 << 20 });
  assert.equal(change, undefined, where);
  const [form, data] = [app.version, readFileSync(join(dataOf(bench), 'version'), 'utf8')].map(
    (one) => one.split('.')[0],
  );
  assert.equal(data, form, `data of ${data} for ${app.version}, ${where}`);
  const staging = join(bench.place, '.staging');
  assert.deepEqual(existsSync(staging) ? readdirSync(staging) : [], [], where);
  return app.version;
}

/** One update that is cut off, and the start after it. Resolves with the version that runs then. */
async function cutOff(
  title: string,
  where: string,
  cut: (changes: CutOffChanges, disk: FaultyDisk) => void,
): Promise<string> {
  const root = mkdtempSync(join(tmpdir(), 'ak-'));
  const cutOffChanges = new CutOffChanges();
  try {
    {
      await using first = await startStore({ root });
      writing(first);
      await first.install(await packages.pack({ manifest: { data: { version: 1 } } }));
    }
    {
      using disk = new FaultyDisk();
      await using second = await startStore({ root, changes: cutOffChanges });
      writing(second);
      await second.apps.start(ID);
      cut(cutOffChanges, disk);
      const newer = await packages.pack({ version: '2.0.0', manifest: { title, data: { version: 2 } } });
      await second.install(newer).catch(() => undefined); // the disk may refuse even to unpack it
      disk.fault = undefined;
    }
    const next = new InstantChanges();
    await using third = await startStore({ root, changes: next });
    writing(third);
    await third.apps.start(ID);
    await cutOffChanges.takeUp(next);
    return await check(third, where);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}

const STEPS = 8;

test('killed in each step of an update, before and after it was done', async () => {
  const found = new Map<string, string>();
  for (let steps = 1; steps <= STEPS; steps++)
    for (const last of [false, true]) {
      const where = `step ${steps} ${last ? 'done' : 'begun'}`;
      found.set(where, await cutOff('fine', where, (changes) => changes.cutAfter(steps, last)));
    }
  const kept = [...found].filter(([, version]) => version === '2.0.0').map(([where]) => where);
  assert.deepEqual(kept, ['step 6 done', 'step 7 begun', 'step 7 done', 'step 8 begun', 'step 8 done']);
});

test('killed in each step of an update to a version that fails', async () => {
  for (let steps = 6; steps <= STEPS; steps++) {
    const version = await cutOff('never', `step ${steps}`, (changes) => changes.cutAfter(steps, true));
    assert.equal(version, '1.0.0', `step ${steps}`);
  }
});

test('a disk that fails at any write leaves one version whole', async () => {
  const found = new Set<string>();
  const points = runs(100);
  for (let point = 0; point < points; point++) {
    const at = (['write', 'sync', 'rename'] as const)[point % 3]!;
    const after = Math.floor(point / 3);
    const where = `${at} ${after}`;
    const version = await cutOff('fine', where, (_, disk) => {
      disk.fault = { at, code: 'EIO' };
      disk.after = after;
    });
    found.add(version);
  }
  assert.ok(found.size > 0);
});
