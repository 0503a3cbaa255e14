/** Changes: steps with do and undo, recorded before they run. Cut off at any point, the world is the old or the new one. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import {
  type ChangeData,
  type ChangeInfo,
  type ChangeMaker,
  type ChangeRequest,
  changes,
} from '@device-core/plugin-api/inside/services/changes';
import { device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, type TestHost } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';
import { plugin } from '../../../plugins/life/changes/index.ts';
import { eventually, turns } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';

const MANIFEST = 'manifests/plugins/life/changes.yaml';
const STEPS = ['a', 'b', 'c', 'd'] as const;
const KIND = 'world.change';
const OPERATOR: Caller = { kind: 'operator', id: 'operator' };

after(leakCheck());

type Where = 'before' | 'middle' | 'after';
/** Where this run of the Core ends, or a step fails: at a step, in its do or its undo. */
interface Point {
  readonly verb: 'do' | 'undo';
  readonly step: string;
  readonly where: Where;
}

const same = (a: Point | undefined, b: Point) => a?.verb === b.verb && a.step === b.step && a.where === b.where;

/** Four files that are old or new: each step writes one, in two halves. It outlives the Core. */
class World implements Disposable {
  readonly root = mkdtempSync(join(tmpdir(), 'dw-'));

  constructor() {
    mkdirSync(join(this.root, 'world'));
    for (const step of STEPS) this.write(step, 'old');
  }

  write(step: string, text: string): void {
    writeFileSync(join(this.root, 'world', step), text);
  }

  /** `old`, `new`, or what is half. */
  get state(): string {
    const texts = new Set(STEPS.map((step) => readFileSync(join(this.root, 'world', step), 'utf8')));
    return texts.size === 1
      ? [...texts].join()
      : STEPS.map((step) => readFileSync(join(this.root, 'world', step), 'utf8')).join();
  }

  record(id: string): {
    readonly state: string;
    readonly steps: readonly { readonly name: string; readonly state: string }[];
  } {
    return JSON.parse(readFileSync(join(this.root, 'var/changes', `${id}.json`), 'utf8'));
  }

  [Symbol.dispose](): void {
    rmSync(this.root, { recursive: true, force: true });
  }
}

interface Fate {
  readonly world: World;
  readonly end?: Point | undefined;
  readonly fails?: Point | undefined;
}

/** Makes changes of a world until `end` is reached: from there on nothing of it ever happens, as in a process that was killed. */
class Maker implements ChangeMaker {
  readonly kind = KIND;
  readonly capability = 'system.plugins';
  readonly steps = STEPS.map((name) => ({ name, summary: `doing ${name}` }));
  readonly commit = 'c';
  readonly ended = Promise.withResolvers<void>();
  readonly seen: string[] = [];
  #dead = false;

  readonly #about: Fate;

  constructor(about: Fate) {
    this.#about = about;
  }

  readonly perform = async (step: string, data: ChangeData, change: string): Promise<ChangeData> => {
    const { world } = this.#about;
    await this.#at('do', step, 'before');
    const recorded = world.record(change).steps.find(({ name }) => name === step);
    assert.equal(recorded?.state, 'doing', 'it is recorded before it runs');
    this.seen.push(step);
    world.write(step, 'half');
    await this.#at('do', step, 'middle');
    world.write(step, 'new');
    await this.#at('do', step, 'after');
    return {
      count: Number(data.count ?? 0) + 1,
      ...(step === 'd' && { result: { steps: Number(data.count ?? 0) + 1 } }),
    };
  };

  readonly undo = async (step: string): Promise<void> => {
    const { world } = this.#about;
    await this.#at('undo', step, 'before');
    this.seen.push(`-${step}`);
    world.write(step, 'half');
    await this.#at('undo', step, 'middle');
    world.write(step, 'old');
    await this.#at('undo', step, 'after');
  };

  async #at(verb: Point['verb'], step: string, where: Where): Promise<void> {
    const point = { verb, step, where };
    if (same(this.#about.fails, point)) throw new Error(`no luck with ${step}`);
    this.#dead ||= same(this.#about.end, point);
    if (!this.#dead) return;
    this.ended.resolve();
    await new Promise(() => undefined);
  }
}

interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  serve(maker: ChangeMaker): Disposable;
  begin(more?: Partial<ChangeRequest>): Promise<string>;
  over(id: string): Promise<ChangeInfo>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  ask(name: string, params?: object, caller?: Caller): Promise<any>;
}

async function boot(root: string, config: object = {}): Promise<Bench> {
  const gate = await createTestHost(operationsPlugin, { manifest: 'manifests/plugins/interface/operations.yaml' });
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config,
    grants: { 'app.com.example.holder': ['system.plugins'] },
    services: [
      [device, { info: async () => ({ paths }) as never }],
      [operations, gate.service(operations)],
    ],
  });
  const service = host.service(changes);
  const call = (caller: Caller) => ({ caller, signal: AbortSignal.timeout(20_000), deadline: Date.now() + 20_000 });
  return {
    host,
    serve: (maker) => service.serve(maker),
    begin: (more = {}) =>
      service.begin({ kind: KIND, subject: 'world', summary: 'a new world', data: {}, by: 'operator', ...more }),
    over: (id) =>
      eventually(async () => {
        const change = await service.get(id);
        return change.endedAt !== undefined && change;
      }, `the end of change ${id}`),
    ask: (name, params = {}, caller = OPERATOR) => gate.service(operations).invoke(name, params, call(caller)),
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      await gate.stop();
    },
  };
}

