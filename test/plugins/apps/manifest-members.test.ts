/** Every member of app.yaml, and what no app.yaml may say: each complaint has its line. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { LIMIT_BOUNDS, type SkuOfApps } from '@device-core/plugin-api/inside/app-spec';
import { AppManifestReader } from '../../../plugins/apps/apps/app-manifest.ts';
import { inactiveParts } from '../../../plugins/apps/apps/manifest-rules.ts';

const reader = await AppManifestReader.load('1.0.0');

const WHOLE = `manifestVersion: 1
id: com.example.agenda
name: agenda
version: 1.4.0
title: Agenda
description: What comes next
author: A. Uthor
license: Apache-2.0
locales: { de: { title: Kalender, description: Was kommt } }
minCore: 0.3.0
platform: [linux-x64, linux-arm64]
runtime: { kind: node, version: ">=24 <25" }
exec: { command: main.js, args: [], env: { GREETING: "50 % of $x" } }
capabilities:
  - { id: "bridges.spi:flash", reason: reads the log chip }
  - { id: "network.outbound:api.example.com", ports: [443, 8443], reason: calendar }
  - { id: "sensors.node:camera", reason: frames, optional: true }
  - { id: storage-scoped, reason: cache of events }
  - { id: display.surface, reason: shows it }
functions: [{ name: agenda.next, version: 1.0.0 }]
events: { subscribe: [system.presence], publish: [], public: [app.com.example.agenda.event.next] }
config: { schema: {}, defaults: {}, secrets: [token] }
resources: { memoryMaxMB: 128, cpuPercent: 50, tasksMax: 64, storageMB: 64, cacheMB: 64, logKBps: 16, openFiles: 256 }
lifecycle: { autostart: on-demand, after: [com.example.store], idleStopMs: 300000, startTimeoutMs: 10000, stopTimeoutMs: 3000, restart: on-failure }
health: { kind: session, intervalMs: 30000, liveness: { intervalMs: 15000, timeoutMs: 2000, failures: 3 } }
data: { version: 3, migrateTimeoutMs: 60000 }
ui: { surfaces: [{ id: main, kind: page, title: Agenda }], settings: true }
update: { channel: stable, breaking: [2.0.0] }
x-mine: anything
`;

it('every member of the design is taken', () => {
  const manifest = reader.check(WHOLE, 'app.yaml');
  assert.deepEqual(manifest.capabilities[1]?.ports, [443, 8443]);
  assert.equal(manifest.lifecycle?.autostart, 'on-demand');
  assert.deepEqual(manifest.data, { version: 3, migrateTimeoutMs: 60_000 });
});

it('the bounds of budgets in the schema are those of a specification', () => {
  const schema = JSON.parse(readFileSync(new URL('../../../manifests/schema/app.json', import.meta.url), 'utf8'));
  const bounds = Object.entries(
    schema.properties.resources.properties as Record<string, { minimum: number; maximum: number }>,
  );
  assert.deepEqual(
    Object.fromEntries(bounds.map(([name, { minimum, maximum }]) => [name, [minimum, maximum]])),
    LIMIT_BOUNDS,
  );
});

const HEAD = `manifestVersion: 1
id: com.example.demo
name: demo
version: 1.0.0
title: Demo
`;
const EXEC = 'exec: { command: node, args: [main.js] }\n';
const claim = (id: string, more = '') =>
  `${HEAD}${EXEC}capabilities:\n  - { id: ${JSON.stringify(id)}, reason: why${more} }\n`;
const member = (text: string) => `${HEAD}${EXEC}capabilities: []\n${text}\n`;
const env = (name: string) =>
  `${HEAD}capabilities: []\nexec:\n  command: node\n  env:\n    MINE: fine\n    ${name}: x\n`;

const bad: readonly (readonly [what: string, text: string, complaint: RegExp])[] = [
  ['a path in a capability', claim('sensors.node:/dev/video0'), /app\.yaml:8 .*capabilities name no paths/],
  ['a path in another capability', claim('bridges.spi:../flash'), /:8 .*capabilities name no paths/],
  ['a node without its name', claim('sensors.node'), /:8 .*a device node is named: sensors\.node:<name>/],
  ['a wildcard', claim('network.outbound:*.example.com'), /:8 .*a wildcard names no host/],
  ['every host by a star', claim('network.outbound:*'), /:8 .*a wildcard names no host/],
  ['an address', claim('network.outbound:192.168.1.1'), /:8 .*an address names no host/],
  ['an address in hexadecimal', claim('network.outbound:0x7f000001'), /:8 .*an address names no host/],
  ['an address as one number', claim('network.outbound:2130706433'), /:8 .*an address names no host/],
  ['an IPv6 address', claim('network.outbound:::1'), /:8 .*no name of a host/],
  ['a host in unicode', claim('network.outbound:bücher.example'), /:8 .*write the xn-- form/],
  ['a host in capitals', claim('network.outbound:API.example.com'), /:8 .*lower case: api\.example\.com/],
  ['a host with its port', claim('network.outbound:example.com:443'), /:8 .*no name of a host/],
  ['a host that ends in a dot', claim('network.outbound:example.com.'), /:8 .*no name of a host/],
  ['the device itself', claim('network.outbound:localhost'), /:8 .*localhost is the device itself/],
  [
    'a host beyond 253 characters',
    claim(`network.outbound:${'a.'.repeat(55)}b`.padEnd(129, 'c')),
    /:8 .*id must NOT have more than 128/,
  ],
  ['port 0', claim('network.outbound:example.com', ', ports: [0]'), /:8 .*ports\.0 must be >= 1/],
  ['port 65536', claim('network.outbound:example.com', ', ports: [65536]'), /:8 .*ports\.0 must be <= 65535/],
  ['no port', claim('network.outbound:example.com', ', ports: []'), /:8 .*ports must NOT have fewer than 1/],
  [
    'ports of the open network',
    claim('network.outbound', ', ports: [443]'),
    /:8 .*ports belong to network\.outbound:<host>/,
  ],
  [
    'a reason of 201 characters',
    claim('display.notify').replace('why', 'y'.repeat(201)),
    /:8 .*reason must NOT have more than 200/,
  ],
  ['no memory', member('resources:\n  memoryMaxMB: 0'), /:9 .*memoryMaxMB must be >= 1/],
  [
    'memory without end',
    member('resources:\n  cpuPercent: 50\n  memoryMaxMB: 1000000000000'),
    /:10 .*memoryMaxMB must be <= 65536/,
  ],
  ['no tasks', member('resources: { tasksMax: 0 }'), /:8 .*tasksMax must be >= 1/],
  ['files without end', member('resources: { openFiles: 1000000000000 }'), /:8 .*openFiles must be <= 65536/],
  ['no storage', member('resources: { storageMB: 0 }'), /:8 .*storageMB must be >= 1/],
  ['a cache without end', member('resources: { cacheMB: 1000000000000 }'), /:8 .*cacheMB must be <= 1048576/],
  ['no log', member('resources: { logKBps: 0 }'), /:8 .*logKBps must be >= 1/],
  ['no processor', member('resources: { cpuPercent: 0 }'), /:8 .*cpuPercent must be >= 1/],
  [
    'an app that waits for itself',
    member('lifecycle:\n  after: [com.example.a, com.example.demo]'),
    /:9 .*wait for itself/,
  ],
  ['on-demand without a function', member('lifecycle: { autostart: on-demand }'), /:8 .*it has none/],
  ['a pause without on-demand', member('lifecycle: { idleStopMs: 5000 }'), /:8 .*belongs to autostart: on-demand/],
  ['an autostart that is none', member('lifecycle: { autostart: sometimes }'), /:8 .*one of true, false, on-demand/],
  ['questions without a session', member('health: { kind: none, liveness: { failures: 2 } }'), /:8 .*no session/],
  [
    'surfaces without the capability',
    member('ui: { surfaces: [{ id: main, kind: page, title: Main }] }'),
    /:8 .*display\.surface/,
  ],
  [
    'a program outside of its folder',
    `${HEAD}exec: { command: a/../../b }\ncapabilities: []\n`,
    /:6 .*exec\.command must match/,
  ],
  [
    'a program by its absolute path',
    `${HEAD}exec: { command: /bin/sh }\ncapabilities: []\n`,
    /:6 .*exec\.command must match/,
  ],
  [
    'a program with a line',
    `${HEAD}exec: { command: "a\\nUser=root" }\ncapabilities: []\n`,
    /:6 .*exec\.command must match/,
  ],
  ['a name of 41 characters', member('').replace('name: demo', `name: ${'a'.repeat(41)}`), /:3 .*name must match/],
  ['the name of a way out', member('').replace('name: demo', 'name: demo-egress'), /:3 .*names that end in -egress/],
  [
    'an id with a line',
    member('').replace('id: com.example.demo', 'id: "com.example.demo\\nUser=root"'),
    /:2 .*id must match/,
  ],
  ['a platform that is none', member('platform: [linux-sparc]'), /:8 .*one of linux-x64, linux-arm64/],
  ['a platform that is a word', member('platform: linux-x64'), /:8 .*platform must be any|:8 .*must be "any"/],
  ['a runtime that is none', member('runtime: { kind: java }'), /:8 .*one of node, python, native, static/],
  ['a range that is none', member('runtime: { kind: node, version: new }'), /:8 .*new is no range of versions/],
  ['a data version that is none', member('data: { version: 0 }'), /:8 .*version must be >= 1/],
  ['a secret with a blank', member('config: { secrets: [a b] }'), /:8 .*secrets\.0 must match/],
  ['an icon outside of its folder', member('icon: ../icon.png'), /:8 .*icon must match/],
  [
    'a language that is none',
    member('locales: { "de_DE.UTF-8": { title: a } }'),
    /:8 .*locales\.de_DE\.UTF-8 .*language tag/,
  ],
  [
    'a signature, which is a file now',
    member('signature: abc'),
    /:8 .*signature is no member of app manifests any more.*app\.sig/,
  ],
  ...[
    'LD_PRELOAD',
    'LD_LIBRARY_PATH',
    'LD_AUDIT',
    'GLIBC_TUNABLES',
    'NODE_OPTIONS',
    'PYTHONPATH',
    'PATH',
    'HOME',
    'LANG',
    'DEVICE_APP_ID',
    'DEVICE_ANYTHING',
    'CREDENTIALS_DIRECTORY',
    'HTTP_PROXY',
    'https_proxy',
    'No_Proxy',
    'NOTIFY_SOCKET',
    'LISTEN_FDS',
    'BASH_ENV',
  ].map(
    (name) => [`${name} in its environment`, env(name), new RegExp(`app\\.yaml:11 .*${name} is reserved`)] as const,
  ),
  ['a variable with =', env('"A=B"'), /:11 .*exec\.env\.A=B .*letters, digits/],
  ['a variable with a line', env('"A\\nUser=root"'), /:11 .*letters, digits/],
  ['a variable with a zero byte', env('A').replace('A: x', 'A: "a\\0b"'), /:11 .*exec\.env\.A must match/],
];

describe('app.yaml is refused, with its line, that has', () => {
  for (const [what, text, complaint] of bad)
    it(what, () => {
      assert.throws(
        () => reader.check(text, 'app.yaml'),
        (thrown) => {
          assert.ok(thrown instanceof CoreError && thrown.code === 'MANIFEST_INVALID', String(thrown));
          assert.match(thrown.message, complaint);
          return true;
        },
      );
    });
});

describe('the icon of an app', () => {
  const PNG = Buffer.from('89504e470d0a1a0a', 'hex');
  const cases: readonly (readonly [what: string, icon: Buffer | undefined, complaint: RegExp | undefined])[] = [
    ['a PNG', PNG, undefined],
    ['nothing', undefined, /icon icon\.png: .*ENOENT/],
    ['something else', Buffer.from('GIF89a..'), /it is no PNG/],
    ['more than 64 KiB', Buffer.concat([PNG, Buffer.alloc(65_536)]), /65544 bytes, at most 65536/],
  ];
  for (const [what, icon, complaint] of cases)
    it(`${complaint ? 'is refused' : 'is taken'} that is ${what}`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'dc-'));
      try {
        const file = join(folder, 'app.yaml');
        writeFileSync(file, member('icon: icon.png'));
        if (icon) writeFileSync(join(folder, 'icon.png'), icon);
        if (complaint) await assert.rejects(reader.read(file), complaint);
        else assert.equal((await reader.read(file)).manifest.icon, 'icon.png');
      } finally {
        rmSync(folder, { recursive: true });
      }
    });
});

describe('hardware of the device', () => {
  const nodes = {
    camera: { path: '/dev/video0', access: 'rw' },
    meter: { path: '/dev/ttyUSB0', access: 'r' },
  } as const;
  const cases: readonly (readonly [what: string, text: string, sku: SkuOfApps, complaint: RegExp | undefined])[] = [
    ['a node of the SKU', claim('sensors.node:camera'), { nodes }, undefined],
    [
      'a node that the SKU has not',
      claim('sensors.node:lidar'),
      { nodes },
      /:8 .*no node "lidar" for apps; it has camera, meter/,
    ],
    ['a node where the SKU has none', claim('audio.node:mic'), {}, /:8 .*no node "mic" for apps; it has none/],
    ['a node by a name of every object', claim('audio.node:constructor'), { nodes }, /no node "constructor"/],
    ['a budget at the ceiling', member('resources: { memoryMaxMB: 64 }'), { ceilings: { memoryMaxMB: 64 } }, undefined],
    [
      'a budget above the ceiling',
      member('resources:\n  cpuPercent: 10\n  memoryMaxMB: 65'),
      { ceilings: { memoryMaxMB: 64 } },
      /:10 .*memoryMaxMB 65 is above the ceiling of this device, 64/,
    ],
  ];
  for (const [what, text, sku, complaint] of cases)
    it(`${what} is ${complaint ? 'refused, by name' : 'taken'}`, async () => {
      const ofDevice = await AppManifestReader.load('1.0.0', sku);
      if (complaint) assert.throws(() => ofDevice.check(text, 'app.yaml'), complaint);
      else ofDevice.check(text, 'app.yaml');
    });

  it('parts that this Core has no use for are told, and no others', () => {
    const parts = inactiveParts(reader.check(WHOLE, 'app.yaml')).map(({ part }) => part);
    assert.deepEqual(parts, ['update']);
    for (const [ui, left] of [
      ['ui: { settings: true }', []],
      ['ui: {}', []],
      ['ui: { surfaces: [] }', []],
      ['ui: { settings: false }', ['ui.settings']],
    ] as const)
      assert.deepEqual(
        inactiveParts(reader.check(member(ui), 'app.yaml')).map(({ part, unused }) => unused && part),
        left,
        ui,
      );
    assert.deepEqual(inactiveParts(reader.check(member(''), 'app.yaml')), []);
  });
});
