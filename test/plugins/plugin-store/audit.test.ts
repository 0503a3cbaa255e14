/** Rights of guests, their use and their refusals, as plugins.audit tells them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { Caller, PluginManifest } from '@device-core/plugin-api';
import { readInstalled } from '@device-core/plugin-api/inside/installed';
import type { GuestUses, PluginUse } from '@device-core/plugin-api/inside/services/plugin-manager';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Packages } from '../../fixtures/packages.ts';
import { startStore } from './start.ts';

const packages = new Packages();
after(() => packages[Symbol.dispose]());
after(leakCheck());

const MANIFEST: PluginManifest = {
  id: 'guest',
  version: '1.0.0',
  summary: 'A guest',
  api: '^1.0.0',
  main: './index.mjs',
  capabilities: ['network.outbound:api.example.com', 'bridges.spi'],
  files: { read: ['{etc}/guest'] },
  requires: { voice: '^1.0.0', gpio: '^1.0.0', operations: '^1.0.0' },
  optional: { audio: '^1.0.0' },
  taps: ['operation.before', 'kernel.ready'],
};
const use = (kind: PluginUse['kind'], name: string, count: number, last: number): PluginUse => ({
  ...{ kind, name, count, last },
});
const guest = (more: Partial<GuestUses> = {}): GuestUses => ({
  ...{ plugin: 'guest', isolation: 'process', manifest: MANIFEST, began: 1_000, uses: [] },
  ...more,
});

interface Told {
  readonly since: number;
  readonly origin: string;
  readonly grantedBy?: string;
  readonly rights: readonly {
    kind: string;
    name: string;
    summary: string;
    granted: boolean;
    count?: number;
    last?: number;
  }[];
  readonly refused: readonly { capability: string; count: number; hint: string }[];
}
const toldOf = async (store: Awaited<ReturnType<typeof startStore>>) =>
  (await store.call('plugins.audit')).plugins as readonly Told[];

test('claims stand in words with the greatest risk first, each with its use', async () => {
  const uses = [
    use('service', 'gpio', 7, 2_000),
    use('service', 'operations', 3, 2_000),
    use('capability', 'bridges.spi:flash', 2, 1_500),
    use('capability', 'bridges.spi:sensor', 1, 1_700),
    use('hook', 'operation.before', 5, 1_900),
  ];
  await using store = await startStore({}, {}, () => [guest({ granted: ['gpio', 'voice'], uses })]);
  const [told] = await toldOf(store);
  assert.deepEqual(
    told?.rights.map(({ kind, name, granted, count, last }) => [kind, name, granted, count, last]),
    [
      ['service', 'audio', false, 0, undefined],
      ['service', 'voice', true, 0, undefined],
      ['service', 'gpio', true, 7, 2_000],
      ['tap', 'operation.before', true, 5, 1_900],
      ['capability', 'bridges.spi', true, 3, 1_700],
      ['capability', 'network.outbound:api.example.com', true, undefined, undefined],
      ['reads', '{etc}/guest', true, undefined, undefined],
    ],
  );
  assert.match(told?.rights[0]?.summary ?? '', /^hears the microphone/);
  assert.ok(told?.rights.every(({ summary }) => summary.length > 5));
});

test('refusals of the plugin stand beside, and none of others', async () => {
  await using store = await startStore({}, {}, () => [guest()]);
  const refused = { hint: 'a line', class: 'oem' };
  await store.host.grants.refused({ kind: 'plugin', id: 'guest' }, { capability: 'service.panel', ...refused });
  await store.host.grants.refused({ kind: 'plugin', id: 'guest' }, { capability: 'service.panel', ...refused });
  await store.host.grants.refused({ kind: 'plugin', id: 'other' }, { capability: 'service.audio', ...refused });
  await store.host.grants.refused({ kind: 'app', id: 'guest' }, { capability: 'network', ...refused });
  const [told] = await toldOf(store);
  assert.deepEqual(
    told?.refused.map(({ capability, count, hint }) => [capability, count, hint]),
    [['service.panel', 2, 'a line']],
  );
});

test('a plugin that the SKU lists has what it claims; an installed one names who granted it', async () => {
  let more: Partial<GuestUses> = {};
  await using store = await startStore({}, {}, () => [guest(more)]);
  assert.deepEqual(
    (await toldOf(store)).map(({ origin, rights }) => [origin, rights[0]?.granted]),
    [['sku', true]],
  );
  more = { granted: [] };
  await store.install(packages.folder());
  const { plugins } = readInstalled(store.host.device.paths.var).installed;
  assert.equal(plugins.guest?.installedBy, 'operator');
  const [told] = await toldOf(store);
  assert.deepEqual([told?.origin, told?.grantedBy, told?.rights[0]?.granted], ['installed', 'operator', false]);
});

test('the operator alone is answered', async () => {
  await using store = await startStore({}, {}, () => [guest()]);
  const others: readonly Caller[] = [
    { kind: 'app', id: 'com.example.a' },
    { kind: 'plugin', id: 'guest' },
    { kind: 'anonymous', id: 'anonymous' },
  ];
  for (const caller of others) await assert.rejects(store.call('plugins.audit', {}, caller), { code: 'CALLER_DENIED' });
});

test('uses outlive the Core, are not counted twice by a store that starts again, and end with the plugin', async () => {
  let guests = [guest({ uses: [use('service', 'gpio', 7, 2_000)] })];
  await using store = await startStore({}, {}, () => guests);
  const gpio = async () => {
    const [told] = await toldOf(store);
    const { count, last } = told?.rights.find(({ name }) => name === 'gpio') ?? {};
    return [told?.since, count, last];
  };
  assert.deepEqual(await gpio(), [1_000, 7, 2_000]);
  await store.again();
  assert.deepEqual(await gpio(), [1_000, 7, 2_000], 'the store alone started again');
  guests = [guest({ began: 5_000, uses: [use('service', 'gpio', 2, 6_000)] })];
  await store.again();
  assert.deepEqual(await gpio(), [1_000, 9, 6_000], 'the Core started again');
  await store.again();
  guests = [];
  await store.again();
  guests = [guest({ began: 8_000 })];
  await store.again();
  assert.deepEqual(await gpio(), [8_000, 0, undefined], 'it was removed meanwhile');
});

const DAMAGES: readonly object[] = [
  { run: 'none' },
  { before: [{ kind: 'service', name: 'gpio', count: -1, last: 0 }] },
  { run: Array.from({ length: 300 }, () => use('hook', 'kernel.ready', 1, 1)) },
  { since: 'yesterday' },
];
for (const damage of DAMAGES)
  test(`a file of uses that is damaged in ${Object.keys(damage)} is told, and begins anew`, async () => {
    const guests = [guest({ uses: [use('service', 'gpio', 7, 2_000)] })];
    await using store = await startStore({}, {}, () => guests);
    await store.again();
    const file = join(store.host.device.paths.var, 'plugin-store/uses.json');
    const good = JSON.parse(readFileSync(file, 'utf8'));
    const plugins = { guest: { ...good.plugins.guest, ...damage } };
    for (const one of [file, `${file}.last-good`]) writeFileSync(one, JSON.stringify({ ...good, plugins }));
    await store.again();
    const codes: string[] = [];
    const report = { add: () => undefined, warn: (code: string) => void codes.push(code) };
    await store.host.hook('health.collect').promise(report as never);
    assert.deepEqual(codes, ['STATE_CORRUPT']);
    const [told] = await toldOf(store);
    assert.equal(told?.rights.find(({ name }) => name === 'gpio')?.count, 7);
  });
