/** A manifest that cannot be used any more leaves the last good one in force, and says so until it is mended (decisions D7a). */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, unlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import { alive, type Bench, callAs, eventually, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const GOOD = `manifestVersion: 1
id: ${ID}
name: demo
version: 1.0.0
title: Demo
exec: { command: node, args: [main.cjs] }
capabilities: []
`;

after(leakCheck());

async function startWith(text: string): Promise<Bench> {
  const bench = await startBench({
    prepare: async (installed) => {
      await putApp(installed, manifestOf(ID));
      await writeFile(join(installed, ID, 'app.yaml'), text);
    },
  });
  await bench.host.hook('kernel.ready').promise();
  return bench;
}

const complained = (bench: Bench): Promise<AppStatus> =>
  eventually(async () => {
    const status = await bench.status(ID);
    return status.complaint === undefined ? undefined : status;
  }, 'the complaint');

async function healthOf(bench: Bench, name: string) {
  const found: Record<string, { readonly status: string; readonly code?: string; readonly message?: string }> = {};
  const report = { add: (id: string, health: object) => Object.assign(found, { [id]: health }), warn: () => undefined };
  await bench.host.hook('health.collect').promise(report as unknown as HealthReport);
  return found[name];
}

const FAULTS: readonly (readonly [what: string, text: string, complaint: RegExp])[] = [
  ['a member that is not known', `${GOOD}titel: Demo\n`, /^MANIFEST_INVALID: .*app\.yaml:8 .*titel is not a member/],
  ['a fault of YAML', GOOD.replace('exec: {', 'exec: [{'), /^MANIFEST_INVALID: .*app\.yaml:\d+ is not valid/],
  ['half of the file', GOOD.slice(0, GOOD.length / 2), /^MANIFEST_INVALID: .*app\.yaml/],
  ['nothing in it', '', /^MANIFEST_INVALID: .*app\.yaml/],
  [
    'a capability that there is not',
    GOOD.replace('[]', '[{ id: brigdes.spi, reason: reads }]'),
    /^CAPABILITY_UNKNOWN: .*app\.yaml:7\); did you mean bridges\.spi/,
  ],
  [
    'an id that is a typo',
    GOOD.replace(ID, 'com.example.demmo'),
    /^MANIFEST_INVALID: .*must be named com\.example\.demmo/,
  ],
];

describe('an app whose manifest becomes invalid', () => {
  for (const [what, text, complaint] of FAULTS)
    it(`runs on with ${what}, and everybody is told until it is mended`, async () => {
      await using bench = await startWith(GOOD);
      const { pid } = await bench.reach(ID, 'running');
      const file = join(bench.installed, ID, 'app.yaml');
      await writeFile(file, text);
      const status = await complained(bench);
      assert.match(status.complaint ?? '', complaint);
      assert.deepEqual([status.state, status.pid], ['running', pid]);
      assert.equal((await bench.apps.list()).length, 1);
      const health = await healthOf(bench, 'app.demo');
      assert.equal(health?.status, 'error');
      assert.match(`${health?.code}: ${health?.message}`, complaint);
      const told = () =>
        bench.host.logged.filter(({ level, message }) => level === 'error' && /goes on with/.test(message));
      assert.equal(told().length, 1, 'once, not with every look');
      assert.match(`${told()[0]?.message}`, /app\.yaml/);
      const event = bench.host.published.findLast(({ topic }) => topic === 'app.state')?.payload as AppStatus;
      assert.match(event.complaint ?? '', complaint);

      await writeFile(file, GOOD);
      await eventually(async () => (await bench.status(ID)).complaint === undefined, 'the end of the complaint');
      assert.equal((await bench.status(ID)).pid, pid, 'it was never stopped');
      assert.equal((await healthOf(bench, 'app.demo'))?.status, 'okay');
      assert.ok(bench.host.logged.some(({ message }) => /in order again/.test(message)));
    });

  it('may be restarted meanwhile, and takes what the mended file says', async () => {
    await using bench = await startWith(GOOD);
    const { pid } = await bench.reach(ID, 'running');
    const file = join(bench.installed, ID, 'app.yaml');
    await writeFile(file, `${GOOD}titel: Demo\n`);
    await complained(bench);
    const again = await bench.apps.restart('demo');
    assert.equal(again.state, 'running');
    assert.notEqual(again.pid, pid);
    await writeFile(file, GOOD.replace('title: Demo', 'title: Mended'));
    const mended = await eventually(async () => {
      const status = await bench.status(ID);
      return status.title === 'Mended' && status.state === 'running' ? status : undefined;
    }, 'the mended one');
    assert.equal(mended.complaint, undefined);
  });

  it('shows other apps nothing of the complaint', async () => {
    await using bench = await startWith(GOOD);
    await bench.reach(ID, 'running');
    await writeFile(join(bench.installed, ID, 'app.yaml'), 'x');
    await complained(bench);
    const list = async (id: string) => {
      const { apps } = (await bench.operation('apps.list').run({}, callAs({ kind: 'app', id }))) as {
        apps: AppStatus[];
      };
      return apps[0];
    };
    assert.equal((await list('com.example.other'))?.complaint, undefined);
    assert.match((await list(ID))?.complaint ?? '', /MANIFEST_INVALID/);
  });

  it('starts with the last good one when the Core starts again', async () => {
    const root = await mkdtemp(join(tmpdir(), 'lg-'));
    try {
      const file = join(root, 'var/apps', ID, 'app.yaml');
      await putApp(join(root, 'var/apps'), manifestOf(ID));
      await writeFile(file, GOOD);
      {
        await using bench = await startBench({ root });
        await bench.host.hook('kernel.ready').promise();
        await bench.reach(ID, 'running');
      }
      const kept = join(root, 'var/app-manifests');
      assert.deepEqual(await readdir(kept), [`${ID}.json`]);
      assert.equal(JSON.parse(await readFile(join(kept, `${ID}.json`), 'utf8')).text, GOOD);
      await writeFile(file, `${GOOD}titel: Demo\n`);
      await using bench = await startBench({ root });
      await bench.host.hook('kernel.ready').promise();
      const status = await bench.reach(ID, 'running');
      assert.match(status.complaint ?? '', /titel is not a member/);
    } finally {
      await rm(root, { recursive: true });
    }
  });
});

