/** What apps take is measured against their budgets, told when it comes near, and has one consequence. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { limitsOf } from '@device-core/plugin-api/inside/app-spec';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import type { App } from '../../../plugins/apps/apps/app.ts';
import { AppBudget, BUDGETS, type BudgetChange } from '../../../plugins/apps/apps/app-budget.ts';
import { AppMeter } from '../../../plugins/apps/apps/app-meter.ts';
import { folderSize } from '../../../plugins/apps/apps/folder-size.ts';
import { FakeSupervisor } from '../../fixtures/fake-supervisor.ts';
import { shellSpec } from '../../fixtures/guest-spec.ts';
import { part } from '../../fixtures/scope.ts';
import { CONNECT, callAs, eventually, manifestOf, putApp, startBench } from './fixture.ts';

after(leakCheck());

const MIB = 1024 * 1024;
const ID = 'com.example.demo';
const LIMITS = limitsOf({ memoryMaxMB: 100, cpuPercent: 50, tasksMax: 10, storageMB: 10 });
const usage = (more: Partial<GuestUsage>): GuestUsage => ({ memory: 0, cpuMs: 0, tasks: 1, ...more });

describe('a budget', () => {
  it('is near at 80 %, over above its limit, and back well below', () => {
    const budget = new AppBudget(LIMITS);
    const states = [79, 80, 90, 101, 120, 99, 78, 74, 60, 81].map((mb) =>
      budget.measured('a', usage({ memory: mb * MIB }), 0).map(({ state }) => state),
    );
    assert.deepEqual(states, [[], ['near'], [], ['over'], [], ['near'], [], ['back'], [], ['near']]);
  });

  it('of the processor is what was taken between two looks at one run', () => {
    const budget = new AppBudget(LIMITS);
    const look = (run: string, cpuMs: number, at: number) =>
      budget.measured(run, usage({ cpuMs }), at).map(({ budget, used, state }) => [budget, used, state]);
    assert.deepEqual(look('a', 5_000, 0), []);
    assert.deepEqual(look('a', 8_000, 5_000), [['cpu', 60, 'over']]);
    assert.deepEqual(look('b', 10, 10_000), [], 'another run begins anew');
    assert.deepEqual(look('b', 10, 15_000), [['cpu', 0, 'back']]);
  });

  it('of what ended is back, and what was most stays known, with room for more in the proposal', () => {
    const budget = new AppBudget(LIMITS);
    budget.measured('a', usage({ memory: 90 * MIB, tasks: 4 }), 0);
    assert.deepEqual(
      budget.ended().map(({ budget, state }) => [budget, state]),
      [['memory', 'back']],
    );
    const [memory] = budget.uses();
    assert.deepEqual(memory, { budget: 'memory', used: 0, limit: 100, percent: 0, peak: 90, proposed: 144 });
  });

  it('tells each state once, for any measurements', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(200), { maxLength: 60 }), (values) => {
        const budget = new AppBudget(LIMITS);
        const told = values.flatMap((mb) => budget.measured('a', usage({ memory: mb * MIB }), 0));
        for (const [index, change] of told.entries()) assert.notEqual(change.state, told[index - 1]?.state);
        if (told.length > 0) assert.notEqual(told[0]?.state, 'back');
        const last = values.at(-1);
        if (last !== undefined && last > 100) assert.ok(budget.isOver('memory'));
      }),
    );
  });
});

describe('the size of a folder', () => {
  const root = mkdtempSync(join(tmpdir(), 'size-'));
  after(() => rmSync(root, { recursive: true }));

  it('is the size of all below it; links lead nowhere, and a missing folder takes nothing', async () => {
    await mkdir(join(root, 'a/b'), { recursive: true });
    writeFileSync(join(root, 'a/b/file'), Buffer.alloc(100_000, 1));
    symlinkSync('/usr', join(root, 'a/usr'));
    const { bytes, more } = await folderSize(root);
    assert.ok(bytes >= 100_000 && bytes < 200_000 && !more, String(bytes));
    assert.deepEqual(await folderSize(join(root, 'nowhere')), { bytes: 0, entries: 0, more: false });
  });

  it('counts each file and folder as a block at least, so that empty files fill a budget, too', async () => {
    const many = join(root, 'many');
    for (let index = 0; index < 30; index += 1) await mkdir(join(many, `folder${index}`), { recursive: true });
    for (let index = 0; index < 70; index += 1) writeFileSync(join(many, `empty${index}`), '');
    assert.deepEqual(await folderSize(many), { bytes: 100 * 4_096, entries: 100, more: false });
  });

  it('is found in bounded work', async () => {
    for (let index = 0; index < 20; index += 1) writeFileSync(join(root, `file${index}`), 'x');
    assert.equal((await folderSize(root, 10)).more, true);
  });
});

interface Measured {
  readonly changes: (BudgetChange & { readonly app: string })[];
  readonly failed: string[];
  fill(bytes: number): void;
  /** The app takes this from now on. */
  takes(usage: Partial<GuestUsage>): void;
  end(): void;
  readonly clock: ReturnType<typeof virtualClock>;
}