const points = (verb: Point['verb']) =>
  STEPS.flatMap((step) => (['before', 'middle', 'after'] as const).map((where): Point => ({ verb, step, where })));

describe('a change', () => {
  it('does its steps, hands on what each found, and tells how far it is', async () => {
    using world = new World();
    await using bench = await boot(world.root);
    const maker = new Maker({ world });
    bench.serve(maker);
    const id = await bench.begin();
    const { state, result, progress, steps, by } = await bench.over(id);
    assert.deepEqual([state, result, progress, by], ['done', { steps: 4 }, { done: 4, of: 4 }, 'operator']);
    assert.deepEqual(new Set(steps.map((step) => step.state)), new Set(['done']));
    assert.equal(world.state, 'new');
    await bench.host.settle();
    const told = bench.host.published.filter(({ topic }) => topic === 'change.state').map(({ payload }) => payload);
    assert.deepEqual(told[0], { change: id, kind: KIND, subject: 'world', state: 'waiting', done: 0, of: 4 });
    assert.deepEqual(told[2], { change: id, kind: KIND, subject: 'world', state: 'doing', done: 1, of: 4, step: 'b' });
    assert.deepEqual(told.at(-1), { change: id, kind: KIND, subject: 'world', state: 'done', done: 4, of: 4 });
  });

  for (const fails of points('do'))
    it(`that fails ${fails.where} its step ${fails.step} is undone, the last step first`, async () => {
      using world = new World();
      await using bench = await boot(world.root);
      const maker = new Maker({ world, fails });
      bench.serve(maker);
      const { state, error } = await bench.over(await bench.begin());
      assert.deepEqual([state, world.state], ['undone', 'old']);
      assert.match(error?.message ?? '', /internal error in a change|no luck/);
      const undone = maker.seen.filter((one) => one.startsWith('-'));
      assert.deepEqual(
        undone,
        STEPS.slice(0, STEPS.indexOf(fails.step as 'a') + 1)
          .map((one) => `-${one}`)
          .toReversed(),
      );
    });

  it('with a step that cannot be undone says so, and undoes the others', async () => {
    using world = new World();
    await using bench = await boot(world.root);
    const maker = new Maker({ world, fails: { verb: 'undo', step: 'b', where: 'before' } });
    const { perform } = maker;
    bench.serve({
      ...maker,
      undo: maker.undo,
      perform: (step, data, id) => (step === 'c' ? Promise.reject(new Error('c')) : perform(step, data, id)),
    });
    const { state, steps } = await bench.over(await bench.begin());
    assert.deepEqual([state, steps.map((step) => step.state)], ['failed', ['undone', 'failed', 'undone', 'waiting']]);
  });
});

/** Ends the Core at this point; the next one serves again, and may be ended as well. Resolves with what the world is when it is over. */
async function killed(ends: readonly (Point | undefined)[], fails?: Point): Promise<string> {
  using world = new World();
  let id = '';
  for (const end of [...ends, undefined]) {
    await using bench = await boot(world.root);
    const maker = new Maker({ world, end, fails });
    bench.serve(maker);
    if (id === '') id = await bench.begin();
    const over = bench.over(id).then(({ state }) => state);
    const first = await Promise.race([maker.ended.promise.then(() => 'ended'), over]);
    if (first === 'ended') {
      over.catch(() => undefined); // this run of the Core is over
      continue;
    }
    const state = { done: 'new', undone: 'old' }[first] ?? first;
    assert.equal(world.state, state, `${first} after ${JSON.stringify(ends)}`);
    return state;
  }
  throw new Error('it never ended');
}

