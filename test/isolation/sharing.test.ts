/** Several plugins in one worker: each is itself towards the Core, and they end together. */
import assert from 'node:assert/strict';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CoreError, SkuPlugin } from '@device-core/plugin-api';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually as looked } from '../fixtures/eventually.ts';

after(leakCheck());

const MODULE = join(import.meta.dirname, '../fixtures/plugins/tenant/index.ts');
const eventually = <T>(what: string, ask: () => Promise<T>) => looked(ask, what, { ms: 40_000, every: 20 });

interface House extends AsyncDisposable {
  readonly core: Core;
  tell(id: string, way: string): Promise<unknown>;
  where(id: string): Promise<{ readonly thread: number; readonly starts: number }>;
  status(id: string): Promise<PluginStatus>;
}

/** A Core with tenants, each with code in a folder of its own. */
async function house(lines: Readonly<Record<string, Partial<SkuPlugin>>>): Promise<House> {
  const root = mkdtempSync(join(tmpdir(), 'dc-'));
  const plugins: Record<string, SkuPlugin | string> = { operations: '^1.0.0' };
  for (const [id, line] of Object.entries(lines)) {
    const path = join(root, 'plugins', id);
    mkdirSync(path, { recursive: true });
    cpSync(MODULE, join(path, 'index.ts'));
    const manifest = {
      id,
      version: '1.0.0',
      summary: 'A tenant',
      api: '^1.0.0',
      main: 'index.ts',
      requires: { operations: '^1.0.0' },
      publishes: ['plugin.tenant'],
      budget: { heapMB: 48, busyPercent: 2 },
    };
    writeFileSync(join(path, 'plugin.yaml'), stringify(manifest));
    plugins[id] = { version: '^1.0.0', path, isolation: 'worker', ...line };
  }
  const core = await startCore({ root, plugins });
  const signal = new AbortController().signal;
  const tell: House['tell'] = (id, way) => {
    const call = { caller: { kind: 'operator', id: 'operator' } as const, signal, deadline: Date.now() + 30_000 };
    return core.service(operations).invoke(`tenant.${id}`, { way }, call);
  };
  return {
    core,
    tell,
    where: (id) => tell(id, 'where') as ReturnType<House['where']>,
    status: async (id) => (await core.kernel.status()).plugins.find((plugin) => plugin.id === id)!,
    async [Symbol.asyncDispose]() {
      await core.stop();
      rmSync(root, { recursive: true, force: true });
    },
  };
}

async function active(one: House, id: string, generation: number): Promise<PluginStatus> {
  return eventually(`${id} again`, async () => {
    const now = await one.status(id);
    return now.state === 'active' && now.generation >= generation ? now : undefined;
  }) as Promise<PluginStatus>;
}

describe('plugins that share a worker', () => {
  it('run in one thread, and others do not', async () => {
    await using one = await house({ a: { share: 'flat' }, b: { share: 'flat' }, c: { share: 'other' }, d: {} });
    const [a, b, c, d] = await Promise.all(['a', 'b', 'c', 'd'].map((id) => one.where(id)));
    assert.equal(a!.thread, b!.thread);
    assert.equal(new Set([a!.thread, c!.thread, d!.thread]).size, 3);
  });

  it('are each bound by a manifest of their own', async () => {
    await using one = await house({ a: { share: 'flat' }, b: { share: 'flat' } });
    await assert.rejects(one.tell('b', 'asksOther'), (error: CoreError) => {
      assert.equal(error.code, 'TOPIC_DENIED');
      return /plugin\.b/.test(error.message);
    });
  });

  it('stop and start alone, and leave the thread to the others', async () => {
    await using one = await house({ a: { share: 'flat' }, b: { share: 'flat' } });
    const { thread } = await one.where('a');
    await one.core.kernel.lifecycle.disable('a');
    assert.equal((await one.where('b')).thread, thread);
    await one.core.kernel.lifecycle.enable('a');
    assert.deepEqual(await one.where('a'), { thread, starts: 2 });
    assert.equal((await one.status('b')).generation, 1);
    await one.core.kernel.lifecycle.disable('a');
    await one.core.kernel.lifecycle.restart('b');
    assert.notEqual((await one.where('b')).thread, thread, 'nobody was left in it');
  });

  const KNOWN = [
    ['throws', /an error escaped from it: thrown in a timer/],
    ['floods', /it flooded the Core/],
  ] as const;
  for (const [way, reason] of KNOWN) {
    it(`start again when one ${way}, and only that one is blamed`, async () => {
      await using one = await house({ a: { share: 'flat' }, b: { share: 'flat' }, c: { share: 'flat' } });
      const { thread } = await one.where('a');
      void one.tell('b', way).catch(() => undefined);
      for (const id of ['a', 'c']) {
        const { lastError, restarts } = await active(one, id, 2);
        assert.equal(restarts, 0, `${id} is not counted`);
        assert.match(lastError?.message ?? '', /its worker ended with plugin b/);
        assert.equal(lastError?.code, 'UNAVAILABLE');
      }
      const { lastError, restarts } = await active(one, 'b', 2);
      assert.equal(restarts, 1);
      assert.equal(lastError?.code, 'PLUGIN_CRASHED');
      assert.match(lastError?.message ?? '', reason);
      const threads = await Promise.all(['a', 'b', 'c'].map(async (id) => (await one.where(id)).thread));
      assert.equal(new Set(threads).size, 1);
      assert.notEqual(threads[0], thread);
    });
  }

  const UNKNOWN = [
    ['nobody', /an error escaped from it: /],
    ['exits', /it ended by itself with exit code 7/],
    ['heap', /its heap grew past 96 MB/],
  ] as const;
  for (const [way, reason] of UNKNOWN) {
    it(`are all blamed when the culprit is unknown (${way})`, async () => {
      await using one = await house({ a: { share: 'flat' }, b: { share: 'flat' } });
      void one.tell('b', way).catch(() => undefined);
      for (const id of ['a', 'b']) {
        const { lastError, restarts } = await active(one, id, 2);
        assert.equal(restarts, 1);
        assert.equal(lastError?.code, 'PLUGIN_CRASHED');
        assert.match(lastError?.message ?? '', reason);
      }
      assert.equal((await one.where('a')).thread, (await one.where('b')).thread);
    });
  }

  it('are refused at a level that cannot be shared', async () => {
    await using one = await house({ a: { share: 'flat', isolation: 'process' } });
    const { state, reason } = await one.status('a');
    assert.equal(state, 'failed');
    assert.match(reason ?? '', /plugin a shares worker flat, and runs at level process; say isolation: worker/);
  });
});
