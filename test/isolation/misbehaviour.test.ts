/** What a plugin in a worker or process does to itself does nothing to the Core. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type Operations, operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Core, startCore } from '../fixtures/core.ts';
import { culprits } from '../fixtures/culprits.ts';
import { eventually as looked, pace } from '../fixtures/eventually.ts';

after(leakCheck());

const CRASHES: readonly (readonly [way: string, reason: RegExp])[] = [
  ['loop', /it hangs: it did not answer for \d+ ms/],
  ['timer', /an error escaped from it: thrown in a timer/],
  ['rejection', /an error escaped from it: a rejection of nobody/],
  ['heap', /its heap grew past 64 MB/],
  ['tight', /its heap grew past 64 MB|it hangs/],
  ['outside', /its memory grew to \d+ MB, \d+ MB are allowed/],
  ['exit', /it ended by itself with exit code 7/],
];

function invoke(table: Operations, name: string, ms = 10_000): Promise<unknown> {
  const signal = new AbortController().signal;
  return table.invoke(name, {}, { caller: { kind: 'operator', id: 'operator' }, signal, deadline: Date.now() + ms });
}

async function failure(work: Promise<unknown>): Promise<CoreError> {
  const error = await work.then(
    (value) => assert.fail(`it answered ${JSON.stringify(value)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, String(error));
  return error;
}

async function status(core: Core, id: string): Promise<PluginStatus> {
  const { plugins } = await core.kernel.status();
  return plugins.find((plugin) => plugin.id === id)!;
}

const eventually = <T>(what: string, ask: () => Promise<T>) => looked(ask, what, { ms: 40_000, every: 20 });

for (const level of ['worker', 'process'] as const) {
  describe(`a plugin in a ${level}`, () => {
    it('that ends or hangs is named with its reason and started again, while others are served', async () => {
      const root = mkdtempSync(join(tmpdir(), 'dc-'));
      const ways = CRASHES.map(([way]) => way);
      const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, ways, level) };
      const core = await startCore({ root, plugins });
      try {
        for (const way of ways) assert.equal((await status(core, way)).state, 'active', way);
        const table = core.service(operations);
        let served = 0;
        let slowest = 0;
        let over = false;
        const witness = (async () => {
          while (!over) {
            const began = performance.now();
            await invoke(table, 'system.ping');
            served++;
            slowest = Math.max(slowest, performance.now() - began);
            await pace(5);
          }
        })().catch((thrown: unknown) => {
          over = true;
          return thrown;
        });
        const harm = async ([way, reason]: (typeof CRASHES)[number]): Promise<void> => {
          void invoke(table, `harm.${way}`).catch(() => undefined); // it may answer before it ends
          const last = await eventually(`the end of ${way}`, async () => (await status(core, way)).lastError);
          assert.equal(last.code, 'PLUGIN_CRASHED');
          assert.match(last.message, reason, way);
          const again = await eventually(`${way} again`, async () => {
            const now = await status(core, way);
            return now.state === 'active' ? now : undefined;
          });
          assert.equal(again.restarts, 1, way);
        };
        await Promise.all(CRASHES.map(async (one, index) => pace(index * 300).then(() => harm(one))));
        over = true;
        assert.equal(await witness, undefined);
        assert.ok(served > 100, `${served} pings were answered`);
        assert.ok(slowest < 2_000, `the slowest took ${slowest} ms`);
      } finally {
        await core.stop();
        rmSync(root, { recursive: true, force: true });
      }
    });

    it('that does not answer, or answers too much, costs its caller an error alone', async () => {
      const root = mkdtempSync(join(tmpdir(), 'dc-'));
      const ways = ['silence', 'large', 'chatter', 'files', 'environment'];
      const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, ways, level) };
      const core = await startCore({ root, plugins });
      try {
        const table = core.service(operations);
        assert.equal((await failure(invoke(table, 'harm.silence', 200))).code, 'TIMEOUT');
        assert.equal((await failure(invoke(table, 'harm.large'))).code, 'BODY_TOO_LARGE');
        await invoke(table, 'harm.chatter');
        assert.deepEqual(await invoke(table, 'harm.environment'), {});
        if (level === 'process') assert.equal((await failure(invoke(table, 'harm.files'))).code, 'INTERNAL');
        for (const way of ways) assert.equal((await status(core, way)).state, 'active', way);
      } finally {
        await core.stop();
      }
      const lines = readFileSync(join(core.paths.var, 'log/core.log'), 'utf8').split('\n');
      const chatter = lines.filter((line) => line.includes('"plugin":"chatter"'));
      assert.ok(chatter.length > 10 && chatter.length < 5_000, `${chatter.length} lines were logged`);
      assert.ok(chatter.some((line) => /lines were dropped/.test(line)));
      rmSync(root, { recursive: true, force: true });
    });
  });
}

it('a worker that leaks buffers without answering is ended for its memory', async () => {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const plugins = { operations: '^1.0.0', system: '^1.0.0', ...culprits(root, ['leak'], 'worker') };
  const core = await startCore({ root, plugins });
  try {
    void invoke(core.service(operations), 'harm.leak').catch(() => undefined);
    const last = await eventually('the end of leak', async () => (await status(core, 'leak')).lastError);
    // Its buffers count against its heap of 64 MB.
    assert.match(last.message, /its memory grew to \d+ MB, 128 MB are allowed \(heapMB of 64, and 64\)/);
  } finally {
    await core.stop();
    rmSync(root, { recursive: true, force: true });
  }
});
