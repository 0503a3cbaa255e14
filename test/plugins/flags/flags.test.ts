/** Flags over the layers of the configuration. */
import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type FlagDeclaration, type FlagTold, flags } from '@device-core/plugin-api/services/flags';
import { createTestHost, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/state/flags/index.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { LIMIT, MANIFEST, SHORT, start } from './start.ts';

after(leakCheck());

const by = { by: 'operator' };
const MODE: FlagDeclaration = {
  type: 'string',
  default: 'plain',
  enum: ['plain', 'rich'],
  description: 'how it looks',
};

describe('flags', () => {
  it('are the default, then what the device says, then the default again, and each change is told', async () => {
    await using core = await start();
    assert.equal(await core.flags.get('short'), false);
    const heard: unknown[] = [];
    const watch = await core.flags.watch('short', (value) => heard.push(value));
    await eventually(() => heard.length === 1, 'the value now');
    const set = await core.table.run<FlagTold>('flags.set', { name: 'short', value: true });
    assert.deepEqual(
      { value: set.value, source: set.source, setBy: set.setBy, declaredBy: set.declaredBy },
      { value: true, source: 'device', setBy: 'operator', declaredBy: 'sku' },
    );
    assert.equal(await core.flags.get('short'), true);
    await eventually(() => heard.length === 2, 'the change');
    await core.table.run('flags.reset', { name: 'short' });
    assert.equal(await core.flags.get('short'), false);
    await eventually(() => heard.length === 3, 'the reset');
    assert.deepEqual(heard, [false, true, false]);
    watch[Symbol.dispose]();
    await core.host.settle();
    await core.table.run('flags.set', { name: 'short', value: true });
    const events = () => core.host.published.filter(({ topic }) => topic === 'flag.changed');
    await eventually(() => events().length === 3, 'three events');
    assert.deepEqual(
      events().map(({ payload }) => payload),
      [
        { name: 'short', value: true, source: 'device' },
        { name: 'short', value: false, source: 'default' },
        { name: 'short', value: true, source: 'device' },
      ],
    );
    assert.equal(heard.length, 3);
  });

  it('of a plugin come and go with it, and their values stay', async () => {
    await using core = await start({ plugins: [{ id: 'lamp', flags: { limit: LIMIT } }] });
    await core.table.run('flags.set', { name: 'limit', value: 5 });
    const names = async () => (await core.flags.list()).map(({ name, declaredBy }) => `${name} ${declaredBy}`);
    assert.deepEqual(await names(), ['limit plugin.lamp', 'short sku']);
    core.install([]);
    await eventually(async () => (await names()).length === 1, 'it is gone');
    await assert.rejects(core.flags.get('limit'), { code: 'FLAG_UNKNOWN' });
    await assert.rejects(core.store.get({}, 'flags.limit'), { code: 'CONFIG_KEY_NOT_FOUND' });
    core.install([{ id: 'lamp', flags: { limit: LIMIT } }]);
    await eventually(async () => (await names()).length === 2, 'it is back');
    assert.equal(await core.flags.get('limit'), 5);
  });

  it('without a declaration are refused with the nearest name', async () => {
    await using core = await start({ sku: { 'wake-word': SHORT } });
    const cases = [
      ['wakeword', 'there is no feature flag "wakeword"; did you mean wake-word?'],
      ['nothing-like-it', 'there is no feature flag "nothing-like-it"'],
      ['../etc', 'there is no feature flag "../etc"'],
      ['a\u0000b', 'there is no feature flag "a\\u0000b"'],
      ['', 'there is no feature flag ""'],
      ['__proto__', 'there is no feature flag "__proto__"'],
    ] as const;
    for (const [name, message] of cases) {
      await assert.rejects(core.flags.get(name), { code: 'FLAG_UNKNOWN', message });
      await assert.rejects(
        core.flags.watch(name, () => undefined),
        { code: 'FLAG_UNKNOWN', message },
      );
    }
  });
});

describe('watchers', () => {
  it('of one plugin are 64, the newest, and take nothing from those of another one', async () => {
    await using core = await start({ sku: { short: SHORT } });
    const heard: number[] = [];
    const [a, b] = ['a', 'b'].map((plugin) => core.host.serviceFor(flags, { plugin }));
    await b!.watch('short', () => void heard.push(-1));
    for (let index = 0; index < 65; index++) await a!.watch('short', () => void heard.push(index));
    heard.length = 0;
    await core.table.run('flags.set', { name: 'short', value: true });
    await eventually(() => heard.length >= 65, 'watchers that were told');
    assert.deepEqual([heard.length, heard[0], heard[1]], [65, -1, 1]);
  });

  it('are told apart by plugin, so the plugin runs in the own thread of the Core alone', async () => {
    for (const isolation of ['worker', 'process'] as const)
      await assert.rejects(createTestHost(plugin, { manifest: MANIFEST, isolation }), {
        code: 'ISOLATION_UNSUPPORTED',
        message: /its service tells its users apart/,
      });
  });
});

describe('a value', () => {
  it('that does not fit is refused with the reason, whichever way it comes', async () => {
    await using core = await start({ sku: { short: SHORT, limit: LIMIT, mode: MODE } });
    const cases = [
      ['short', 'yes', 'flags.short must be boolean'],
      ['short', 1, 'flags.short must be boolean'],
      ['limit', 10, 'flags.limit must be <= 9'],
      ['limit', 2.5, 'flags.limit must be integer'],
      ['mode', 'bold', 'flags.mode must be equal to one of the allowed values: ["plain","rich"]'],
    ] as const;
    for (const [name, value, reason] of cases) {
      const refused = { code: 'CONFIG_VALUE_INVALID', message: `cannot set flags.${name}: ${reason}` };
      await assert.rejects(core.table.run('flags.set', { name, value }), refused);
      await assert.rejects(core.store.set({}, `flags.${name}`, value, by), refused);
      await assert.rejects(core.store.set({ app: 'com.a' }, `flags.${name}`, value, by), refused);
    }
    for (const value of [null, [], {}, [true]])
      await assert.rejects(core.table.run('flags.set', { name: 'short', value }), { code: 'PARAMS_INVALID' });
    await assert.rejects(core.store.set({}, 'flags.mood', 'rich', by), {
      code: 'CONFIG_VALUE_INVALID',
      message: 'cannot set flags.mood: there is no flags.mood; did you mean flags.mode?',
    });
    assert.deepEqual(
      (await core.flags.list()).map(({ name, value, source }) => [name, value, source]),
      [
        ['limit', 3, 'default'],
        ['mode', 'plain', 'default'],
        ['short', false, 'default'],
      ],
    );
  });

  it('of 4 KiB is refused, and one of 1,024 characters is taken', async () => {
    await using core = await start({ sku: { text: { type: 'string', default: '', description: 'words' } } });
    await core.table.run('flags.set', { name: 'text', value: 'x'.repeat(1_024) });
    await assert.rejects(core.table.run('flags.set', { name: 'text', value: 'x'.repeat(4_096) }), {
      message: 'cannot set flags.text: flags.text must NOT have more than 1024 characters',
    });
  });

  it('in a file that does not fit is left out and told, and the default holds', async () => {
    const files = { 'var/config.yaml': 'flags:\n  short: 7\n  old: true\n', 'etc/a.yaml': 'flags: { limit: 4 }\n' };
    await using core = await start({ sku: { short: SHORT, limit: LIMIT }, files });
    assert.equal(await core.flags.get('short'), false);
    assert.equal(await core.flags.get('limit'), 4);
    const warnings: string[] = [];
    core.problems.tell({ add: () => undefined, bridge: () => undefined, warn: (_, text) => void warnings.push(text) });
    assert.deepEqual(
      warnings.map((text) => text.replace(/^.*\/var\//, '')),
      [
        'config.yaml sets flags.short, which is ignored: flags.short must be boolean',
        'config.yaml sets flags.old, which is ignored: there is no flags.old',
      ],
    );
    await core.table.run('flags.set', { name: 'short', value: true });
    assert.equal(await core.flags.get('short'), true);
  });

  it('that the OEM locked stays at what the system says', async () => {
    const files = {
      'etc/locks.yaml': 'locked: [{ keys: flags.short, reason: certified so }]\n',
      'var/config.yaml': 'flags: { short: true }\n',
    };
    await using core = await start({ files });
    assert.equal(await core.flags.get('short'), false);
    for (const run of [
      () => core.table.run('flags.set', { name: 'short', value: true }),
      () => core.table.run('flags.reset', { name: 'short' }),
      () => core.store.set({ app: 'com.a' }, 'flags.short', true, by),
    ])
      await assert.rejects(run, (error) => error instanceof CoreError && error.code === 'CONFIG_LOCKED');
  });

  it('that is edited by hand is taken in and told', async () => {
    await using core = await start();
    const file = join(core.paths.var, 'config.yaml');
    const heard: unknown[] = [];
    using _watch = await core.flags.watch('short', (value) => heard.push(value));
    writeFileSync(file, 'flags: { short: true }\n');
    await core.store.reload(file);
    await eventually(() => heard.length === 2, 'the edit');
    assert.deepEqual(heard, [false, true]);
  });
});

describe('an app', () => {
  it('reads a flag as a setting, hears of changes, and has an override of its own', async () => {
    await using core = await start();
    const app = { app: 'com.a' };
    assert.equal((await core.store.get(app, 'flags.short')).value, false);
    await core.table.run('flags.set', { name: 'short', value: true });
    assert.equal((await core.store.get(app, 'flags.short')).value, true);
    await core.table.run('flags.set', { name: 'short', value: false, ...app });
    assert.equal((await core.store.get(app, 'flags.short')).value, false);
    assert.deepEqual(core.told.map(({ key, value, source }) => [key, value, source]).slice(-2), [
      ['flags.short', true, 'device'],
      ['flags.short', false, 'app'],
    ]);
    assert.equal(await core.flags.get('short'), true);
    assert.equal(await core.flags.get('short', app), false);
    await assert.rejects(core.table.run('flags.set', { name: 'short', value: true, app: 'com.ghost' }), {
      code: 'APP_NOT_FOUND',
    });
    await assert.rejects(core.table.run('flags.list', {}, { caller: { kind: 'app', id: 'com.a' } }), {
      code: 'CAPABILITY_DENIED',
    });
    const { source } = await core.table.run<FlagTold>('flags.reset', { name: 'short', ...app });
    assert.equal(source, 'device');
  });

  it('has its flags with any schema of its keys', async () => {
    await using core = await start();
    const schema = { type: 'object', additionalProperties: false, properties: { size: { type: 'integer' } } };
    await core.store.describeApp('com.a', { schema });
    await core.table.run('flags.set', { name: 'short', value: true, app: 'com.a' });
    assert.equal(await core.flags.get('short', { app: 'com.a' }), true);
    assert.deepEqual(core.store.ownKeys('com.a'), ['flags.short']);
  });
});

describe('many', () => {
  it('flags are bound by a number, and those too many are told', async () => {
    const of = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`f${index}`, SHORT] as const));
    const plugins = ['a', 'b', 'c', 'd', 'e'].map((id) => ({
      id,
      flags: Object.fromEntries(Object.entries(of(64)).map(([name, flag]) => [`${id}-${name}`, flag])),
    }));
    await using core = await start({ plugins, sku: of(64) });
    assert.equal((await core.flags.list()).length, 256);
    const warnings: string[] = [];
    const report = {
      add: () => undefined,
      bridge: () => undefined,
      warn: (_: string, text: string) => void warnings.push(text),
    };
    await core.host.hook('health.collect').promise(report);
    assert.equal(warnings.length, 128);
    assert.equal(warnings[0], 'flag d-f0 of plugin.d is left out: a device has at most 256');
  });

  it('names are refused quickly, and leave nothing', async () => {
    await using core = await start();
    const names = Array.from({ length: 10_000 }, (_, index) => `${'x'.repeat(index % 90)}/${index}`);
    const refused = await Promise.all(names.map((name) => core.flags.get(name).catch((error) => error.code as string)));
    assert.deepEqual([...new Set(refused)], ['FLAG_UNKNOWN']);
    assert.equal((await core.flags.list()).length, 1);
  });
});
