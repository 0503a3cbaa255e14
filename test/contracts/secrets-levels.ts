/** One plugin that uses secrets, in the Core, in a worker and in a process: what it gets does not depend on where it runs, nor on who keeps them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { config } from '@device-core/plugin-api/services/config';
import { operations } from '@device-core/plugin-api/services/operations';
import { parse, stringify } from 'yaml';
import { type Core, startCore } from '../fixtures/core.ts';
import { eventually } from '../fixtures/eventually.ts';

const KEEPER = join(import.meta.dirname, '../fixtures/plugins/keeper/plugin.yaml');
const TEXT = 'correct horse battery';
const LEVELS = ['inline', 'worker', 'process'] as const;

const operator = () => ({
  caller: { kind: 'operator', id: 'operator' } as const,
  signal: AbortSignal.timeout(20_000),
  deadline: Date.now() + 20_000,
});
// biome-ignore lint/suspicious/noExplicitAny: whatever the plugin said
const ask = async (core: Core, name: string, params: object): Promise<any> =>
  await core.service(operations).invoke(name, params, operator());
const set = (core: Core, name: string, secretText: string, scope = 'shared') =>
  ask(core, 'secrets.set', { scope, name, secretText });

/** Declares the tests. `empty` throws away what an earlier Core of this process left. */
export function secretsAtLevels(provider: string, empty: () => void = () => undefined): void {
  const start = (isolation: (typeof LEVELS)[number], configured: object = {}): Promise<Core> => {
    const line = { version: '*', path: KEEPER, isolation };
    empty();
    return startCore({
      plugins: {
        operations: '*',
        identity: '*',
        system: '*',
        config: '*',
        [provider]: '*',
        keeper: { ...line, config: { token: { secret: 'cloud.token' } }, ...configured },
      },
    });
  };

  for (const level of LEVELS)
    describe(`a plugin ${level === 'inline' ? level : `in a ${level}`}`, () => {
      it('gets its own secrets and what its configuration names, as objects that cannot be printed', async () => {
        await using core = await start(level);
        const act = (params: object) => ask(core, 'keeper.do', params);
        assert.deepEqual(await act({ act: 'configured' }), {
          is: { config: { token: { secret: 'cloud.token' } }, early: 'SECRET_NOT_FOUND' },
        });
        const missing = await act({ act: 'get', ref: 'cloud.token' });
        assert.match(
          missing.message,
          /there is no secret cloud\.token; set it with "devicectl secret set cloud\.token"/,
        );
        await set(core, 'cloud.token', TEXT);
        const got = (await act({ act: 'get', ref: 'cloud.token' })).is;
        const shown = '[secret cloud.token]';
        assert.deepEqual(got.shown, [shown, `{"secret":"${shown}"}`, shown]);
        assert.deepEqual([got.text, got.name], [TEXT, 'cloud.token']);
        assert.deepEqual(await act({ act: 'set', name: 'cloud.token', text: 'its own' }), { is: 'done' });
        assert.equal((await act({ act: 'get', ref: 'cloud.token' })).is.text, 'its own', 'its own scope comes first');
        assert.deepEqual(await act({ act: 'delete', name: 'cloud.token' }), { is: 'done' });
        assert.equal((await act({ act: 'get', ref: 'cloud.token' })).is.text, TEXT);
      });

      it('gets no other, by whatever name', async () => {
        await using core = await start(level);
        await set(core, 'other', TEXT);
        await set(core, 'token', TEXT, 'plugin.keeper-2');
        await set(core, 'token', TEXT, 'app.com.example.agenda');
        const refused: readonly (readonly [params: object, code: string])[] = [
          [{ ref: 'other' }, 'SECRET_DENIED'],
          [{ name: 'other' }, 'SECRET_NOT_FOUND'],
          [{ name: 'token' }, 'SECRET_NOT_FOUND'],
          [{ name: 'shared/other' }, 'PARAMS_INVALID'],
          [{ name: '../shared/other' }, 'PARAMS_INVALID'],
          [{ name: '../plugin.keeper-2/token' }, 'PARAMS_INVALID'],
          [{ name: 'plugin.keeper-2.token' }, 'SECRET_NOT_FOUND'],
          [{ name: '' }, 'PARAMS_INVALID'],
          [{ ref: '' }, 'PARAMS_INVALID'],
          [{ ref: 'token' }, 'SECRET_DENIED'],
          [{ name: '__proto__' }, 'PARAMS_INVALID'],
        ];
        for (const [params, code] of refused) {
          const { error } = await ask(core, 'keeper.do', { act: 'get', ...params });
          assert.equal(error, code, JSON.stringify(params));
        }
        assert.deepEqual((await ask(core, 'keeper.do', { act: 'list' })).is, []);
      });

      it('learns of a rotated secret, and of no other, without a restart', async () => {
        await using core = await start(level);
        const generation = async () =>
          (await core.service(pluginManager).list()).find(({ id }) => id === 'keeper')!.generation;
        const before = await generation();
        await set(core, 'cloud.token', TEXT);
        await set(core, 'other', TEXT);
        await set(core, 'cloud.token', `${TEXT} 2`);
        await set(core, 'own', 'x', 'plugin.keeper');
        await eventually(async () => {
          const { is } = await ask(core, 'keeper.do', { act: 'changes' });
          return assert.deepEqual(is, ['cloud.token', 'cloud.token', 'own']) ?? true;
        }, 'changes that were told');
        assert.equal((await ask(core, 'keeper.do', { act: 'get', ref: 'cloud.token' })).is.text, `${TEXT} 2`);
        assert.equal(await generation(), before);
        const [first] = (await ask(core, 'secrets.list', { scope: 'shared' })).secrets;
        assert.deepEqual([first.name, first.setBy, first.reads], ['cloud.token', 'operator', 1]);
      });

      it('takes `get` and `reveal` a moment', async (t) => {
        await using core = await start(level);
        await set(core, 'own', TEXT, 'plugin.keeper');
        const { tenth, median } = (await ask(core, 'keeper.do', { act: 'time', name: 'own' })).is;
        t.diagnostic(`get and reveal: ${median.toFixed(3)} ms, a tenth of them within ${tenth.toFixed(3)} ms`);
        assert.ok(median < 10, `${median} ms`);
      });
    });

  describe('a reference in a configuration', () => {
    it('stays one wherever the configuration is told, and is what another one may be asked for after a change', async () => {
      await using core = await start('worker');
      await set(core, 'cloud.token', TEXT);
      await set(core, 'other', TEXT);
      await core.service(config).set({}, 'plugins.keeper.token', { secret: 'other' }, { by: 'operator' });
      await eventually(async () => {
        const said = await ask(core, 'keeper.do', { act: 'configured' }).catch(() => undefined); // it restarts
        return said?.is.config.token.secret === 'other' && said.is.early === '[secret other]';
      }, 'the other secret, in setup() already');
      assert.equal((await ask(core, 'keeper.do', { act: 'get', ref: 'cloud.token' })).error, 'SECRET_DENIED');
      const { inForce } = (await core.service(pluginManager).settings()).find(({ id }) => id === 'keeper')!;
      assert.deepEqual(inForce, { token: { secret: 'other' } });
      const told = [
        await ask(core, 'config.list', {}),
        await ask(core, 'config.get', { key: 'plugins.keeper.token' }),
        readFileSync(join(core.paths.var, 'plugins/settings.json'), 'utf8'),
        readFileSync(core.skuFile, 'utf8'),
      ].map((one) => JSON.stringify(one));
      for (const one of told) assert.ok(/cloud\.token|other/.test(one) && !one.includes(TEXT));
    });

    it('is told where a text is wanted, and a text is where a reference is', async () => {
      await using core = await start('inline');
      const sku = parse(readFileSync(core.skuFile, 'utf8'));
      sku.plugins.keeper.config = { token: 'sk-live-4711-do-not-tell' };
      writeFileSync(core.skuFile, stringify(sku));
      await assert.rejects(core.service(pluginManager).apply(), (error: Error) => {
        assert.match(error.message, /keeper\.token .*(\{ secret: NAME \})/);
        assert.ok(!JSON.stringify([error.message, (error as { details?: unknown }).details]).includes('sk-live'));
        return true;
      });
      sku.plugins.keeper.config = { token: { secret: 'cloud.token' } };
      sku.plugins.system = { version: '*', config: { collectTimeoutMs: { secret: 'cloud.token' } } };
      writeFileSync(core.skuFile, stringify(sku));
      await assert.rejects(core.service(pluginManager).apply(), /system\.\w+ .*no secret/);
    });

    it('that nobody has set lets its plugin wait in the health, with the command', async () => {
      await using core = await start('inline');
      const { components } = await ask(core, 'system.health', {});
      assert.deepEqual(components['keeper.secrets'], {
        status: 'waiting',
        code: 'SECRET_NOT_FOUND',
        message: 'a secret is not set: devicectl secret set cloud.token',
      });
      assert.deepEqual((await ask(core, 'secrets.missing', {})).missing, [
        { plugin: 'keeper', name: 'cloud.token', command: 'devicectl secret set cloud.token' },
      ]);
      await set(core, 'cloud.token', TEXT);
      assert.deepEqual((await ask(core, 'secrets.missing', {})).missing, []);
      await eventually(
        async () => (await ask(core, 'system.health', {})).components['keeper.secrets'] === undefined,
        'a health without it',
      );
    });
  });
}
