/** `config.describe`, `config.sections`, `config.reset`, and sections of plugins that are set on the device. */
import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import type { PluginSettings, SkuChange } from '@device-core/plugin-api/inside/services/plugin-manager';
import { config } from '@device-core/plugin-api/services/config';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import { app, codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { type Started, start, until } from './start.ts';

const AGENDA = 'com.example.agenda';
/** Most of the time goes into compiling their schemas. */
const COUNT = runs(500);
const CHANGE: SkuChange = { added: [], removed: [], changed: [], affected: [], stale: [], device: false };

interface Layer {
  readonly source: string;
  readonly value?: unknown;
  readonly revision: number;
  readonly setBy?: string;
  readonly wins: boolean;
  readonly misfit?: string;
}
interface Key {
  readonly key: string;
  readonly name: string;
  readonly section: { readonly kind: string; readonly id: string };
  readonly schema: JsonSchema;
  readonly value?: unknown;
  readonly revision: number;
  readonly layers: readonly Layer[];
  readonly locked?: { readonly pattern: string; readonly reason?: string };
  readonly writable: boolean;
  readonly running?: unknown;
}

async function describe({ table }: Started, params: object = {}): Promise<readonly Key[]> {
  return (await table.run<{ keys: readonly Key[] }>('config.describe', params)).keys;
}

const said = ({ layers }: Key) => layers.map(({ source, value, wins }) => [source, value, wins]);

suite('what each setting is', () => {
  test('every layer says its value side by side, the highest first, and each is given back alone', async () => {
    await using started = await start();
    const { table } = started;
    const schema = { type: 'object', properties: { days: { type: 'integer', title: 'Days ahead' } } };
    await started.host.service(config).describeApp(AGENDA, { schema, defaults: { days: 1 } });
    await table.run('config.set', { key: 'days', value: 2 });
    await table.run('config.set', { key: 'days', value: 3, app: AGENDA });
    const [days] = await describe(started, { app: AGENDA });
    assert.ok(days);
    assert.deepEqual([days.value, days.schema.title, days.section], [3, 'Days ahead', { kind: 'app', id: AGENDA }]);
    assert.deepEqual(said(days), [
      ['app', 3, true],
      ['device', 2, false],
      ['builtin', 1, false],
    ]);
    assert.equal(days.layers[0]?.setBy, 'operator');
    const back = await table.run<{ former: Layer; now: Layer }>('config.reset', {
      key: 'days',
      layer: 'device',
      app: AGENDA,
    });
    assert.deepEqual([back.former.value, back.now.value], [2, 3]);
    const again = await table.run<{ former: Layer; now: Layer }>('config.reset', { key: 'days', app: AGENDA });
    assert.deepEqual([again.former.value, again.now.value, again.now.source], [3, 1, 'default']);
    assert.deepEqual(said((await describe(started, { app: AGENDA }))[0]!), [['builtin', 1, true]]);
    // Nothing was there: no harm, and no former value.
    assert.equal((await table.run('config.reset', { key: 'days', app: AGENDA })).former, undefined);
  });

  test('a late writer gets both values, and nothing is lost', async () => {
    await using started = await start();
    const { table } = started;
    const { revision } = await table.run<Layer>('config.set', { key: 'a', value: 1 });
    await table.run('config.set', { key: 'a', value: 2 });
    const late = [
      table.run('config.set', { key: 'a', value: 3, ifRevision: revision }),
      table.run('config.reset', { key: 'a', ifRevision: revision }),
    ];
    for (const [index, one] of (await Promise.allSettled(late)).entries()) {
      assert.ok(one.status === 'rejected' && one.reason instanceof CoreError);
      const { value, given, setBy } = one.reason.details;
      assert.deepEqual(
        [one.reason.code, value, given, setBy],
        ['CONFIG_CONFLICT', 2, index === 0 ? 3 : null, 'operator'],
      );
    }
    assert.equal((await table.run('config.get', { key: 'a' })).value, 2);
  });

  test('a value that a schema refuses is told with the place in it', async () => {
    await using started = await start();
    const properties = { list: { type: 'array', items: { type: 'integer' } } };
    await started.host.service(config).describeApp(AGENDA, { schema: { type: 'object', properties } });
    const set = (value: unknown) => started.table.run('config.set', { key: 'list', value, app: AGENDA });
    for (const [value, pointer] of [
      [[1, 'x'], '/1'],
      ['x', ''],
    ] as const)
      await assert.rejects(set(value), (error: CoreError) => {
        assert.deepEqual([error.code, error.details.pointer], ['CONFIG_VALUE_INVALID', pointer]);
        return true;
      });
  });

  test('a lock of the OEM stands there with its reason, and holds for giving back as well', async () => {
    const first = await start();
    await writeFile(join(first.etc, 'locks.yaml'), 'locked: [{ keys: net.**, reason: certified so }, name]\n');
    await writeFile(join(first.etc, 'base.yaml'), 'net: { region: eu }\n');
    await mkdir(join(first.root, 'var'), { recursive: true });
    await first.host.stop();
    await using started = await start({ root: first.root });
    const [region] = await describe(started, { prefix: 'net' });
    assert.deepEqual(region?.locked, { pattern: 'net.**', reason: 'certified so' });
    assert.equal(region?.writable, false);
    for (const [name, params] of [
      ['config.set', { key: 'net.region', value: 'us' }],
      ['config.reset', { key: 'net.region' }],
    ] as const)
      await assert.rejects(started.table.run(name, params), { code: 'CONFIG_LOCKED', message: /certified so/ });
  });

  test('a secret is shown only to its app', async () => {
    await using started = await start();
    const { table } = started;
    const schema = { properties: { token: { type: 'string', secret: true }, open: { type: 'string' } } };
    await started.host.service(config).describeApp(AGENDA, { schema });
    const secret = 'very-secret-17';
    const answers = [
      await table.run('config.set', { key: 'token', value: secret, app: AGENDA }),
      await table.run('config.get', { key: 'token', app: AGENDA }),
      await table.run('config.list', { app: AGENDA }),
      await table.run('config.describe', {}),
      await codeAndDetails(table.run('config.set', { key: 'token', value: 'x', app: AGENDA, ifRevision: 99 })),
      await table.run('config.reset', { key: 'token', app: AGENDA }),
    ];
    assert.ok(!JSON.stringify(answers).includes(secret), JSON.stringify(answers));
    assert.match(JSON.stringify(answers[3]), /"hidden":true/);
    await table.run('config.set', { key: 'token', value: secret }, { caller: app(AGENDA) });
    assert.equal((await table.run('config.get', { key: 'token' }, { caller: app(AGENDA) })).value, secret);
  });

  test('a browser signs with its name, and no name passes for another caller', async () => {
    await using started = await start({ browsers: [{ id: 'abcdefghijkl', name: 'app.com.example.evil' }] });
    const caller: Caller = { kind: 'operator', id: 'operator', signedIn: { id: 'abcdefghijkl', role: 'operator' } };
    await started.table.run('config.set', { key: 'a', value: 1 }, { caller });
    assert.equal((await describe(started))[0]?.layers[0]?.setBy, 'operator (app.com.example.evil)');
  });

  test('hundreds of apps are read page by page, each key once, and words find the ones that are meant', async () => {
    await using started = await start();
    const service = started.host.service(config);
    const ids = Array.from({ length: COUNT }, (_, at) => `com.example.a${at}`);
    const properties = {
      one: { type: 'integer', description: 'Bananas & <script>alert(1)</script>' },
      two: {},
      three: {},
    };
    for (const id of ids) await service.describeApp(id, { schema: { type: 'object', properties } });
    const seen = new Set<string>();
    let after: string | undefined;
    let pages = 0;
    do {
      const answer: { keys: readonly Key[]; next?: string } = await started.table.run('config.describe', {
        limit: 120,
        ...(after !== undefined && { after }),
      });
      for (const { section, key } of answer.keys) seen.add(`${section.id} ${key}`);
      after = answer.next;
      pages += 1;
    } while (after !== undefined);
    assert.deepEqual([seen.size, pages], [3 * COUNT, Math.ceil((3 * COUNT) / 120)]);
    const { sections } = await started.table.run<{ sections: readonly object[] }>('config.sections', {});
    assert.equal(sections.length, COUNT);
    const found = (await describe(started, { search: 'bananas a49' })).map(
      ({ section, key }) => `${section.id} ${key}`,
    );
    assert.deepEqual(
      found.toSorted(),
      ids
        .filter((id) => id.includes('a49'))
        .map((id) => `${id} one`)
        .toSorted(),
    );
    assert.deepEqual(await describe(started, { overridesOnly: true }), []);
  });

  test('twenty levels, keys with dots and a value of another type are described as they are', async () => {
    await using started = await start();
    let deep: object = { type: 'string' };
    for (let turn = 0; turn < 20; turn++) deep = { type: 'object', properties: { x: deep } };
    const properties = {
      deep,
      'dotted.name': { type: 'integer' },
      days: { type: 'integer' },
      'no key!': { type: 'string' },
    };
    await started.table.run('config.set', { key: 'days', value: 'many' }, { caller: app(AGENDA) });
    await started.host.service(config).describeApp(AGENDA, { schema: { properties } });
    const keys = new Map((await describe(started, { app: AGENDA })).map((one) => [one.key, one]));
    assert.match(keys.get('days')?.layers[0]?.misfit ?? '', /must be integer/);
    assert.equal(keys.get('days')?.value, undefined);
    assert.ok(keys.has('dotted.name'));
    assert.equal(keys.get('no key!')?.writable, false);
    assert.ok(keys.has(['deep', ...Array(7).fill('x')].join('.')));
  });

  test('an app sees only its own settings', async () => {
    await using started = await start();
    const { table } = started;
    await table.run('config.set', { key: 'days', value: 1 }, { caller: app(AGENDA) });
    await table.run('config.set', { key: 'other', value: 1 }, { caller: app('com.example.other') });
    const { keys } = await table.run<{ keys: readonly Key[] }>('config.describe', {}, { caller: app(AGENDA) });
    assert.deepEqual(
      keys.map(({ key }) => key),
      ['days'],
    );
    for (const params of [{ app: 'com.example.other' }, { plugin: 'display' }, { device: true }])
      assert.equal(await codeOf(table.run('config.describe', params, { caller: app(AGENDA) })), 'CAPABILITY_DENIED');
    assert.equal(await codeOf(table.run('config.sections', {}, { caller: app(AGENDA) })), 'CAPABILITY_DENIED');
    assert.equal(await codeOf(table.run('config.describe', { app: 'com.example.none' })), 'APP_NOT_FOUND');
    assert.equal(await codeOf(table.run('config.describe', { plugin: 'none' })), 'PLUGIN_NOT_FOUND');
  });
});

async function codeAndDetails(work: Promise<unknown>): Promise<unknown> {
  return work.catch((error: CoreError) => [error.code, error.details]);
}

/** A Core with one plugin, `lamp`, that takes what fits and refuses what it is told to. */
class Lamp {
  readonly calls: string[] = [];
  refuses: 'check' | 'apply' | undefined;
  readonly settings = async (): Promise<readonly PluginSettings[]> => [
    {
      id: 'lamp',
      summary: 'Light',
      given: { watts: 40 },
      inForce: { watts: 40, mode: { name: 'soft' } },
      schema: {
        type: 'object',
        additionalProperties: false,
        properties: {
          watts: { type: 'integer', minimum: 1, default: 10 },
          mode: {
            type: 'object',
            properties: { name: { type: 'string', default: 'soft' }, key: { type: 'string', secret: true } },
          },
        },
      },
    },
  ];
  readonly apply = async ({ check = false } = {}): Promise<SkuChange> => {
    const what = check ? 'check' : 'apply';
    this.calls.push(what);
    if (this.refuses === what)
      throw new CoreError('SKU_INVALID', { file: '', reason: 'the lamp is broken', problems: [] });
    return CHANGE;
  };
}

suite('settings of plugins on the device', () => {
  const file = ({ root }: Started) => join(root, 'var/plugins/settings.json');
  const overlay = async (started: Started) => JSON.parse(await readFile(file(started), 'utf8')).plugins;

  test('a key of a plugin has the values of the manifest, the product and the device', async () => {
    const lamp = new Lamp();
    await using started = await start({ manager: lamp });
    await until(async () => (await describe(started)).length > 0);
    await started.table.run('config.set', { key: 'plugins.lamp.watts', value: 60 });
    await until(() => lamp.calls.includes('apply'));
    assert.deepEqual(lamp.calls.slice(0, 2), ['check', 'apply']);
    assert.deepEqual(await overlay(started), { lamp: { watts: 60 } });
    const [, , watts] = await describe(started, { plugin: 'lamp' });
    assert.deepEqual(said(watts!), [
      ['device', 60, true],
      ['sku', 40, false],
      ['builtin', 10, false],
    ]);
    assert.equal(watts?.running, 40);
    await started.table.run('config.reset', { key: 'plugins.lamp.watts' });
    await until(async () => Object.keys(await overlay(started)).length === 0);
  });

  test('a value that the plugin would not take is written nowhere', async () => {
    const lamp = new Lamp();
    await using started = await start({ manager: lamp });
    await until(async () => (await describe(started)).length > 0);
    const set = (key: string, value: unknown) => codeOf(started.table.run('config.set', { key, value }));
    for (const [key, value] of [
      ['plugins.lamp.watts', 0],
      ['plugins.lamp.watts', 'many'],
      ['plugins.lamp.nothing', 1],
      ['plugins.none.watts', 1],
      ['plugins.lamp', { watts: 1 }],
    ] as const)
      assert.equal(await set(key, value), 'CONFIG_VALUE_INVALID', key);
    lamp.refuses = 'check';
    assert.equal(await set('plugins.lamp.watts', 60), 'CONFIG_VALUE_INVALID');
    assert.deepEqual(await overlay(started), {});
    assert.deepEqual(lamp.calls, ['check']);
    assert.equal(await codeOf(started.table.run('config.get', { key: 'plugins.lamp.watts' })), 'CONFIG_KEY_NOT_FOUND');
  });

  test('a setting that its plugin does not come up with is given back, and health says so', async () => {
    const lamp = new Lamp();
    await using started = await start({ manager: lamp });
    await until(async () => (await describe(started)).length > 0);
    await started.table.run('config.set', { key: 'plugins.lamp.watts', value: 50 });
    await until(() => lamp.calls.length === 2);
    lamp.refuses = 'apply';
    await started.table.run('config.set', { key: 'plugins.lamp.watts', value: 60 });
    await until(async () =>
      (await started.health()).warnings.some((one) => one.includes('plugins.lamp.watts was given back')),
    );
    await until(async () => (await overlay(started)).lamp?.watts === 50);
    assert.equal((await started.table.run('config.get', { key: 'plugins.lamp.watts' })).value, 50);
  });

  test('of two settings at the same moment the one that its plugin does not come up with is given back alone', async () => {
    const lamp = new Lamp();
    const { apply } = lamp;
    await using started = await start({
      manager: Object.assign(lamp, {
        apply: async (options?: { check?: boolean }) => {
          const { watts } = (await overlay(started)).lamp ?? {};
          if (!options?.check && watts === 60)
            throw new CoreError('SKU_INVALID', { file: '', reason: 'too bright', problems: [] });
          return apply(options);
        },
      }),
    });
    await until(async () => (await describe(started)).length > 0);
    const set = (key: string, value: unknown) => started.table.run('config.set', { key, value });
    await Promise.all([set('plugins.lamp.watts', 60), set('plugins.lamp.mode.name', 'hard')]);
    await until(async () => (await overlay(started)).lamp?.watts === undefined);
    assert.deepEqual(await overlay(started), { lamp: { 'mode.name': 'hard' } });
  });

  test('a file that was written without a watch is brought in line at the start', async () => {
    const first = await start();
    await mkdir(join(first.root, 'var'), { recursive: true });
    await writeFile(join(first.root, 'var/config.yaml'), 'plugins.lamp.watts: 70\n');
    await first.host.stop();
    const lamp = new Lamp();
    await using started = await start({ root: first.root, manager: lamp });
    await until(() => lamp.calls.includes('apply'));
    assert.deepEqual(await overlay(started), { lamp: { watts: 70 } });
  });
});
