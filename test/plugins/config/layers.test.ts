import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type ConfigChange, config } from '@device-core/plugin-api/services/config';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

import { app, codeOf } from '../../fixtures/operation-calls.ts';
import { type Started, start } from './start.ts';

const AGENDA = 'com.example.agenda';

async function withFiles(files: Readonly<Record<string, string>>): Promise<Started> {
  const first = await start();
  for (const [name, text] of Object.entries(files)) {
    const path = join(first.root, name);
    await mkdir(join(path, '..'), { recursive: true });
    await writeFile(path, text);
  }
  await first.host.stop();
  return start({ root: first.root });
}

suite('the three layers of the configuration', () => {
  test('an app override stands over device state over system defaults, and each says where it came from', async () => {
    await using started = await withFiles({
      'etc/10-base.yaml': 'ui:\n  theme: light\n  scale: 1\nvolume: 30\n',
      'etc/20-oem.yaml': 'volume: 40\n',
      'var/config.yaml': 'ui.scale: 2\n',
      'var/apps/com.example.agenda/config.yaml': 'ui.theme: dark\n',
    });
    const { table } = started;
    const get = async (key: string) => {
      const { value, source } = await table.run('config.get', { key }, { caller: app(AGENDA) });
      return [value, source];
    };
    assert.deepEqual(await get('ui.theme'), ['dark', 'app']);
    assert.deepEqual(await get('ui.scale'), [2, 'device']);
    assert.deepEqual(await get('volume'), [40, 'default']);
    const device = await table.run('config.get', { key: 'ui.theme' });
    assert.deepEqual([device.value, device.source, device.revision], ['light', 'default', 0]);
    const list = (await table.run('config.list', { prefix: 'ui' }, { caller: app(AGENDA) })).entries as {
      key: string;
    }[];
    assert.deepEqual(
      list.map((entry) => entry.key),
      ['ui.scale', 'ui.theme'],
    );
  });

  test('a SKU that lies beside the settings of the OEM is none of them', async () => {
    await using started = await withFiles({
      'etc/base.yaml': 'volume: 30\n',
      'etc/sku.yaml': 'skuVersion: 1\nid: kiosk\nplugins:\n  http: { version: ^1.0.0, essential: true }\n',
    });
    const { entries } = await started.table.run('config.list', {});
    assert.deepEqual(
      (entries as { key: string }[]).map(({ key }) => key),
      ['volume'],
    );
  });

  test('a set value is answered with its layer, author and a growing revision, and null unsets it again', async () => {
    await using started = await withFiles({ 'etc/base.yaml': 'days: 1\n' });
    const { table } = started;
    const first = await table.run('config.set', { key: 'days', value: 3 }, { caller: app(AGENDA) });
    assert.equal(first.source, 'app');
    assert.equal(first.setBy, `app.${AGENDA}`);
    assert.ok(Math.abs((first.setAt as number) - Date.now()) < 5_000);
    const second = await table.run(
      'config.set',
      { key: 'days', value: 4, ifRevision: first.revision },
      { caller: app(AGENDA) },
    );
    assert.ok((second.revision as number) > (first.revision as number));
    assert.equal(
      await codeOf(
        table.run('config.set', { key: 'days', value: 5, ifRevision: first.revision }, { caller: app(AGENDA) }),
      ),
      'CONFIG_CONFLICT',
    );
    assert.deepEqual(await table.run('config.set', { key: 'days', value: null }, { caller: app(AGENDA) }), {
      key: 'days',
      value: 1,
      source: 'default',
      revision: 0,
    });
    await table.run('config.set', { key: 'own', value: true, ifRevision: 0 }, { caller: app(AGENDA) });
    const gone = await table.run('config.set', { key: 'own', value: null }, { caller: app(AGENDA) });
    assert.equal(gone.value, null);
    assert.equal(
      await codeOf(table.run('config.get', { key: 'own' }, { caller: app(AGENDA) })),
      'CONFIG_KEY_NOT_FOUND',
    );
  });

  test('one app never sees or changes what another has set', async () => {
    await using started = await start();
    const { table } = started;
    await table.run('config.set', { key: 'secret', value: 1 }, { caller: app(AGENDA) });
    const other = app('com.example.other');
    assert.equal(await codeOf(table.run('config.get', { key: 'secret' }, { caller: other })), 'CONFIG_KEY_NOT_FOUND');
    assert.equal(
      await codeOf(table.run('config.get', { key: 'secret', app: AGENDA }, { caller: other })),
      'CALLER_DENIED',
    );
    assert.equal(
      await codeOf(table.run('config.set', { key: 'secret', value: 2, app: AGENDA }, { caller: other })),
      'CALLER_DENIED',
    );
    assert.equal(await codeOf(table.run('config.list', { app: AGENDA }, { caller: other })), 'CALLER_DENIED');
    assert.equal((await table.run('config.get', { key: 'secret', app: AGENDA }, { caller: app(AGENDA) })).value, 1);
    assert.equal((await table.run('config.get', { key: 'secret', app: AGENDA })).value, 1);
    assert.equal(await codeOf(table.run('config.get', { key: 'secret', app: 'com.example.absent' })), 'APP_NOT_FOUND');
    assert.equal(await codeOf(table.run('config.get', { key: 'secret', app: '../../etc' })), 'PARAMS_INVALID');
  });

  test('the file on disk is one readable line a key, keeps comments and both forms, and marks map values', async () => {
    await using started = await withFiles({
      'var/config.yaml': '# the living room\nui:\n  theme: dark # at night\n  scale: 1\nvolume: 30\n',
    });
    const set = (key: string, value: unknown) => started.table.run('config.set', { key, value });
    await set('ui.theme', 'light');
    await set('ui.scale', null);
    await set('net.proxy', { host: 'h', 'a.b': [1, { c: null }] });
    await set('empty', {});
    await set('volume', null);
    const text = await readFile(join(started.var, 'config.yaml'), 'utf8');
    assert.equal(
      text,
      [
        '# the living room',
        'ui:',
        '  theme: light # at night',
        'net.proxy: !value',
        '  host: h',
        '  a.b:',
        '    - 1',
        '    - c: null',
        'empty: {}',
        '',
      ].join('\n'),
    );
    await using again = await start({ root: started.root });
    const { entries } = await again.table.run('config.list', {});
    assert.deepEqual(
      (entries as { key: string; value: unknown; setBy: string }[]).map(({ key, value, setBy }) => [key, value, setBy]),
      [
        ['empty', {}, 'operator'],
        ['net.proxy', { host: 'h', 'a.b': [1, { c: null }] }, 'operator'],
        ['ui.theme', 'light', 'operator'],
      ],
    );
  });

  test('revisions and authors outlive a restart, and no revision is given out twice', async () => {
    await using first = await start();
    const before = await first.table.run('config.set', { key: 'a', value: 1 }, { caller: app(AGENDA) });
    const last = await first.table.run('config.set', { key: 'b', value: 1 });
    await first.table.run('config.set', { key: 'b', value: null });
    await first.host.stop();
    await using second = await start({ root: first.root });
    assert.deepEqual(await second.table.run('config.get', { key: 'a' }, { caller: app(AGENDA) }), before);
    const next = await second.table.run('config.set', { key: 'c', value: 1 });
    assert.ok((next.revision as number) > (last.revision as number) + 1);
  });

  test('a key that the OEM locked keeps its default, for the device and for apps', async () => {
    await using started = await withFiles({
      'etc/locks.yaml': 'locked: [net.**, panel.*, name]\n',
      'etc/base.yaml': 'net.a.b: 1\npanel.mode: x\nname: device\n',
      'var/config.yaml': 'name: mine\n',
      'var/apps/com.example.agenda/config.yaml': 'panel.mode: y\n',
    });
    const { table } = started;
    for (const key of ['net.a.b', 'net.new', 'panel.mode', 'name']) {
      assert.equal(await codeOf(table.run('config.set', { key, value: 2 })), 'CONFIG_LOCKED', key);
      assert.equal(
        await codeOf(table.run('config.set', { key, value: 2 }, { caller: app(AGENDA) })),
        'CONFIG_LOCKED',
        key,
      );
    }
    assert.equal((await table.run('config.get', { key: 'name' })).value, 'device');
    assert.equal((await table.run('config.get', { key: 'panel.mode' }, { caller: app(AGENDA) })).value, 'x');
    assert.equal((await table.run('config.set', { key: 'panel', value: 2 })).value, 2);
  });

  const UNUSABLE: [string, JsonSchema, object, RegExp][] = [
    [
      'runs out of time at its defaults',
      { properties: { a: { pattern: '^(a+)+$' }, days: { type: 'integer' } } },
      { a: `${'a'.repeat(60)}!`, days: 7 },
      /it takes longer/,
    ],
    ['does not compile', { properties: { days: { type: 'whole' } } }, { days: 7 }, /type/],
    [
      'has a default that does not fit',
      { properties: { days: { type: 'integer' }, b: { type: 'integer' } } },
      { days: 7, b: 'x' },
      /default of b/,
    ],
  ];
  for (const [what, schema, defaults, reason] of UNUSABLE)
    test(`a schema of an app that ${what} takes no value, and the defaults stay in force`, async () => {
      await using started = await withFiles({ 'var/apps/com.example.agenda/config.yaml': 'days: many\n' });
      await assert.rejects(started.host.service(config).describeApp(AGENDA, { schema, defaults }), reason);
      const set = started.table.run('config.set', { key: 'days', value: 'wrong' }, { caller: app(AGENDA) });
      assert.equal(await codeOf(set), 'CONFIG_VALUE_INVALID');
      assert.equal((await started.table.run('config.get', { key: 'days' }, { caller: app(AGENDA) })).value, 7);
      await started.host.service(config).describeApp(AGENDA, { schema: { properties: { days: { type: 'integer' } } } });
      assert.equal(
        (await started.table.run('config.set', { key: 'days', value: 3 }, { caller: app(AGENDA) })).value,
        3,
      );
    });

  test('settings that an app describes are checked, and their defaults stand below every layer', async () => {
    await using started = await withFiles({ 'etc/base.yaml': 'lang: de\n' });
    const service = started.host.service(config);
    await service.describeApp(AGENDA, {
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          days: { type: 'integer', minimum: 1, maximum: 14 },
          'view.mode': { enum: ['day', 'week'] },
          colours: { type: 'object', properties: { own: { type: 'string' } }, additionalProperties: false },
          lang: { type: 'string' },
          people: {
            type: 'array',
            items: { type: 'object', required: ['name'], properties: { name: { type: 'string' } } },
          },
        },
      },
      defaults: { days: 7, view: { mode: 'day' }, lang: 'en' },
    });
    const { table } = started;
    assert.equal((await table.run('config.get', { key: 'days' }, { caller: app(AGENDA) })).value, 7);
    assert.equal((await table.run('config.get', { key: 'view.mode' }, { caller: app(AGENDA) })).value, 'day');
    assert.equal((await table.run('config.get', { key: 'lang' }, { caller: app(AGENDA) })).value, 'de');
    assert.equal(
      (await table.run('config.set', { key: 'colours.own', value: 'red' }, { caller: app(AGENDA) })).value,
      'red',
    );
    const cases: [string, unknown, RegExp][] = [
      ['days', 'seven', /days must be integer/],
      ['days', 15, /days must be <= 14/],
      ['view.mode', 'year', /view\.mode must be equal to one of the allowed values: \["day","week"\]/],
      ['colours.own', 5, /colours\.own must be string/],
      ['colours.other', 'x', /not a key that the schema of the app knows/],
      ['dayz', 5, /dayz is not a key/],
      ['people', [{ name: 'a' }, {}], /people\.1 must have required property 'name'/],
    ];
    for (const [key, value, message] of cases) {
      await assert.rejects(
        table.run('config.set', { key, value }, { caller: app(AGENDA) }),
        (error: { code?: string; message: string }) => {
          assert.equal(error.code, 'CONFIG_VALUE_INVALID');
          assert.match(error.message, message);
          return true;
        },
      );
    }
    assert.equal(await codeOf(service.describeApp(AGENDA, { schema: { type: 'nonsense' } })), 'PARAMS_INVALID');
    assert.equal(
      await codeOf(
        service.describeApp(AGENDA, { schema: { properties: { a: { type: 'string' } } }, defaults: { a: 1 } }),
      ),
      'PARAMS_INVALID',
    );
  });

  test('an override that a new version of the app refuses is not served, and health says so', async () => {
    await using started = await start();
    await started.table.run('config.set', { key: 'days', value: 'many' }, { caller: app(AGENDA) });
    await started.host
      .service(config)
      .describeApp(AGENDA, { schema: { properties: { days: { type: 'integer' } } }, defaults: { days: 2 } });
    assert.equal((await started.table.run('config.get', { key: 'days' }, { caller: app(AGENDA) })).value, 2);
    assert.match((await started.health()).warnings.join(), /days, which does not fit/);
    await started.table.run('config.set', { key: 'days', value: 5 }, { caller: app(AGENDA) });
    assert.equal((await started.table.run('config.get', { key: 'days' }, { caller: app(AGENDA) })).value, 5);
  });

  test('watchers hear of what their scope sees, and of nothing else', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const heard: [string, string, unknown, string][] = [];
    const listen = (name: string) => (change: ConfigChange) =>
      void heard.push([name, change.key, change.value, change.source]);
    service.watch({}, listen('device'));
    service.watch({ app: AGENDA }, listen('agenda'));
    const off = service.watch({ app: 'com.example.other' }, listen('other'));
    service.watch({}, () => {
      throw new Error('a bad watcher');
    });
    await service.set({ app: AGENDA }, 'a', 1, { by: 'test' });
    await service.set({}, 'a', 2, { by: 'test' });
    off[Symbol.dispose]();
    await service.set({}, 'b', 3, { by: 'test' });
    await service.set({ app: AGENDA }, 'a', null, { by: 'test' });
    assert.deepEqual(heard, [
      ['agenda', 'a', 1, 'app'],
      ['device', 'a', 2, 'device'],
      ['other', 'a', 2, 'device'],
      ['device', 'b', 3, 'device'],
      ['agenda', 'b', 3, 'device'],
      ['agenda', 'a', 2, 'device'],
    ]);
    const events = started.host.published.filter((event) => event.topic === 'config.changed');
    // Who follows all settings hears of those that an app overrides; the values are nobody's but the app's.
    assert.deepEqual(
      events.map(({ payload }) => payload),
      [
        { key: 'a', source: 'app', revision: 1, app: AGENDA },
        { key: 'a', source: 'device', revision: 2 },
        { key: 'b', source: 'device', revision: 3 },
        { key: 'a', source: 'app', revision: 0, app: AGENDA },
      ],
    );
  });

  test('values that the store hands out cannot be changed from outside', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const given = { list: [1] };
    await service.set({}, 'k', given, { by: 'test' });
    given.list.push(2);
    const { value } = await service.get({}, 'k');
    const change = () => (value as { list: number[] }).list.push(3);
    // Inline it is the value itself, elsewhere a copy.
    if (started.host.isolation === 'inline') assert.throws(change, TypeError);
    else change();
    assert.deepEqual((await service.get({}, 'k')).value, { list: [1] });
  });

  test('only apps change settings without system.config', async () => {
    await using started = await start();
    const intruder = { kind: 'plugin', id: 'stranger' } as const;
    assert.equal(
      await codeOf(started.table.run('config.set', { key: 'a', value: 1 }, { caller: intruder })),
      'CAPABILITY_DENIED',
    );
  });
});