describe('a Core that is killed', () => {
  for (const end of points('do')) {
    const committed = end.step === 'd';
    it(`${end.where} step ${end.step} ${committed ? 'goes on' : 'takes it back'} at its next start`, async () => {
      assert.equal(await killed([end]), committed ? 'new' : 'old');
    });
  }

  for (const end of points('undo'))
    it(`${end.where} it undoes step ${end.step} goes on with that`, async () => {
      assert.equal(await killed([end], { verb: 'do', step: 'd', where: 'after' }), 'old');
    });

  it('again and again, anywhere: the world is the old or the new one in the end', async () => {
    const point = fc.constantFrom(...points('do'), ...points('undo'));
    const fails = fc.option(fc.constantFrom(...points('do')), { nil: undefined });
    await fc.assert(
      fc.asyncProperty(fc.array(point, { maxLength: 4 }), fails, async (ends, one) => {
        assert.match(await killed(ends, one), /^(old|new)$/);
      }),
      { numRuns: runs(100) },
    );
  });

  it('leaves the change to the plugin that makes it, however late that comes', async () => {
    using world = new World();
    let id = '';
    {
      await using bench = await boot(world.root);
      const maker = new Maker({ world, end: { verb: 'do', step: 'd', where: 'before' } });
      bench.serve(maker);
      id = await bench.begin();
      await maker.ended.promise;
    }
    await using bench = await boot(world.root);
    assert.equal((await bench.ask('changes.get', { id })).state, 'doing');
    bench.serve(new Maker({ world }));
    assert.deepEqual([(await bench.over(id)).state, world.state], ['done', 'new']);
  });
});

/** Holds each change at its first step until it is let go. */
class Gate implements ChangeMaker {
  readonly kind = KIND;
  readonly capability = 'system.plugins';
  readonly steps = [{ name: 'hold', summary: 'holding' }];
  readonly commit = 'hold';
  readonly held = new Map<string, () => void>();

  readonly perform = async (_step: string, _data: ChangeData, id: string): Promise<ChangeData> => {
    await new Promise<void>((resolve) => this.held.set(id, resolve));
    this.held.delete(id);
    return {};
  };

  readonly undo = async (): Promise<void> => undefined;
}

describe('many changes', () => {
  it('of one subject are made one after the other, of others two at a time, and eight may wait', async () => {
    using world = new World();
    await using bench = await boot(world.root);
    const gate = new Gate();
    bench.serve(gate);
    const ids = [
      await bench.begin({ subject: 'one' }),
      await bench.begin({ subject: 'one' }),
      await bench.begin({ subject: 'two' }),
      await bench.begin({ subject: 'three' }),
    ] as const;
    await eventually(() => gate.held.size === 2, 'two that are made');
    await turns();
    assert.deepEqual([...gate.held.keys()], [ids[0], ids[2]]);
    for (let more = 0; more < 6; more++) await bench.begin({ subject: 'one' });
    await assert.rejects(bench.begin({ subject: 'one' }), { code: 'BUSY' });
    gate.held.get(ids[0])!();
    await eventually(() => gate.held.has(ids[1]), 'the next of the subject');
    await eventually(async () => {
      for (const release of gate.held.values()) release();
      return (await bench.ask('changes.list')).changes.every((one: ChangeInfo) => one.state === 'done');
    }, 'all of them');
  });

  it('are kept so many, the newest, and ids are not used again', async () => {
    using world = new World();
    {
      await using bench = await boot(world.root, { history: 3 });
      bench.serve(new Maker({ world }));
      for (let count = 0; count < 5; count++) await bench.over(await bench.begin());
      await eventually(() => readdirSync(join(world.root, 'var/changes')).length === 3, 'three records');
    }
    await using bench = await boot(world.root, { history: 3 });
    bench.serve(new Maker({ world }));
    assert.deepEqual(
      (await bench.ask('changes.list')).changes.map(({ id }: ChangeInfo) => id),
      ['5', '4', '3'],
    );
    assert.equal(await bench.begin(), '6');
    await bench.over('6');
  });

  it('of no maker are refused, and a damaged or newer record keeps no change from starting', async () => {
    using world = new World();
    mkdirSync(join(world.root, 'var/changes'), { recursive: true });
    for (const [name, text] of Object.entries({ '1': '{', '2': '{}', '3': '{"format":2}' }))
      writeFileSync(join(world.root, 'var/changes', `${name}.json`), text);
    await using bench = await boot(world.root);
    await assert.rejects(bench.begin(), { code: 'UNAVAILABLE' });
    assert.deepEqual((await bench.ask('changes.list')).changes, []);
    assert.equal(readFileSync(join(world.root, 'var/changes/3.json'), 'utf8'), '{"format":2}');
    bench.serve(new Maker({ world }));
    assert.equal(await bench.begin(), '4');
    await bench.over('4');
  });

  it('are told to their starter and to holders of their capability, to no other, and never with their data', async () => {
    using world = new World();
    await using bench = await boot(world.root);
    bench.serve(new Maker({ world }));
    const id = await bench.begin({ by: 'app.com.example.own', data: { secret: 'x' } });
    await bench.over(id);
    const app = (name: string): Caller => ({ kind: 'app', id: `com.example.${name}` });
    for (const caller of [OPERATOR, app('own'), app('holder')]) {
      const change = await bench.ask('changes.get', { id }, caller);
      assert.deepEqual([change.id, 'data' in change], [id, false]);
      assert.equal((await bench.ask('changes.list', {}, caller)).changes.length, 1);
    }
    await assert.rejects(bench.ask('changes.get', { id }, app('other')), { code: 'CHANGE_NOT_FOUND' });
    assert.deepEqual((await bench.ask('changes.list', {}, app('other'))).changes, []);
  });
});
