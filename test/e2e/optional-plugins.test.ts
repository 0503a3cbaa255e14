/** A SKU drops a plugin by losing its line: the Core runs on, says what is missing, and serves the rest. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { after, describe, test } from 'node:test';
import type { SkuManifest, SkuPlugin } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { parse } from 'yaml';
import { startCore } from '../fixtures/core.ts';

const sku: SkuManifest = parse(readFileSync(new URL('../../manifests/skus/simulator.yaml', import.meta.url), 'utf8'));
const lines = Object.entries(sku.plugins).map(([id, line]): readonly [string, SkuPlugin] => [
  id,
  typeof line === 'string' ? { version: line } : line,
]);
const optional = lines.filter(([, line]) => !line.essential).map(([id]) => id);
after(leakCheck());

describe('the simulator SKU without one optional plugin', () => {
  for (const removed of optional) {
    test(`runs without ${removed}`, async () => {
      await using core = await startCore({ plugins: Object.fromEntries(lines.filter(([id]) => id !== removed)) });
      const { status, body } = await get(core.paths.run, '/health');
      assert.equal(status, 200, JSON.stringify(body));
      assert.ok(body.status === 'ok' || body.status === 'degraded', String(body.status));
      assert.equal(body.components[removed], undefined);
      for (const [id, health] of Object.entries(body.components)) {
        assert.notEqual(health.status, 'error', `${id}: ${health.message}`);
        if (health.status === 'waiting') assert.match(String(health.message), /./, `${id} does not say why it waits`);
      }
      const plugins = await get(core.paths.run, '/plugins');
      assert.equal(plugins.status, 200);
      assert.equal(plugins.body.plugins.length, lines.length - 1);
    });
  }

  test('has optional plugins at all', () => {
    assert.ok(optional.length >= 8, optional.join(' '));
  });
});

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
