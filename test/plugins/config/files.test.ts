import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type AppSockets, appSockets, type SessionInfo } from '@device-core/plugin-api/inside/services/app-sockets';
import { config } from '@device-core/plugin-api/services/config';
import { ISOLATION_VARIABLE } from '@device-core/plugin-api/testing';
import { pace } from '../../fixtures/eventually.ts';
import { app, codeOf, OPERATOR } from '../../fixtures/operation-calls.ts';
import { type Started, start, until } from './start.ts';

const AGENDA = 'com.example.agenda';

const held = async ({ host }: Started, key: string, scope: { app?: string } = {}) => {
  try {
    return (await host.service(config).get(scope, key)).value;
  } catch {
    return undefined;
  }
};

suite('files that others touch', () => {
  test('an edit by hand is picked up while running, in every layer, and told to watchers', async () => {
    await using started = await start({ watch: true });
    const service = started.host.service(config);
    const heard: string[] = [];
    service.watch({ app: AGENDA }, (change) => void heard.push(`${change.key}=${JSON.stringify(change.value)}`));
    await service.set({}, 'volume', 1, { by: 'operator' });
    const before = await service.get({}, 'volume');
    await pace(300); // the watcher takes what it finds within its delay for our own writing

    await writeFile(join(started.var, 'config.yaml'), 'volume: 2\nui: {theme: dark}\n');
    await until(async () => (await held(started, 'volume')) === 2);
    const after = await service.get({}, 'volume');
    assert.equal(after.setBy, 'file');
    assert.ok(after.revision > before.revision);

    await writeFile(join(started.etc, 'base.yaml'), 'lang: de\n');
    await until(async () => (await held(started, 'lang')) === 'de');
    await writeFile(join(started.var, 'extra.yaml'), 'zone: here\n');
    await until(async () => (await held(started, 'zone')) === 'here');
    assert.equal((await service.get({}, 'zone')).source, 'device');
    await mkdir(join(started.var, 'apps', AGENDA), { recursive: true });
    await writeFile(join(started.var, 'apps', AGENDA, 'config.yaml'), 'volume: 9\n');
    await until(async () => (await held(started, 'volume', { app: AGENDA })) === 9);
    await rm(join(started.var, 'apps', AGENDA, 'config.yaml'));
    await until(async () => (await held(started, 'volume', { app: AGENDA })) === 2);
    assert.deepEqual(heard, [
      'volume=1',
      'volume=2',
      'ui.theme="dark"',
      'lang="de"',
      'zone="here"',
      'volume=9',
      'volume=2',
    ]);
  });

  test('an app that is removed and comes again, or comes later, is watched as before', async () => {
    await using started = await start({ watch: true });
    const service = started.host.service(config);
    const heard: unknown[] = [];
    for (const app of [AGENDA, 'com.example.other']) service.watch({ app }, ({ value }) => void heard.push(value));
    const folder = join(started.var, 'apps', AGENDA);
    for (const value of [1, 2, 3]) {
      await mkdir(folder, { recursive: true });
      await writeFile(join(folder, 'config.yaml'), `volume: ${value}\n`);
      await until(() => heard.at(-1) === value);
      await rm(folder, { recursive: true });
      await until(() => heard.at(-1) === null);
    }
    await mkdir(join(started.var, 'apps/com.example.other'));
    await writeFile(join(started.var, 'apps/com.example.other/config.yaml'), 'volume: 7\n');
    await until(() => heard.at(-1) === 7);
    await writeFile(join(started.var, 'apps/com.example.other/config.yaml'), 'volume: 8\n');
    await until(() => heard.at(-1) === 8);
  });

  test('an edit that does not validate is refused with its line, in health and log, and the old values stay', async () => {
    const cases: [string, string, RegExp][] = [
      ['broken YAML', 'a: 1\nb: [1,\n', /line [23]:/],
      ['a doubled key', 'a: 1\nb: 2\na: 3\n', /line 3: .*unique/i],
      ['a key set in both forms', 'a.b: 1\na:\n  b: 2\n', /line 3: a\.b is set twice, first in line 1/],
      ['a key that is not valid', 'a: 1\n\n"b c": 2\n', /line 3: key "b c" is not valid/],
      ['a key inside a map', 'a:\n  "b c": 2\n', /line 2: .*marked with !value/],
      ['a value and its beginning', 'a: 1\na.b: 2\n', /line 2: a\.b stands below a/],
      ['too deep a value', 'a: 1\nb: [[[[[[[[[1]]]]]]]]]\n', /line 2: .*nested deeper/],
      ['a number that JSON has not', 'a: .inf\n', /line 1: the number \.inf/],
      ['an alias', 'a: &x 1\nb: *x\n', /line 2: aliases/],
      ['a foreign tag', 'a: !!binary aGk=\n', /line 1: the tag !!binary/],
      ['a tag of a set', 'a: 1\nb: !!set { x }\n', /line 2: the tag !!set/],
      ['a merge', 'a: 1\n<<: { b: 2 }\n', /line 2: /],
      ['YAML 1.1', '%YAML 1.1\n---\na: yes\n', /line 1: .*YAML 1\.2/],
      ['a number that no double holds', 'a: 1\nb: 9007199254740993\n', /line 2: the number 9007199254740993/],
      ['a list as a name', 'a: 1\n? [x]\n: 2\n', /line 2: a name is a text/],
      ['a prototype', 'a: 1\n__proto__: 2\n', /line 2: /],
      ['a list', '- a\n', /line 1: the file must hold a map/],
      ['no bytes', '', /line 1: the file is empty/],
      ['a locked key', 'b: 1\nlocked.key: 2\n', /line 2: locked\.key is locked by the OEM/],
      ['a value that the schema of the app refuses', 'b: 1\ndays: x\n', /line 2: days must be integer/],
    ];
    await using started = await start();
    await writeFile(join(started.etc, 'locks.yaml'), 'locked: [locked.key]\n');
    await using again = await start({ root: started.root, watch: true });
    const service = again.host.service(config);
    await service.describeApp(AGENDA, { schema: { properties: { days: { type: 'integer' } } } });
    await service.set({ app: AGENDA }, 'good', 1, { by: 'test' });
    const file = join(again.var, 'apps', AGENDA, 'config.yaml');
    for (const [name, text, message] of cases) {
      await writeFile(file, text);
      await until(async () => message.test((await again.health()).components.config?.message ?? '')).catch(async () => {
        assert.fail(`${name}: ${JSON.stringify((await again.health()).components.config)}`);
      });
      assert.equal((await again.health()).components.config?.status, 'error');
      assert.equal(await held(again, 'good', { app: AGENDA }), 1, name);
      assert.ok(
        again.host.logged.some((line) => line.level === 'error' && message.test(line.message)),
        name,
      );
    }
    await writeFile(file, 'good: 2\n');
    await until(async () => (await held(again, 'good', { app: AGENDA })) === 2);
    assert.equal((await again.health()).components.config?.status, 'okay');
  });

  test('a write after a refused edit keeps the edit aside, and one after a good edit keeps the edit', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const file = join(started.var, 'config.yaml');
    await service.set({}, 'a', 1, { by: 'test' });
    await writeFile(file, 'a: 1\nb: 2 # by hand\n');
    await service.set({}, 'c', 3, { by: 'test' });
    assert.equal(await readFile(file, 'utf8'), 'a: 1\nb: 2 # by hand\nc: 3\n');
    await writeFile(file, 'a: [\n');
    await service.set({}, 'd', 4, { by: 'test' });
    assert.equal(await readFile(file, 'utf8'), 'a: 1\nb: 2 # by hand\nc: 3\nd: 4\n');
    const aside = (await readdir(started.var)).find((name) => name.startsWith('config.yaml.corrupt-'));
    assert.equal(await readFile(join(started.var, aside!), 'utf8'), 'a: [\n');
    assert.equal((await started.health()).components.config?.status, 'okay');
  });

  test('a file found corrupt at start is set aside and the last good one is used', async () => {
    for (const damage of ['a: [\n', '', '\0'.repeat(100), 'no map at all']) {
      await using first = await start();
      await first.host.service(config).set({}, 'a', 1, { by: 'operator' });
      const last = await first.host.service(config).set({}, 'b', 2, { by: 'operator' });
      await first.host.stop();
      await writeFile(join(first.var, 'config.yaml'), damage);
      await using second = await start({ root: first.root });
      assert.deepEqual(await second.host.service(config).get({}, 'b'), last);
      assert.equal(await readFile(join(first.var, 'config.yaml'), 'utf8'), 'a: 1\nb: 2\n');
      const aside = (await readdir(first.var)).find((name) => name.startsWith('config.yaml.corrupt-'));
      assert.equal(await readFile(join(first.var, aside!), 'utf8'), damage);
      const { components, warnings } = await second.health();
      assert.equal(components.config?.status, 'okay');
      assert.match(warnings.join(), /set aside as .*corrupt-.*the last good one is used/);
    }
  });

  test('with the last good one damaged as well the Core still starts, empty, and says what it lost', async () => {
    await using first = await start();
    await first.host.service(config).set({}, 'a', 1, { by: 'operator' });
    await first.host.stop();
    for (const name of ['config.yaml', 'config.yaml.last-good', 'config.meta.json'])
      await writeFile(join(first.var, name), '{[');
    await using second = await start({ root: first.root });
    assert.equal(await codeOf(second.host.service(config).get({}, 'a')), 'CONFIG_KEY_NOT_FOUND');
    const { components } = await second.health();
    assert.equal(components.config?.status, 'error');
    assert.match(components.config?.message ?? '', /its settings are lost/);
    await second.host.service(config).set({}, 'a', 2, { by: 'operator' });
    assert.equal(await held(second, 'a'), 2);
    assert.equal((await second.health()).components.config?.status, 'error');
  });

  test('a broken default file costs only its own values, and locks that cannot be read are told', async () => {
    await using first = await start();
    await first.host.stop();
    await writeFile(join(first.etc, '10.yaml'), 'a: 1\n');
    await writeFile(join(first.etc, '20.yaml'), 'b: [\n');
    await writeFile(join(first.etc, 'locks.yaml'), 'locked: ["a b"]\n');
    await using second = await start({ root: first.root });
    assert.equal(await held(second, 'a'), 1);
    const message = (await second.health()).components.config?.message ?? '';
    assert.match(message, /20\.yaml: line/);
    assert.match(message, /locks\.yaml: "a b" is not a key pattern/);
  });

  const walled = process.env[ISOLATION_VARIABLE] === 'process' ? 'inside walls the folder stays the one it was' : false;
  test('a write that the disk refuses is an error, and its value is never visible', { skip: walled }, async () => {
    await using started = await start();
    const service = started.host.service(config);
    await service.set({}, 'a', 1, { by: 'operator' });
    await rename(started.var, `${started.var}-kept`);
    await writeFile(started.var, 'in its place');
    assert.equal(await codeOf(service.set({}, 'a', 2, { by: 'operator' })), 'STATE_UNWRITABLE');
    assert.equal(await held(started, 'a'), 1);
    await rm(started.var);
    await rename(`${started.var}-kept`, started.var);
    await service.set({}, 'a', 3, { by: 'operator' });
    assert.equal(await held(started, 'a'), 3);
  });
});

