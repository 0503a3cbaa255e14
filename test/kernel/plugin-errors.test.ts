/** Errors that an outside author defines reach callers over REST and JSON-RPC as they were declared, wherever the plugin runs. */
import assert from 'node:assert/strict';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it, test } from 'node:test';
import { CoreError, type PluginErrorKind, pluginErrorProblem } from '@device-core/plugin-api';
import { connectApp } from '@device-core/plugin-api/app';
import { leakCheck } from '@device-core/plugin-api/testing';
import { startCore } from '../fixtures/core.ts';

after(leakCheck());

const HOME = join(import.meta.dirname, '../fixtures/plugins/tea');
const APPS = [{ id: 'com.example.guest', name: 'guest' }];

for (const isolation of ['inline', 'worker', 'process'] as const)
  describe(`an error of a plugin's own, ${isolation}`, () => {
    it('has its code, its status and its details over REST and JSON-RPC, and stands in the documents', async () => {
      const plugins = {
        operations: '^1.0.0',
        identity: '^1.0.0',
        http: '^1.0.0',
        system: '^1.0.0',
        rpc: { version: '^1.0.0', config: { apps: APPS } },
        tea: { version: '^1.0.0', path: HOME, isolation },
      };
      await using core = await startCore({ plugins });
      const { run } = core.paths;
      const app = await connectApp({
        rpcSocket: join(run, 'apps/guest/rpc.sock'),
        httpSocket: join(run, 'core.sock'),
      });
      try {
        const dry = await app.rest('/tea/boil', { body: { what: 'nothing' } });
        assert.deepEqual(
          [dry.status, dry.body],
          [
            409,
            {
              ok: false,
              error: 'plugin.tea.KETTLE_DRY: cannot boil nothing: there is no water',
              code: 'plugin.tea.KETTLE_DRY',
              details: { what: 'nothing' },
            },
          ],
        );
        const hot = await app.rest('/tea/boil', { body: { what: 'lava' } });
        assert.deepEqual([hot.status, (hot.body as { code: string }).code], [500, 'plugin.tea.TOO_HOT']);
        await assert.rejects(app.call('tea.boil', { what: 'nothing' }), {
          rpcCode: -32010,
          code: 'plugin.tea.KETTLE_DRY',
          details: { what: 'nothing' },
        });
        // Under the name of another plugin it is a fault, and nobody hears of it but the log.
        const foreign = await app.rest('/tea/boil', { body: { what: 'coffee' } });
        assert.deepEqual([foreign.status, (foreign.body as { code: string }).code], [500, 'INTERNAL']);
        const fine = await app.rest('/tea/boil', { body: { what: 'water' } });
        assert.deepEqual([fine.status, fine.body], [200, { ok: true, what: 'water' }]);

        const { body } = await app.rest('/openapi.json');
        const { paths, components } = body as {
          readonly paths: Record<string, { post: { responses: Record<string, { 'x-codes'?: string[] }> } }>;
          readonly components: { schemas: { Failure: { properties: { code: { enum: string[] } } } } };
        };
        const { responses } = paths['/tea/boil']!.post;
        assert.deepEqual(responses[409]?.['x-codes'], ['plugin.tea.KETTLE_DRY']);
        assert.ok(responses[500]?.['x-codes']?.includes('plugin.tea.TOO_HOT'));
        assert.ok(components.schemas.Failure.properties.code.enum.includes('plugin.tea.TOO_HOT'));
      } finally {
        app.close();
      }
    });
  });

test('an operation that declares an error of another plugin is refused', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'thief-'));
  try {
    cpSync(HOME, folder, { recursive: true });
    const file = join(folder, 'plugin.yaml');
    writeFileSync(file, readFileSync(file, 'utf8').replace('id: tea', 'id: thief'));
    const thief = { version: '^1.0.0', path: folder, isolation: 'inline' } as const;
    await using core = await startCore({ plugins: { operations: '^1.0.0', thief } });
    const { plugins } = await core.kernel.status();
    const { state, reason = '' } = plugins.find(({ id }) => id === 'thief')!;
    assert.notEqual(state, 'active');
    assert.match(reason, /plugin\.tea\.KETTLE_DRY is a code of plugin tea/);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

describe('an error kind', () => {
  const kind = (change: object) => ({ code: 'plugin.tea.DRY', status: 409, template: 'dry', ...change });
  const cases: readonly (readonly [string, unknown, RegExp | undefined])[] = [
    ['as it should be', kind({}), undefined],
    ['without prefix', kind({ code: 'DRY' }), /not of the form plugin\.tea\.CODE/],
    ['in lower case', kind({ code: 'plugin.tea.dry' }), /not of the form/],
    ['of another plugin', kind({ code: 'plugin.tea-pot.DRY' }), /is a code of plugin tea-pot/],
    ['with a status of success', kind({ status: 200 }), /the status of plugin\.tea\.DRY is none of 400/],
    ['without a template', kind({ template: undefined }), /has no template/],
    ['that is no object', 'BUSY', /not of the form/],
  ];
  for (const [title, value, problem] of cases)
    it(title, () => {
      const found = pluginErrorProblem(value, 'tea');
      if (problem === undefined) assert.equal(found, undefined);
      else assert.match(String(found), problem);
    });

  it('makes an error that says its code, its text and its numbers', () => {
    const error = new CoreError(kind({ template: 'cannot pour {what}{reason}' }) as PluginErrorKind, { what: 'tea' });
    assert.equal(error.toWire(), 'plugin.tea.DRY: cannot pour tea');
    assert.deepEqual([error.status, error.rpcCode, error.kind?.code], [409, -32010, 'plugin.tea.DRY']);
    assert.equal(Object.hasOwn(new CoreError('BUSY'), 'kind'), false);
  });
});
