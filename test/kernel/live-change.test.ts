import assert from 'node:assert/strict';
import { after, suite, test } from 'node:test';
import { type CoreError, type EventEnvelope, type PluginHost, serviceRef } from '@device-core/plugin-api';
import { device } from '@device-core/plugin-api/services/device';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { type MemoryKernel, type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

/** Provides a service of its name and requires those of others; writes down its starts and stops. */
function link(id: string, requires: readonly string[], seen: string[], more: Partial<MemoryPlugin> = {}): MemoryPlugin {
  return {
    id,
    provides: { [id]: '1.0.0' },
    requires: Object.fromEntries(requires.map((name) => [name, '^1.0.0'])),
    plugin: {
      requires: Object.fromEntries(requires.map((name) => [name, serviceRef(name, '1.0.0')])),
      setup(host: PluginHost<{ readonly broken?: boolean }>) {
        seen.push(`+${id}`);
        host.scope.defer('mark', () => void seen.push(`-${id}`));
        if (host.config.broken) throw new Error(`${id} is broken`);
      },
    },
    ...more,
  };
}

async function generations(core: MemoryKernel): Promise<string> {
  const { plugins } = await core.kernel.status();
  return plugins
    .map(({ id, generation, state }) => `${id}${generation}${state === 'active' ? '' : ` ${state}`}`)
    .join();
}

/** `a`, `b` that needs it, and `c` apart. */
async function start(more: readonly MemoryPlugin[] = [], clock?: VirtualClock) {
  const seen: string[] = [];
  const [a, b, c] = [link('a', [], seen), link('b', ['a'], seen), link('c', [], seen)] as const;
  const core = memoryKernel([a, b, c, ...more], clock);
  await core.kernel.start();
  seen.length = 0;
  const dispose = () => core[Symbol.asyncDispose]();
  return { core, a, b, c, seen, [Symbol.asyncDispose]: dispose };
}

test('a change starts new plugins, stops removed ones, and restarts changed ones with their dependents only', async () => {
  await using lab = await start();
  const { core, a, b, c, seen } = lab;
  const d = link('d', ['b'], seen);
  const change = await core.apply([{ ...a, settings: { level: 2 } }, b, d]);
  assert.deepEqual(change, {
    added: ['d'],
    removed: ['c'],
    changed: ['a'],
    affected: ['a', 'b', 'c', 'd'],
    stale: [],
    device: false,
  });
  assert.deepEqual(seen, ['-b', '-c', '-a', '+a', '+b', '+d']);
  assert.equal(await generations(core), 'a2,b2,d1');
  await core.apply([a, b, c]);
  assert.equal(await generations(core), 'a3,b3,c2', 'one that comes back goes on counting');
});

test('a change that changes nothing touches nothing', async () => {
  await using lab = await start();
  const { affected } = await lab.core.apply([lab.a, lab.b, lab.c]);
  assert.deepEqual([affected, lab.seen], [[], []]);
});

test('a check tells what would happen, and touches nothing', async () => {
  await using lab = await start();
  const { core, a, b } = lab;
  const { removed, affected } = await core.apply([a, b], {}, { check: true });
  assert.deepEqual([removed, affected], [['c'], ['c']]);
  assert.deepEqual([lab.seen, core.kernel.sets().desired.plugins.length], [[], 3]);
});

const LINES: readonly (readonly [string, Partial<MemoryPlugin>])[] = [
  ['configuration', { settings: { level: 1 } }],
  ['version', { version: '1.1.0' }],
  ['importance', { essential: true }],
  ['place', { summary: 'moved' }],
];
for (const [what, part] of LINES) {
  test(`another ${what} restarts the plugin`, async () => {
    await using lab = await start();
    const { changed, stale } = await lab.core.apply([lab.a, lab.b, { ...lab.c, ...part }]);
    assert.deepEqual([changed, lab.seen], [['c'], ['-c', '+c']]);
    assert.deepEqual(stale, what === 'version' ? ['c'] : []);
  });
}

test('a line that disables a plugin stops it, and one that enables it starts it again', async () => {
  await using lab = await start();
  await lab.core.apply([{ ...lab.a, enabled: false }, lab.b, lab.c]);
  assert.deepEqual(await lab.core.states(), { a: 'stopped', b: 'waiting', c: 'active' });
  await lab.core.apply([lab.a, lab.b, lab.c]);
  assert.deepEqual(await lab.core.states(), { a: 'active', b: 'active', c: 'active' });
});

test('plugins that the operator disabled stay so when other things of their line change', async () => {
  await using lab = await start();
  await lab.core.kernel.disable('c');
  await lab.core.apply([lab.a, lab.b, { ...lab.c, settings: { level: 1 } }]);
  assert.equal((await lab.core.states()).c, 'stopped');
});

test('a SKU with a problem that stops the Core is refused, with every problem, and nothing is touched', async () => {
  await using lab = await start();
  const { core, a } = lab;
  const problem = { file: 'sku.yaml', line: 7, code: 'SKU_INVALID', message: 'it is wrong', stops: 'core' } as const;
  await assert.rejects(core.apply([a], { problems: [problem] }), (error: CoreError) => {
    assert.equal(error.code, 'SKU_INVALID');
    assert.deepEqual([error.details.file, error.details.problems], ['sku.yaml:7', [problem]]);
    return true;
  });
  assert.deepEqual(lab.seen, []);
  const { desired, running, lastGood } = core.kernel.sets();
  assert.deepEqual([desired.plugins.length, running.plugins.length, lastGood === running], [1, 3, true]);
});

const BROKEN = { settings: { broken: true } };
test('a change after which a plugin fails that was active is undone as a whole, and the error names it', async () => {
  const clock = new VirtualClock();
  await using lab = await start([], clock);
  const { core, a, b, c, seen } = lab;
  const change = core.apply([{ ...a, settings: { level: 2 } }, { ...b, ...BROKEN }, link('d', [], seen)]);
  await assert.rejects(change, {
    code: 'CHANGE_UNDONE',
    message: 'cannot apply the change: plugin b failed to start: b is broken; the former plugins run again',
  });
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', c: 'active' });
  await clock.advance(60_000);
  assert.equal(await generations(core), 'a3,b3,c2');
  assert.deepEqual((await core.kernel.service(device).info()).grants, {});
  assert.equal(core.kernel.sets().running, core.kernel.sets().lastGood);
  await core.apply([a, b, c]);
});

test('a change after which a new plugin fails is undone; one that failed before may go on failing', async () => {
  const clock = new VirtualClock();
  const bad = link('bad', [], [], BROKEN);
  await using lab = await start([bad], clock);
  const { core, a, b, c } = lab;
  await assert.rejects(core.apply([a, b, c, bad, link('worse', [], [], BROKEN)]), { code: 'CHANGE_UNDONE' });
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', c: 'active', bad: 'failed' });
  await core.apply([a, b, { ...bad, summary: 'another attempt' }]);
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', bad: 'failed' });
  const { running, lastGood } = core.kernel.sets();
  assert.deepEqual([running.plugins.length, lastGood], [3, undefined]);
});

test('an undone change leaves disabled what the operator had disabled', async () => {
  await using lab = await start();
  const { core, a, b, c } = lab;
  await core.kernel.disable('c');
  await assert.rejects(core.apply([a, { ...b, ...BROKEN }, { ...c, enabled: false }]), { code: 'CHANGE_UNDONE' });
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', c: 'stopped' });
});

test('grants and data of the device follow the SKU; only plugins that know the device restart, and not for grants', async () => {
  const seen: string[] = [];
  const knows = link('knows', [], seen, { requires: { device: '^1.0.0' } });
  await using lab = await start([knows]);
  const { core, a, b, c } = lab;
  seen.length = 0;
  const told: unknown[] = [];
  const watcher: MemoryPlugin = {
    id: 'watcher',
    plugin: {
      setup(host) {
        host.bus.subscribe('plugin.changed', ({ payload, source }: EventEnvelope) => void told.push([source, payload]));
      },
    },
  };
  await core.apply([a, b, c, knows, watcher]);
  told.length = 0;
  const grants = { 'com.example.a': ['audio.tone'] };
  const change = await core.apply([a, b, c, knows, watcher], { sku: { grants } });
  assert.deepEqual((await core.kernel.service(device).info()).grants, grants);
  assert.deepEqual(seen, []);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(told, [['core', { result: 'applied', ...change }]]);
  assert.equal(change.device, true);
  await core.apply([a, b, c, knows, watcher], { sku: { title: 'Another' } });
  assert.deepEqual(seen, ['-knows', '+knows']);
  assert.equal((await core.kernel.service(device).info()).sku.title, 'Another');
});

test('changes that come together are made one after the other', async () => {
  await using lab = await start();
  const { core, a, b, c, seen } = lab;
  const d = link('d', [], seen);
  const all = [core.apply([a, b]), core.apply([a]), core.kernel.restart('a'), core.apply([a, b, c, d])];
  await Promise.all(all);
  assert.deepEqual(await core.states(), { a: 'active', b: 'active', c: 'active', d: 'active' });
});

test('any sequence of changes, restarts, crashes and releases ends as a fresh start of the last set does', async () => {
  const names = ['p0', 'p1', 'p2', 'p3', 'p4'] as const;
  const set = fc.record({
    members: fc.subarray([...names], { minLength: 1 }),
    levels: fc.tuple(...names.map(() => fc.nat(2))),
    off: fc.subarray([...names], { maxLength: 1 }),
    broken: fc.subarray([...names], { maxLength: 1 }),
  });
  const edges = fc.array(fc.tuple(fc.nat(4), fc.nat(4)), { maxLength: 5 });
  const verb = fc.constantFrom('restart', 'disable', 'enable', 'release', 'crash', 'wait');
  const step = fc.oneof(fc.record({ apply: set }), fc.record({ verb, id: fc.constantFrom(...names) }));
  const pluginsOf = (
    held: Set<object>,
    needs: readonly [number, number][],
    one: Partial<typeof set extends fc.Arbitrary<infer T> ? T : never>,
  ) =>
    (one.members ?? names).map((id, index): MemoryPlugin => {
      const requires = [...new Set(needs.filter(([x, y]) => x > y && `p${x}` === id).map(([, y]) => `p${y}`))];
      const broken = one.broken?.includes(id) ?? false;
      const plugin = link(id, requires, []);
      const setup = (host: PluginHost) => {
        const mark = {};
        held.add(mark);
        host.scope.defer('mark', () => void held.delete(mark));
        host.scope.interval('tick', 60_000, () => undefined);
        if (broken) throw new Error('broken');
      };
      return {
        ...plugin,
        plugin: { ...plugin.plugin, setup },
        settings: { level: one.levels?.[index] ?? 0, broken },
        enabled: !one.off?.includes(id),
      };
    });
  await fc.assert(
    fc.asyncProperty(edges, fc.array(step, { maxLength: 12 }), async (needs, steps) => {
      const held = new Set<object>();
      const clock = new VirtualClock();
      let last = pluginsOf(held, needs, {});
      const touched = new Set<string>();
      await using core = memoryKernel(last, clock);
      await core.kernel.start();
      for (const one of steps) {
        if ('apply' in one) {
          const next = pluginsOf(held, needs, one.apply);
          const done = await core.apply(next).then(
            () => true,
            (error: CoreError) => assert.equal(error.code, 'CHANGE_UNDONE'),
          );
          if (done) last = next;
        } else if (one.verb === 'wait') await clock.advance(2_000);
        else if (one.verb === 'crash') {
          const error = new Error('escaped');
          error.stack = `at file:///memory/${one.id}/index.ts:1:1`;
          core.kernel.crashed(error);
        } else if (last.some(({ id }) => id === one.id)) {
          await core.kernel[one.verb](one.id);
          touched.add(one.id);
        }
      }
      // What the operator did is undone, then all that is left is the SKU.
      for (const { id, enabled } of last) if (touched.has(id)) await core.kernel[enabled ? 'enable' : 'disable'](id);
      for (const { id } of last) await core.kernel.release(id);
      await clock.advance(40_000);
      const got = await core.states();
      const running = Object.values(got).filter((state) => state === 'active').length;
      assert.equal(held.size, running, 'what stopped has let go of everything');
      await using fresh = memoryKernel(last, clock);
      await fresh.kernel.start();
      await clock.advance(40_000);
      assert.deepEqual(got, await fresh.states());
    }),
    { numRuns: runs(60) },
  );
});

const WORSE: readonly (readonly [
  string,
  (lab: Awaited<ReturnType<typeof start>>) => readonly MemoryPlugin[],
  RegExp,
])[] = [
  ['waits for a service that is gone', ({ b, c }) => [b, c], /plugin b: it waits for a .*no plugin provides it/],
  ['is new and waits for a service of nobody', ({ a, b, c }) => [a, b, c, link('d', ['nobody'], [])], /plugin d: it w/],
  ['is essential now, and broken', ({ a, b, c }) => [a, b, { ...c, ...BROKEN, essential: true }], /c is broken/],
];
for (const [what, change, reason] of WORSE) {
  test(`a change is undone after which a plugin ${what}`, async () => {
    await using lab = await start();
    await assert.rejects(lab.core.apply(change(lab)), (error: CoreError) => {
      assert.equal(error.code, 'CHANGE_UNDONE');
      assert.match(error.message, reason);
      return true;
    });
    assert.deepEqual(await lab.core.states(), { a: 'active', b: 'active', c: 'active' });
  });
}

test('an essential plugin that runs and is disabled by a change undoes it', async () => {
  const vital = link('vital', [], [], { essential: true });
  await using lab = await start([vital]);
  await assert.rejects(lab.core.apply([lab.a, lab.b, lab.c, { ...vital, enabled: false }]), { code: 'CHANGE_UNDONE' });
  assert.equal((await lab.core.states()).vital, 'active');
});

suite('a member of the configuration that is live', () => {
  const schema = { properties: { scale: { live: true }, look: { live: true }, depth: {} } };
  /** Notes what it is configured with, and refuses a scale below 0. */
  function display(seen: string[], takes = true): MemoryPlugin {
    const base = link('display', [], seen);
    const plugin: MemoryPlugin['plugin'] = {
      ...base.plugin,
      async setup(host, services) {
        await base.plugin?.setup?.(host, services);
        if (!takes) return;
        return {
          configure(config) {
            seen.push(`=${JSON.stringify(config)}`);
            if ((config as { scale?: number }).scale! < 0) throw new RangeError('there is no such scale');
          },
        };
      },
    };
    return { ...base, plugin, schema, settings: { scale: 1, look: { day: 1 }, depth: 1 } };
  }
  async function started(takes = true) {
    const seen: string[] = [];
    const [one, home] = [display(seen, takes), link('home', ['display'], seen)] as const;
    const core = memoryKernel([one, home]);
    await core.kernel.start();
    seen.length = 0;
    const set = (settings: object) => core.apply([{ ...one, settings: { ...one.settings, ...settings } }, home]);
    return { core, one, home, seen, set, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() };
  }

  for (const [what, settings, takes, seen] of [
    ['is taken without a restart', { scale: 2 }, true, ['={"scale":2,"look":{"day":1},"depth":1}']],
    ['may be a group', { look: { day: 2 } }, true, ['={"scale":1,"look":{"day":2},"depth":1}']],
    ['is not asked for where nothing changed', { scale: 1 }, true, []],
    ['restarts with another that is not', { scale: 2, depth: 2 }, true, ['-home', '-display', '+display', '+home']],
    ['restarts a plugin that takes none', { scale: 2 }, false, ['-home', '-display', '+display', '+home']],
  ] as const)
    test(what, async () => {
      await using lab = await started(takes);
      const { affected } = await lab.set(settings);
      assert.deepEqual(lab.seen, seen);
      assert.deepEqual(affected, seen.length > 1 ? ['display', 'home'] : []);
      lab.seen.length = 0;
      await lab.core.kernel.restart('display');
      assert.deepEqual(lab.seen, ['-home', '-display', '+display', '+home']);
    });

  test('is given back where the plugin refuses it, and where another plugin of the change does not start', async () => {
    await using lab = await started();
    const { core, one, home, seen } = lab;
    await assert.rejects(lab.set({ scale: -1 }), (error: CoreError) => {
      assert.equal(error.code, 'CHANGE_UNDONE');
      return /display.*there is no such scale/.test(error.message);
    });
    const former = '={"scale":1,"look":{"day":1},"depth":1}';
    assert.deepEqual(seen.splice(0), ['={"scale":-1,"look":{"day":1},"depth":1}', former]);
    const broken = link('broken', [], seen, { settings: { broken: true } });
    await assert.rejects(core.apply([{ ...one, settings: { ...one.settings, scale: 2 } }, home, broken]), {
      code: 'CHANGE_UNDONE',
    });
    assert.deepEqual(
      seen.filter((mark) => mark.startsWith('=')),
      ['={"scale":2,"look":{"day":1},"depth":1}', former],
    );
    assert.equal(await generations(core), 'display1,home1');
  });
});