suite('config.changed for the sessions of apps', () => {
  test('each app with a session hears of what it sees; a slow one finds only the newest value of a key', async () => {
    const heard: [string, string, unknown][] = [];
    const listeners = new Set<(event: SessionInfo & { state: 'open' | 'closed' }) => void>();
    let gate: Promise<void> = Promise.resolve();
    const session = (id: string): SessionInfo => ({ id: `s-${id}`, app: id, since: 0 });
    const sockets = {
      sessions: async () => [session(AGENDA)],
      onSession(listener: (event: SessionInfo & { state: 'open' | 'closed' }) => void) {
        listeners.add(listener);
        return { [Symbol.dispose]: () => void listeners.delete(listener) };
      },
      async notify(to: string, method: string, params: { key: string; value: unknown }) {
        assert.equal(method, 'config.changed');
        await gate;
        heard.push([to, params.key, params.value]);
        return 1;
      },
    } as unknown as AppSockets;
    await using started = await start();
    const set = (key: string, value: unknown, caller = OPERATOR) =>
      started.table.run('config.set', { key, value }, { caller });
    await started.host.appear(appSockets, sockets);
    await set('a', 1);
    for (const listener of listeners) listener({ ...session('com.example.other'), state: 'open' });
    await set('b', 2);
    await set('b', 3, app(AGENDA));
    await until(() => heard.length === 4);
    const open = Promise.withResolvers<void>();
    gate = open.promise;
    for (let value = 1; value <= 20; value++) await set('c', value, app(AGENDA));
    open.resolve();
    await until(() => heard.some(([, key, value]) => key === 'c' && value === 20));
    assert.ok(heard.length <= 7, `${heard.length} notifications`);
    assert.deepEqual(heard.slice(0, 4), [
      [AGENDA, 'a', 1],
      [AGENDA, 'b', 2],
      ['com.example.other', 'b', 2],
      [AGENDA, 'b', 3],
    ]);
    await started.host.disappear(appSockets);
    assert.equal(listeners.size, 0);
    const told = heard.length;
    await set('d', 1);
    assert.equal(heard.length, told);
  });
});