async function measured(storage: 'stop' | 'warn', test: (bench: Measured) => Promise<void>): Promise<void> {
  const clock = virtualClock();
  await using host = part(clock);
  const root = mkdtempSync(join(tmpdir(), 'meter-'));
  const handles: { takes(usage: Partial<GuestUsage>): void }[] = [];
  const supervisor = new FakeSupervisor({ play: (guest) => void handles.push(guest) });
  const spec = await shellSpec(root, 'demo', '');
  const { run } = await supervisor.start(spec, { token: 'x' });
  const folders = { data: join(root, 'data/com.example.demo'), cache: join(root, 'cache') };
  const failed: string[] = [];
  const changes: (BudgetChange & { readonly app: string })[] = [];
  const app = {
    manifest: { id: ID, name: 'demo' },
    budget: new AppBudget(LIMITS),
    folders,
    run: run as string | undefined,
    async fail(reason: string) {
      failed.push(reason);
    },
  };
  const meter = new AppMeter({
    scope: host.scope,
    log: host.log,
    supervisor,
    storage,
    apps: () => [app as unknown as App],
    publish: (event) => void changes.push(event),
  });
  meter.changed(app as unknown as App);
  try {
    await test({
      changes,
      failed,
      clock,
      fill: (bytes) => writeFileSync(join(folders.data, 'file'), Buffer.alloc(bytes, 1)),
      takes: (more) => handles[0]?.takes(more),
      end() {
        app.run = undefined;
        meter.changed(app as unknown as App);
      },
    });
  } finally {
    rmSync(root, { recursive: true });
  }
}

describe('apps that run', () => {
  it('are looked at every five seconds, and nothing is when none runs', async () => {
    await measured('stop', async ({ clock, changes, takes, end }) => {
      takes({ memory: 85 * MIB });
      await clock.advance(5_000);
      assert.deepEqual(
        changes.map(({ app, budget, state }) => [app, budget, state]),
        [[ID, 'memory', 'near']],
      );
      end();
      await clock.advance(20_000);
      assert.equal(changes.length, 2);
      assert.equal(clock.pending, 0, 'there is no timer for nobody');
    });
  });

  for (const [storage, reasons] of [
    ['stop', [/^it keeps \d+(\.\d)? MB in its data folder, and its budget is 10 MB; make room, then start it$/]],
    ['warn', []],
  ] as const)
    it(`with a full store are ${storage === 'stop' ? 'stopped after a minute' : 'told, where the SKU says so'}`, async () => {
      await measured(storage, async ({ clock, changes, failed, fill }) => {
        fill(12 * MIB);
        await clock.advance(5_000);
        await eventually(
          () => changes.some(({ budget, state }) => budget === 'storage' && state === 'over'),
          'it is over',
        );
        await clock.advance(61_000);
        if (reasons.length > 0) await eventually(() => failed.length > 0, 'the end');
        assert.equal(failed.length, reasons.length);
        for (const [index, reason] of reasons.entries()) assert.match(failed[index]!, reason);
      });
    });

  it('with a store that was full and is not are let be', async () => {
    await measured('stop', async ({ clock, changes, failed, fill }) => {
      fill(12 * MIB);
      await clock.advance(5_000);
      await eventually(() => changes.some(({ state }) => state === 'over'), 'it is over');
      fill(MIB);
      await clock.advance(61_000);
      await eventually(() => changes.some(({ state }) => state === 'back'), 'it is back');
      assert.deepEqual(failed, []);
    });
  });
});

describe('apps.usage and apps.top', () => {
  it('say what an app takes, against its limits', async () => {
    await using bench = await startBench({
      prepare: (installed) => putApp(installed, manifestOf(ID, { resources: { memoryMaxMB: 200 } }), CONNECT),
    });
    const operator = callAs({ kind: 'operator', id: 'operator' });
    assert.deepEqual(
      (
        (await bench.operation('apps.usage').run({ id: 'demo' }, operator)) as { usage: { budget: string }[] }
      ).usage.map(({ budget }) => budget),
      ['storage', 'cache'],
      'it has not run',
    );
    await bench.apps.start(ID);
    const { app, usage } = (await bench.operation('apps.usage').run({ id: 'demo' }, operator)) as {
      readonly app: string;
      readonly usage: readonly { readonly budget: string; readonly used: number; readonly limit: number }[];
    };
    assert.equal(app, ID);
    const memory = usage.find(({ budget }) => budget === 'memory');
    assert.ok(memory && memory.used > 1 && memory.limit === 200, JSON.stringify(usage));
    const { apps } = (await bench.operation('apps.top').run({}, operator)) as {
      readonly apps: readonly { readonly id: string; readonly shown: Readonly<Record<string, string>> }[];
    };
    assert.equal(apps[0]?.id, ID);
    assert.match(apps[0]?.shown.memory ?? '', /^[\d.]+ of 200 MB$/);
    assert.ok(BUDGETS.includes('memory'));
  });
});
