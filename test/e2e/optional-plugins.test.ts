/** A SKU drops a plugin by losing its line, and those that need it theirs: the Core runs on and serves the rest. Costs whole Cores, and each of the simulator’s plugins taken from one of them and given back. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { after, describe, test } from 'node:test';
import type { CoreError, SkuManifest, SkuPlugin } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

const sku: SkuManifest = parse(readFileSync(new URL('../../manifests/skus/simulator.yaml', import.meta.url), 'utf8'));
const lines = Object.entries(sku.plugins).map(([id, line]): readonly [string, SkuPlugin] => [
  id,
  typeof line === 'string' ? { version: line } : line,
]);
/** No port of its own, and nobody else who applies the SKU that the test edits. */
const CONFIG: Readonly<Record<string, object>> = { http: { tcp: false }, composer: { quietMs: 10_000 } };
const whole = Object.fromEntries(
  lines.map(([id, line]) => [id, CONFIG[id] ? { ...line, config: { ...line.config, ...CONFIG[id] } } : line]),
);
const optional = lines.filter(([, line]) => !line.essential).map(([id]) => id);
after(leakCheck());

/** Without these most of the others wait: they are also left out from the start. */
const MATTER = ['rpc', 'config', 'speech'];

describe('the simulator SKU without one optional plugin', () => {
  for (const removed of MATTER)
    test(`starts without ${removed}`, async () => {
      await using core = await startCore({ plugins: without(removed) });
      await assertServesTheRest(core, [removed]);
    });

  test('runs on when the line of any one of them goes, and takes it back', { timeout: 300_000 }, async (t) => {
    await using core = await startCore({ plugins: whole });
    const okay = async () => {
      const { components } = (await get(core.paths.run, '/health')).body;
      return Object.keys(components).filter((id) => components[id]?.status === 'okay');
    };
    const before = await okay();
    for (const removed of optional)
      await t.test(removed, async () => {
        await assertServesTheRest(core, await drop(core, removed));
        await change(core, whole);
        assert.equal((await get(core.paths.run, '/plugins')).body.plugins.length, lines.length);
      });
    await eventually(async () => {
      const now = await okay();
      for (const id of before) assert.ok(now.includes(id), id);
      return true;
    }, 'the health of the beginning');
  });

  test('has optional plugins at all', () => {
    assert.ok(optional.length >= 8, optional.join(' '));
    for (const id of MATTER) assert.ok(optional.includes(id), id);
  });
});

function without(...removed: readonly string[]): Readonly<Record<string, SkuPlugin>> {
  return Object.fromEntries(Object.entries(whole).filter(([id]) => !removed.includes(id)));
}

/** Takes the line away. While the Core refuses that for others which need it, theirs go, too. Resolves with all that went. */
async function drop(core: Core, ...removed: readonly string[]): Promise<readonly string[]> {
  try {
    await change(core, without(...removed));
    return removed;
  } catch (thrown) {
    const problems = (thrown as CoreError).details?.problems as readonly { readonly plugin?: string }[] | undefined;
    const others = new Set(problems?.flatMap(({ plugin }) => (plugin === undefined ? [] : [plugin])));
    if (others.size === 0 || removed.some((id) => others.has(id))) throw thrown;
    return drop(core, ...removed, ...others);
  }
}

/** Writes the SKU with these lines, and resolves when the Core follows it. */
async function change(core: Core, plugins: Readonly<Record<string, SkuPlugin>>): Promise<void> {
  const now: SkuManifest = parse(readFileSync(core.skuFile, 'utf8'));
  writeFileSync(core.skuFile, stringify({ ...now, plugins }));
  await core.kernel.apply();
}

/** On a busy machine a reader is now and then not asked in time, says so, and is well at its next turn. */
function assertServesTheRest(core: Core, removed: readonly string[]): Promise<true> {
  return eventually(() => servesTheRest(core, removed), `a Core that runs well without ${removed.join(', ')}`);
}

async function servesTheRest(core: Core, removed: readonly string[]): Promise<true> {
  const { status, body } = await get(core.paths.run, '/health');
  assert.equal(status, 200, JSON.stringify(body));
  assert.ok(body.status === 'ok' || body.status === 'degraded', String(body.status));
  for (const id of removed) assert.equal(body.components[id], undefined);
  for (const [id, health] of Object.entries(body.components)) {
    assert.notEqual(health.status, 'error', `${id}: ${health.message}`);
    if (health.status === 'waiting') assert.match(String(health.message), /./, `${id} does not say why it waits`);
  }
  const plugins = await get(core.paths.run, '/plugins');
  assert.equal(plugins.status, 200);
  assert.equal(plugins.body.plugins.length, lines.length - removed.length);
  return true;
}

interface Answer {
  readonly status: number;
  readonly body: {
    readonly status: string;
    readonly plugins: readonly object[];
    readonly components: Readonly<Record<string, { readonly status: string; readonly message?: string }>>;
  };
}

/** As the operator, over the shared Unix socket. */
function get(run: string, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const call = request({ socketPath: `${run}/core.sock`, path, agent: false, timeout: 10_000 }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        text += chunk;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) }));
    });
    call.on('timeout', () => call.destroy(new Error(`no answer to ${path}`)));
    call.on('error', reject);
    call.end();
  });
}
