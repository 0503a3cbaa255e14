import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { type FunctionEntry, functions } from '@device-core/plugin-api/services/functions';

import { app, codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { agenda, start } from './start.ts';

const APP = 'com.example.agenda';
const OTHER = 'com.example.other';

suite('registering functions', () => {
  test('the answer names each function; the same again is fine, another under the same version is not', async () => {
    await using started = await start();
    const register = (entry: object) =>
      started.table.run('functions.register', { app: APP, functions: [entry] }, { caller: app(APP) });
    const answer = {
      app: APP,
      functions: [{ name: 'agenda.today', version: '1.0.0', id: `${APP}/agenda.today@1.0.0` }],
    };
    assert.deepEqual(await register(agenda), answer);
    assert.deepEqual(await register(agenda), answer);
    const reordered = Object.fromEntries(Object.entries(agenda).toReversed());
    assert.deepEqual(await register(reordered), answer);
    assert.equal(await codeOf(register({ ...agenda, timeout_ms: 100 })), 'VERSION_CONFLICT');
    await register({ ...agenda, version: '1.1.0', timeout_ms: 100 });
    const { functions: list } = await started.table.run('functions.list', { app: APP });
    assert.deepEqual(
      (list as { id: string; available: boolean }[]).map(({ id, available }) => [id, available]),
      [
        [`${APP}/agenda.today@1.1.0`, false],
        [`${APP}/agenda.today@1.0.0`, false],
      ],
    );
    started.sockets.join(APP, () => ({}));
    assert.equal((await started.table.run('functions.describe', { name: 'agenda.today' })).available, true);
  });

  test('an app registers only for itself, and no app registers for another', async () => {
    await using started = await start();
    const register = (owner: string, caller: Caller) =>
      codeOf(started.table.run('functions.register', { app: owner, functions: [agenda] }, { caller }));
    assert.equal(await register(OTHER, app(APP)), 'CALLER_DENIED');
    assert.equal(await register(APP, OPERATOR), 'CALLER_DENIED');
    assert.equal(await register(APP, { kind: 'plugin', id: 'apps' }), 'CALLER_DENIED');
    assert.equal(await register(APP, app(APP)), 'no error');
  });

  test('a specification that is not valid is refused as a whole, with the reason', async () => {
    const good: FunctionEntry = { name: 'good', version: '1.0.0' };
    const cases: [string, object, RegExp][] = [
      ['no name', { version: '1.0.0' }, /name must match/],
      ['a capital first letter', { name: 'Good', version: '1.0.0' }, /name must match/],
      ['a dot at the end', { name: 'good.', version: '1.0.0' }, /name must match/],
      ['a long name', { name: 'a'.repeat(129), version: '1.0.0' }, /128 characters/],
      ['a name of the Core', { name: 'cancel', version: '1.0.0' }, /the Core itself uses this name/],
      ['a reserved prefix', { name: 'rpc.x', version: '1.0.0' }, /the Core itself uses this name/],
      ['no version', { name: 'a' }, /version must be major.minor.patch/],
      ['two parts of a version', { name: 'a', version: '1.0' }, /version must be/],
      ['a pre-release', { name: 'a', version: '1.0.0-rc.1' }, /version must be/],
      ['a range as version', { name: 'a', version: '^1.0.0' }, /version must be/],
      ['a v before the version', { name: 'a', version: 'v1.0.0' }, /version must be/],
      ['build metadata', { name: 'a', version: '1.0.0+x' }, /version must be/],
      ['an unknown type', { ...good, inputs: { a: 'float' } }, /type "float" of inputs\.a/],
      ['an unknown type in returns', { ...good, returns: { a: 'Int' } }, /of returns\.a/],
      ['a bad member name', { ...good, inputs: { 'a b': 'int' } }, /not a name/],
      [
        'a member that every object has',
        { ...good, inputs: { ['__proto__']: 'int' } },
        /"__proto__" that is not a name/,
      ],
      [
        'too many inputs',
        { ...good, inputs: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`a${i}`, 'int'])) },
        /33 members/,
      ],
      ['a short timeout', { ...good, timeout_ms: 49 }, /50 to 60000/],
      ['a long timeout', { ...good, timeout_ms: 60_001 }, /50 to 60000/],
      ['too large an entry', { ...good, examples: ['x'.repeat(17_000)] }, /at most 16384/],
      ['the same version twice', good, /there twice/],
    ];
    await using started = await start();
    for (const [name, entry, message] of cases) {
      const work = started.table.run(
        'functions.register',
        { app: APP, functions: [good, entry] },
        { caller: app(APP) },
      );
      await assert.rejects(work, (error: { code?: string; message: string }) => {
        assert.equal(error.code, 'FUNCTION_INVALID', name);
        assert.match(error.message, message, name);
        return true;
      });
    }
    // The gate knows the members of an entry, and asks first.
    const odd = { app: APP, functions: [{ ...good, timeoutMs: 100 }] };
    const known = { code: 'PARAMS_INVALID', message: /functions\[0\]\.timeoutMs: is not a known member/ };
    await assert.rejects(started.table.run('functions.register', odd, { caller: app(APP) }), known);
    assert.deepEqual((await started.table.run('functions.list', {})).functions, []);
  });

  test('an app must hold each capability that its functions need, when it registers and again at each call', async () => {
    await using started = await start({ grants: { [`app.${APP}`]: ['network'] } });
    const { table, host, sockets } = started;
    const entry = { ...agenda, inputs: {}, returns: {}, permissions: ['network.outbound:example.org'] };
    const register = (permissions: string[]) =>
      codeOf(
        table.run('functions.register', { app: APP, functions: [{ ...entry, permissions }] }, { caller: app(APP) }),
      );
    assert.equal(await register(['audio.capture']), 'CAPABILITY_DENIED');
    assert.equal(await register(['netwrok']), 'CAPABILITY_UNKNOWN');
    assert.equal(await register(entry.permissions), 'no error');
    sockets.join(APP, () => ({}));
    const call = () => codeOf(table.run('functions.call', { name: 'agenda.today' }));
    assert.equal(await call(), 'no error');
    await host.grants.set(app(APP), []);
    assert.equal(await call(), 'CAPABILITY_DENIED');
    assert.equal(sockets.calls.length, 1);
  });

  test('a bounded number of functions an app', async () => {
    await using started = await start({ config: { maxPerApp: 3 } });
    const register = (owner: string, ...names: string[]) =>
      codeOf(
        started.table.run(
          'functions.register',
          { app: owner, functions: names.map((name) => ({ name, version: '1.0.0' })) },
          { caller: app(owner) },
        ),
      );
    assert.equal(await register(APP, 'a', 'b'), 'no error');
    assert.equal(await register(APP, 'c', 'd'), 'FUNCTION_INVALID');
    assert.equal(await register(APP, 'a', 'c'), 'no error');
    assert.equal(await register(OTHER, 'a', 'b', 'c'), 'no error');
  });

  test('unregistering takes one version, all versions or everything, of the caller alone', async () => {
    await using started = await start();
    const { table } = started;
    const all = ['1.0.0', '2.0.0'].flatMap((version) => ['a', 'b'].map((name) => ({ name, version })));
    await table.run('functions.register', { app: APP, functions: all }, { caller: app(APP) });
    const remove = async (params: object, caller = app(APP)) =>
      (await table.run('functions.unregister', params, { caller })).removed;
    assert.equal(await codeOf(remove({ app: APP }, app(OTHER))), 'CALLER_DENIED');
    assert.equal(await codeOf(remove({ version: '1.0.0' })), 'PARAMS_INVALID');
    assert.equal(await codeOf(remove({}, OPERATOR)), 'PARAMS_INVALID');
    assert.equal(await remove({ name: 'a', version: '9.0.0' }), 0);
    assert.equal(await remove({ name: 'a', version: '1.0.0' }), 1);
    assert.equal(await remove({ name: 'b' }), 2);
    assert.equal(await remove({ app: APP }, OPERATOR), 1);
    assert.equal(await codeOf(table.run('functions.describe', { name: 'a' })), 'FUNCTION_NOT_FOUND');
  });

  test('a caller gets the newest release, or what its range asks for', async () => {
    await using started = await start();
    const { table } = started;
    const versions = ['1.0.0', '1.4.2', '2.0.0', '10.0.0', '0.9.0'];
    await table.run(
      'functions.register',
      { app: APP, functions: versions.map((version) => ({ name: 'f', version })) },
      { caller: app(APP) },
    );
    const cases: [string | undefined, string][] = [
      [undefined, '10.0.0'],
      ['*', '10.0.0'],
      ['^1', '1.4.2'],
      ['1.0.x', '1.0.0'],
      ['<1', '0.9.0'],
      ['>=2 <10', '2.0.0'],
      ['>=11', 'FUNCTION_NOT_FOUND'],
      ['nonsense', 'PARAMS_INVALID'],
    ];
    for (const [version, wanted] of cases) {
      const work = table.run('functions.describe', { name: 'f', app: APP, ...(version && { version }) });
      const found = await work.then((info) => info.version).catch((error) => error.code);
      assert.equal(found, wanted, version);
    }
  });

  test('listeners hear of changes and of nothing else', async () => {
    await using started = await start();
    const service = started.host.service(functions);
    let heard = 0;
    const off = service.onChange(() => {
      heard += 1;
    });
    await service.register({ app: APP, functions: [agenda] });
    await service.register({ app: APP, functions: [agenda] });
    await service.unregister(APP, 'absent');
    assert.equal(heard, 1);
    await service.unregister(APP);
    assert.equal(heard, 2);
    off[Symbol.dispose]();
    await service.register({ app: APP, functions: [agenda] });
    assert.equal(heard, 2);
  });

  test('registrations outlive a restart of the plugin, but not one of the Core', async () => {
    const root = await mkdtemp(join(tmpdir(), 'dc-functions-'));
    try {
      const paths = { etc: root, var: root, run: root };
      const core = { paths, startedAt: 1 } as DeviceInfo;
      const count = async (info: DeviceInfo) => {
        await using started = await start({ device: info });
        return (await started.host.service(functions).list()).length;
      };
      {
        await using first = await start({ device: core });
        await first.host.service(functions).register({ app: APP, functions: [agenda] });
      }
      assert.equal(await count(core), 1);
      assert.equal(await count({ ...core, startedAt: 2 }), 0);
    } finally {
      await rm(root, { recursive: true, force: true });
    }
  });
});

suite('policy of registration', () => {
  test('a tap of function.register refuses a specification as a whole, and its reason reaches the app', async () => {
    await using started = await start();
    using _ = started.host.tap('function.register', ({ entry }) =>
      entry.utterances ? new CoreError('FUNCTION_INVALID', { name: entry.name, reason: 'no talking' }) : undefined,
    );
    const entries = [
      { name: 'quiet', version: '1.0.0' },
      { name: 'talks', version: '1.0.0', utterances: ['hello'] },
    ];
    const register = (list: readonly object[]) =>
      started.table.run('functions.register', { app: APP, functions: list }, { caller: app(APP) });
    await assert.rejects(register(entries), {
      code: 'FUNCTION_INVALID',
      message: 'cannot register function talks: no talking',
    });
    const { functions: none } = await started.table.run('functions.list', {});
    assert.deepEqual(none, []);
    await register(entries.slice(0, 1));
  });
});
