import assert from 'node:assert/strict';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { ErrorCode } from '@device-core/plugin-api';
import { eventually, manifestOf, putApp, startBench } from './fixture.ts';

const ID = 'com.example.demo';
const HEAD = `manifestVersion: 1
id: ${ID}
name: demo
version: 1.0.0
title: Demo
`;
const TAIL = `exec: { command: node, args: [main.cjs] }
capabilities: []
`;

const bad: readonly (readonly [string, string, ErrorCode, RegExp])[] = [
  ['broken YAML', `${HEAD}exec: { command: node\n`, 'MANIFEST_INVALID', /app\.yaml:[67] is not valid: /],
  [
    'a member twice',
    `${HEAD}title: Again\n${TAIL}`,
    'MANIFEST_INVALID',
    /app\.yaml:6 is not valid: this name stands in the same map twice/,
  ],
  ['a tower of brackets', `${HEAD}x: ${'['.repeat(20_000)}`, 'MANIFEST_INVALID', /app\.yaml:6 .*more than 64 deep/],
  [
    'aliases that unfold to millions',
    [
      'a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1]',
      ...'bcdefg'.split('').map((it, at) => `${it}: &${it} [${Array(9).fill(`*${'abcdef'[at]}`)}]`),
    ].join('\n'),
    'MANIFEST_INVALID',
    /app\.yaml.* is not valid: .*alias/,
  ],
  [
    'a program outside its folder',
    `${HEAD}exec: { command: ../main }\ncapabilities: []\n`,
    'MANIFEST_INVALID',
    /exec\.command must match pattern .* \(A file of the app's folder/,
  ],
  ['nothing at all', '', 'MANIFEST_INVALID', /app\.yaml.* is not valid: .*must be object/],
  ['a list', '- a\n', 'MANIFEST_INVALID', /app\.yaml:1 .*must be object/],
  [
    'an unknown member',
    `${HEAD}${TAIL}colour: red\n`,
    'MANIFEST_INVALID',
    /app\.yaml:8 .*colour is not a member.*"x-"/,
  ],
  [
    'an unknown member deep inside',
    `${HEAD}${TAIL}lifecycle:\n  autostart: false\n  autostop: true\n`,
    'MANIFEST_INVALID',
    /app\.yaml:10 .*lifecycle\.autostop is not a member/,
  ],
  [
    'a typo in the name of a member',
    `${HEAD}${TAIL}`.replace('title: Demo', 'titel: Demo'),
    'MANIFEST_INVALID',
    /app\.yaml:5 .*titel is not a member of app manifests; did you mean title\?/,
  ],
  ['a missing member', HEAD, 'MANIFEST_INVALID', /must have required property 'exec'/],
  [
    'another manifest version',
    `${HEAD}${TAIL}`.replace('manifestVersion: 1', 'manifestVersion: 2'),
    'MANIFEST_INVALID',
    /app\.yaml:1 .*manifestVersion must be 1/,
  ],
  [
    'an id without a domain',
    `${HEAD}${TAIL}`.replace(`id: ${ID}`, 'id: demo'),
    'MANIFEST_INVALID',
    /app\.yaml:2 .*id must match/,
  ],
  [
    'a name with a slash',
    `${HEAD}${TAIL}`.replace('name: demo', 'name: ../demo'),
    'MANIFEST_INVALID',
    /app\.yaml:3 .*name must match/,
  ],
  [
    'a version that is none',
    `${HEAD}${TAIL}`.replace('1.0.0', '"1.0"'),
    'MANIFEST_INVALID',
    /app\.yaml:4 .*version must match/,
  ],
  [
    'a command outside its folder',
    `${HEAD}${TAIL}`.replace('node', 'bin/../../x'),
    'MANIFEST_INVALID',
    /exec\.command must match/,
  ],
  ['an absolute command', `${HEAD}${TAIL}`.replace('node', '/bin/sh'), 'MANIFEST_INVALID', /exec\.command must match/],
  [
    'a restart rule that is none',
    `${HEAD}${TAIL}lifecycle: { restart: sometimes }\n`,
    'MANIFEST_INVALID',
    /restart must be one of always, on-failure, never/,
  ],
  [
    'a filter that is none',
    `${HEAD}${TAIL}events:\n  subscribe:\n    - system.power\n    - system..x\n`,
    'MANIFEST_INVALID',
    /app\.yaml:11 .*segment 2/,
  ],
  [
    'a Core that is too old',
    `${HEAD}${TAIL}minCore: 9.0.0\n`,
    'MANIFEST_INVALID',
    /app\.yaml:8 .*needs Core 9\.0\.0 or newer, this is 1\.0\.0/,
  ],
  [
    'an unknown capability',
    `${HEAD}${TAIL}`.replace('[]', '\n  - { id: display.notify, reason: a }\n  - { id: brigdes.spi, reason: b }'),
    'CAPABILITY_UNKNOWN',
    /no capability brigdes\.spi \(.*app\.yaml:9\); did you mean bridges\.spi\?/,
  ],
  [
    'another id than its folder',
    `${HEAD}${TAIL}`.replace(ID, 'com.example.other'),
    'MANIFEST_INVALID',
    /its folder must be named com\.example\.other/,
  ],
];
for (const [name, text, code, message] of bad)
  test(`a manifest with ${name} is shown with file and line and harms no other app`, async () => {
    await using bench = await startBench({
      prepare: async (installed) => {
        await mkdir(join(installed, ID));
        await writeFile(join(installed, ID, 'app.yaml'), text);
        await putApp(installed, manifestOf('com.example.good'));
      },
    });
    const [shown, good] = await bench.apps.list();
    assert.equal(shown?.id, ID);
    assert.equal(shown?.state, 'failed');
    assert.match(shown?.reason ?? '', message);
    assert.ok(shown?.reason?.startsWith(`${code}: `));
    assert.equal(good?.id, 'com.example.good');
    assert.equal((await bench.apps.start('com.example.good')).state, 'running');
    await assert.rejects(bench.apps.start(ID), { code });
  });

test("members of the author's own are left alone", async () => {
  await using bench = await startBench({
    prepare: (installed) => putApp(installed, manifestOf(ID, { 'x-icon': 'a.png' })),
  });
  assert.equal((await bench.status(ID)).state, 'stopped');
});

test('named folders count before installed ones; the same id or name twice is refused', async () => {
  await using bench = await startBench({
    config: { folders: [] },
    prepare: async (installed) => {
      await putApp(installed, manifestOf('com.example.demo', { title: 'First' }));
      await putApp(installed, manifestOf('org.other.demo', { title: 'Second' }));
    },
  });
  const reasons = (await bench.apps.list()).map(({ id, reason }) => [id, reason?.includes('same name demo') ?? false]);
  assert.deepEqual(reasons, [
    ['com.example.demo', false],
    ['org.other.demo', true],
  ]);
});

test('apps of named folders run where they lie', async () => {
  let folder = '';
  const { mkdtemp } = await import('node:fs/promises');
  const { tmpdir } = await import('node:os');
  const parent = await mkdtemp(join(tmpdir(), 'named-'));
  folder = await putApp(parent, manifestOf(ID));
  await using bench = await startBench({ config: { folders: [folder, join(parent, 'nowhere')] } });
  assert.equal((await bench.apps.start('demo')).state, 'running');
  assert.match((await bench.status('nowhere')).reason ?? '', /the file is not there/);
});

test('normal capabilities are granted, the others as far as the device names them', async () => {
  const capabilities = [
    { id: 'display.notify', reason: 'normal' },
    { id: 'bridges.spi:flash', reason: 'named for it' },
    { id: 'bridges.spi:slow', reason: 'not named' },
    { id: 'audio.capture', reason: 'named for all' },
    { id: 'system.apps', reason: 'not named', optional: true },
    { id: 'network.outbound:example', reason: 'what leaves the house is asked' },
  ] as const;
  await using bench = await startBench({
    allowed: { [ID]: ['bridges.spi:flash'], '*': ['audio'], 'com.example.other': ['system'] },
    prepare: (installed) => putApp(installed, manifestOf(ID, { capabilities })),
  });
  const status = await bench.apps.start(ID);
  assert.equal(status.state, 'running');
  const granted = ['display.notify', 'bridges.spi:flash', 'audio.capture'];
  assert.deepEqual(status.capabilities, granted);
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), granted);
  const ask = 'consent: { sensitive: ask }';
  assert.deepEqual(status.denied, [
    { capability: 'bridges.spi:slow', hint: `grants: { ${ID}: ["bridges.spi:slow"] }`, why: ask },
    { capability: 'system.apps', hint: `grants: { ${ID}: ["system.apps"] }`, why: 'consent: { oem: deny }' },
    {
      capability: 'network.outbound:example',
      hint: `grants: { ${ID}: ["network.outbound:example"] }`,
      why: `${ask} (port 443)`,
    },
  ]);
});

test('when the SKU grants something else, the apps that this means anything to start again with it', async () => {
  const other = 'com.example.other';
  const capabilities = [{ id: 'bridges.spi:flash', reason: 'named for it' }] as const;
  await using bench = await startBench({
    prepare: async (installed) => {
      await putApp(installed, manifestOf(ID, { capabilities }));
      await putApp(installed, manifestOf(other));
    },
  });
  await bench.apps.start(ID);
  const { pid } = await bench.apps.start(other);
  bench.allow({ [ID]: ['bridges.spi:flash'] });
  const granted = async () => (await bench.status(ID)).capabilities.join();
  await eventually(async () => ((await granted()) === 'bridges.spi:flash' ? true : undefined), 'the grant');
  await bench.reach(ID, 'running');
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), ['bridges.spi:flash']);
  assert.equal((await bench.status(other)).pid, pid);
  bench.allow({});
  await eventually(async () => ((await granted()) === '' ? true : undefined), 'the loss of it');
  await bench.reach(ID, 'running');
  assert.deepEqual(await bench.host.grants.of({ kind: 'app', id: ID }), []);
});