describe('an app whose manifest is not there', () => {
  it('runs on while the file is away, however it is replaced', async () => {
    await using bench = await startWith(GOOD);
    const { pid } = await bench.reach(ID, 'running');
    const folder = join(bench.installed, ID);
    await rename(join(folder, 'app.yaml'), join(folder, 'app.yaml~'));
    const status = await complained(bench);
    assert.match(status.complaint ?? '', /the file is not there/);
    assert.deepEqual([status.state, status.pid], ['running', pid]);
    await writeFile(join(folder, 'app.yaml'), GOOD);
    await eventually(async () => (await bench.status(ID)).complaint === undefined, 'the end of the complaint');
    assert.equal((await bench.status(ID)).pid, pid);
  });

  it('goes when nothing but its data is left, after a moment, and nothing of it is kept', async () => {
    await using bench = await startWith(GOOD.replace('[]', '[{ id: storage-scoped, reason: it keeps files }]'));
    const { pid } = await bench.reach(ID, 'running');
    const folder = join(bench.installed, ID);
    await unlink(join(folder, 'main.cjs'));
    await unlink(join(folder, 'app.yaml'));
    await complained(bench);
    await eventually(async () => (await bench.apps.list()).length === 0, 'an empty list');
    assert.equal(alive(pid ?? 0), false);
    assert.deepEqual((await readdir(folder)).toSorted(), ['cache', 'data']);
    assert.deepEqual(await readdir(join(bench.paths.var, 'app-manifests')), []);
  });
});

describe('the kept manifests', () => {
  it('of a newer Core are left alone and told, damaged ones do no harm', async () => {
    const newer = JSON.stringify({ format: 2, folder: '/nowhere', text: 'from the future' });
    await using bench = await startBench({
      prepare: async (installed, { var: state }) => {
        await mkdir(join(state, 'app-manifests'), { recursive: true });
        await writeFile(join(state, 'app-manifests', `${ID}.json`), newer);
        await writeFile(join(state, 'app-manifests', 'com.example.cut.json'), '{"format": 1, "fol');
        await putApp(installed, manifestOf(ID));
      },
    });
    assert.equal((await bench.apps.start(ID)).state, 'running');
    assert.equal(await readFile(join(bench.paths.var, 'app-manifests', `${ID}.json`), 'utf8'), newer);
    const warned: string[] = [];
    const report = { add: () => undefined, warn: (code: string) => void warned.push(code) };
    await bench.host.hook('health.collect').promise(report as unknown as HealthReport);
    // APPS_INSECURE stands beside it where the machine has no bubblewrap.
    assert.deepEqual(
      warned.filter((code) => code !== 'APPS_INSECURE'),
      ['STATE_NEWER'],
    );
  });
});
