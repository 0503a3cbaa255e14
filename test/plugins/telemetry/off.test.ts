/** What a SKU leaves out is not there: no module, no file, no address. And what nobody consented to loads no way out. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { operations } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';

const loaded: string[] = [];
const hooks = registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const { startCore } = await import('../../fixtures/core.ts');
after(() => hooks.deregister());
after(leakCheck());

const PLUGINS = { operations: '^1.0.0', identity: '^1.0.0', system: '^1.0.0' };
const ours = () => loaded.filter((url) => /\/plugins\/state\/(metrics|telemetry)\//.test(url));

test('a SKU without the lines loads nothing of them, and has no file of them', async () => {
  await using core = await startCore({ plugins: PLUGINS });
  assert.deepEqual(ours(), []);
  assert.ok(!existsSync(join(core.paths.var, 'telemetry')));
  const names = (await core.service(operations).list()).map(({ name }) => name);
  assert.deepEqual(
    names.filter((name) => /^(metrics|telemetry)\./.test(name)),
    [],
  );
});

test('with the lines and without a consent there is no timer, no file of a consent, and no code that connects', async () => {
  const endpoint = 'https://collector.example';
  await using core = await startCore({
    plugins: {
      ...PLUGINS,
      outbox: '^1.0.0',
      metrics: '^1.0.0',
      telemetry: { version: '^1.0.0', config: { endpoint } },
    },
  });
  const { components } = (await core.service(operations).invoke('system.health', {}, call())) as {
    readonly components: Readonly<Record<string, { readonly status: string }>>;
  };
  assert.deepEqual([components.metrics?.status, components.telemetry?.status], ['okay', 'okay']);
  assert.ok(ours().length > 5);
  assert.deepEqual(
    ours().filter((url) => url.endsWith('/collector.ts')),
    [],
  );
  assert.deepEqual(readdirSync(join(core.paths.var, 'telemetry')), []);
  const outbox = join(core.paths.var, 'outbox');
  assert.deepEqual(existsSync(outbox) ? readdirSync(outbox) : [], []);
  const list = await core.service(pluginManager).list();
  for (const { id, holds } of list)
    if (id === 'metrics' || id === 'telemetry')
      assert.deepEqual(
        holds.filter((label) => /^(queue|metrics$|lines)/.test(label)),
        [],
      );
});

function call() {
  const caller = { kind: 'operator', id: 'operator' } as const;
  return { caller, signal: new AbortController().signal, deadline: Date.now() + 30_000 };
}
