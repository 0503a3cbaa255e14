/** `devicectl system install`, `check` and `uninstall` on the tree of an image: as anybody, without a systemd that runs. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { SkuManifest } from '@device-core/plugin-api';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { leakCheck } from '@device-core/plugin-api/testing';
import { systemFiles } from '../../plugins/life/systemd/program/files.ts';
import { productionFiles } from '../../plugins/life/systemd/program/production.ts';
import { render, valuesProblem } from '../../plugins/life/systemd/program/render.ts';
import { Root } from '../../plugins/life/systemd/program/root.ts';
import { skuForService } from '../../plugins/life/systemd/program/sku.ts';
import { dropInOf, needsOf } from '../../plugins/life/systemd/program/sku-needs.ts';
import { without } from '../fixtures/debian.ts';
import { devicectl, SMALL_SKU } from '../fixtures/installed-core.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const VALUES = { service: 'device', prefix: '/usr/lib/device' };
const folder = mkdtempSync(join(tmpdir(), 'dc-install-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

function sku(name: string, text: string): string {
  const file = join(folder, `${name}.yaml`);
  writeFileSync(file, text);
  return file;
}

function tree(name: string): string {
  const root = join(folder, name);
  mkdirSync(root);
  return root;
}

const withPlugins = (...lines: readonly string[]) =>
  SMALL_SKU.replace('plugins:\n', `plugins:\n${lines.map((line) => `  ${line}\n`).join('')}`);
const SMALL = sku('small', SMALL_SKU);

describe('texts with places to fill in', () => {
  test('name the service and the prefix, and keep all other text', () => {
    assert.equal(
      render('User=@SERVICE@ @PREFIX@/x a@b.c @{PROC}', VALUES),
      'User=device /usr/lib/device/x a@b.c @{PROC}',
    );
  });

  test('are refused with an unknown place', () => {
    for (const text of ['@SERVICES@', 'x @service@', '@PREFIX@@NAME@'])
      assert.throws(() => render(text, VALUES), /placeholder/);
  });

  test('take names and folders that can be nothing else', () => {
    for (const service of [
      '',
      'Device',
      'my-device',
      '1st',
      'a'.repeat(17),
      'a\nb',
      'a b',
      '%i',
      'root',
      'daemon',
      'nobody',
    ])
      assert.ok(valuesProblem({ ...VALUES, service }), service);
    for (const prefix of ['usr/lib', '/usr/../etc', '/usr lib', '/a\nb', '/%h', '/', '/a/', '/$x', '/a"b'])
      assert.ok(valuesProblem({ ...VALUES, prefix }), prefix);
    for (const service of ['a', 'device', 'kiosk2', 'a'.repeat(16)])
      assert.equal(valuesProblem({ ...VALUES, service }), undefined);
  });
});

describe('devicectl system install', () => {
  test('writes a whole service below a root, changes nothing when it only tells, and takes away what it wrote', () => {
    const root = tree('whole');
    const dry = devicectl('system', 'install', '--root', root, '--sku', SMALL, '--dry-run');
    assert.equal(dry.status, 0, dry.stderr);
    assert.deepEqual(readdirSync(root), []);
    const done = devicectl('system', 'install', '--root', root, '--sku', SMALL, '--json');
    assert.equal(done.status, 0, done.stderr);
    const { files, prefix, done: made } = JSON.parse(done.stdout) as { files: string[]; prefix: string; done: boolean };
    assert.equal(made, true);
    for (const path of files) assert.ok(dry.stdout.includes(`/${path}`), path);
    for (const path of files.filter((one) => !one.includes('.wants/'))) {
      const text = readFileSync(join(root, path), 'utf8');
      assert.doesNotMatch(text, /@[A-Z]+@/, path);
      assert.equal(statSync(join(root, path)).mode & 0o777, 0o644, path);
    }
    const code = join(root, prefix);
    for (const path of [
      'kernel/start.js',
      'node_modules/.bin/node',
      'node_modules/@device-core/plugin-api/index.ts',
      'systemd/core.service',
    ])
      assert.ok(existsSync(join(code, path)), path);
    for (const path of [
      'test',
      'docs',
      'node_modules/typescript',
      'node_modules/@biomejs',
      'node_modules/fast-check',
      '.git',
    ])
      assert.ok(!existsSync(join(code, path)), path);
    // The same again is an update.
    assert.equal(devicectl('system', 'install', '--root', root, '--sku', SMALL).status, 0);
    assert.deepEqual(
      readdirSync(join(root, 'usr/lib')).filter((name) => name.startsWith('device')),
      ['device'],
    );
    const gone = devicectl('system', 'uninstall', '--root', root);
    assert.equal(gone.status, 0, gone.stderr);
    assert.deepEqual(files.filter((path) => existsSync(join(root, path))).sort(), [
      'etc/device/sku.yaml',
      'etc/device/warden.json',
    ]);
    assert.ok(!existsSync(code));
    assert.match(devicectl('system', 'uninstall', '--root', root).stderr, /NOT_FOUND/);
  });

  const refusals: readonly (readonly [title: string, sku: string, says: RegExp, more?: readonly string[]])[] = [
    ['a SKU that nobody would say READY for', SMALL_SKU.replace(/ {2}systemd.*\n/, ''), /systemd: \^1\.0\.0/],
    ['a SKU that is wrong', SMALL_SKU.replace('rpc:', 'rcp:'), /SKU_INVALID.*rcp/s],
    ['a plugin that lies beside the SKU', withPlugins('guest: { version: ^1.0.0, path: guest }'), /guest/],
    ['a name that nests slices', SMALL_SKU, /my-device/, ['--service', 'my-device']],
    ['the name of a user of the system', SMALL_SKU, /mail/, ['--service', 'mail']],
    ['another name than that of the SKU', `${SMALL_SKU}service: kiosk\n`, /kiosk/, ['--service', 'device']],
    ['a source that is no checkout', SMALL_SKU, /no checkout/, ['--source', folder]],
  ];
  for (const [at, [title, text, says, more = []]] of refusals.entries())
    test(`refuses ${title}, and writes nothing`, () => {
      const root = tree(`refused-${at}`);
      const { status, stdout, stderr } = devicectl(
        'system',
        'install',
        '--root',
        root,
        '--sku',
        sku(`refused-${at}`, text),
        ...more,
      );
      assert.notEqual(status, 0);
      assert.match(`${stdout}${stderr}`, says);
      assert.deepEqual(readdirSync(root), []);
    });

  test('refuses the user of another service', () => {
    const root = tree('taken');
    mkdirSync(join(root, 'etc'));
    writeFileSync(join(root, 'etc/passwd'), 'root:x:0:0::/:/bin/sh\ndevice:x:1000:1000::/srv/x:/bin/sh\n');
    const { status, stderr } = devicectl('system', 'install', '--root', root, '--sku', SMALL);
    assert.equal(status, 2);
    assert.match(stderr, /of another program/);
  });

  test('leaves the tree by no link of it', () => {
    const root = tree('links');
    const outside = tree('outside');
    mkdirSync(join(root, 'usr'));
    symlinkSync(outside, join(root, 'etc'));
    const { status, stderr } = devicectl('system', 'install', '--root', root, '--sku', SMALL);
    assert.notEqual(status, 0);
    assert.match(stderr, /leads out of/);
    assert.deepEqual(readdirSync(outside), []);
  });

  test('takes the name of the service to every file', async () => {
    const words = [
      'system',
      'install',
      '--root',
      tree('kiosk'),
      '--sku',
      SMALL,
      '--service',
      'kiosk',
      '--dry-run',
      '--json',
    ];
    const { files, prefix } = JSON.parse(devicectl(...words).stdout) as { files: string[]; prefix: string };
    for (const path of [...files, prefix]) assert.match(path, /kiosk/);
    const { text } = await skuForService(SMALL, 'kiosk', CHECKOUT);
    assert.match(text, /^service: kiosk$/m);
    const { texts } = await systemFiles(
      CHECKOUT,
      { service: 'kiosk', prefix },
      { sku: text, dropIn: '', profile: '', warden: {} },
    );
    assert.match(texts['usr/lib/systemd/system/kiosk-core.service']!, /^User=kiosk$/m);
    for (const [path, content] of Object.entries(texts)) assert.doesNotMatch(content, /device-|@[A-Z]+@/, path);
  });

  test('has descriptors kept over a stop by a systemd that can, and says nothing of it to another', async () => {
    const root = tree('versions');
    const library = join(root, 'usr/lib/x86_64-linux-gnu/systemd/libsystemd-shared-');
    mkdirSync(dirname(library), { recursive: true });
    const store = 'usr/lib/systemd/system/kiosk-core.service.d/40-store.conf';
    for (const [name, version] of [
      ['', 0],
      ['252.so', 252],
      ['257.7-1.so', 257],
    ] as const) {
      if (name) writeFileSync(`${library}${name}`, '');
      assert.equal(new Root(root).systemd, version);
      if (name) rmSync(`${library}${name}`);
      const made = { sku: '', dropIn: '', profile: '', warden: {}, systemd: version };
      const { texts } = await systemFiles(CHECKOUT, { service: 'kiosk', prefix: '/usr/lib/kiosk' }, made);
      assert.equal(/^FileDescriptorStorePreserve=yes$/m.test(texts[store] ?? ''), version >= 254, name);
    }
  });

  test('takes no link of a checkout that leads out of it', async () => {
    const checkout = tree('checkout');
    for (const name of ['kernel', 'manifests', 'plugin-api', 'plugins', 'systemd', 'node_modules'])
      mkdirSync(join(checkout, name));
    for (const name of ['package.json', 'LICENSE']) writeFileSync(join(checkout, name), '{}');
    writeFileSync(join(checkout, 'package-lock.json'), '{"packages":{}}');
    assert.ok((await productionFiles(checkout)).includes('kernel'));
    symlinkSync('../../etc/passwd', join(checkout, 'kernel/link'));
    await assert.rejects(productionFiles(checkout), /kernel\/link is a link that leads out/);
  });
});

describe('units as systemd reads them', { skip: without('systemd') }, () => {
  const variants: readonly (readonly [name: string, ...lines: readonly string[]])[] = [
    ['nothing'],
    [
      'spidev',
      'port-spidev: { version: ^1.0.0, config: { device: /dev/spidev0.0, dataReady: { chip: gpiochip0, line: 25 } } }',
    ],
    [
      'buses of the host',
      'host-gpio: { version: ^1.0.0, config: { chips: [{ name: pins, path: /dev/gpiochip0 }] } }',
      'host-can: { version: ^1.0.0, config: { interfaces: [{ name: car, path: can0, nominal: 500000 }] } }',
    ],
    ['sound', 'audio-alsa: ^1.0.0', 'audio: ^1.0.0'],
    ['cloud', 'speech: ^1.0.0', 'stt-cloud: { version: ^1.0.0, config: { endpoint: "https://stt.example.com/v1" } }'],
    [
      'all of it',
      'port-spidev: { version: ^1.0.0, config: { device: /dev/spidev0.0 } }',
      'audio-alsa: ^1.0.0',
      'audio: ^1.0.0',
      'speech: ^1.0.0',
      'stt-cloud: { version: ^1.0.0, config: { endpoint: "https://stt.example.com/v1" } }',
    ],
  ];
  // The code beside them is the same for all: it is copied once.
  const root = join(folder, 'units');
  const dropIn = (name: string) => join(root, `usr/lib/systemd/system/device-core.service.d/${name}.conf`);
  before(() => {
    mkdirSync(root);
    assert.equal(devicectl('system', 'install', '--root', root, '--sku', SMALL).status, 0);
    bare(root);
  });

  for (const [name, ...lines] of variants)
    test(`pass without a word, and expose no more than their bars: ${name}`, (t) => {
      const manifest = parseYaml(withPlugins(...lines)).value as SkuManifest;
      writeFileSync(
        dropIn('50-sku'),
        dropInOf(
          needsOf(manifest, (id) => id === 'stt-cloud'),
          manifest.id,
        ),
      );
      const checked = devicectl('system', 'check', '--root', root, '--json');
      const { ok, units } = JSON.parse(checked.stdout) as {
        ok: boolean;
        units: { unit: string; exposure?: number; most?: number; problems: string[] }[];
      };
      assert.deepEqual(
        units.filter(({ problems }) => problems.length > 0),
        [],
      );
      assert.equal(ok, true);
      for (const { unit, exposure, most } of units.filter((one) => one.most !== undefined)) {
        t.diagnostic(`${unit}: exposure ${exposure} of ${most}`);
        assert.ok(exposure! <= most!, `${unit}: ${exposure}`);
      }
      assert.equal(checked.status, 0);
    });

  test('pass with slots, where a boot loader stands before the Core, and nothing of a checkout is named', (t) => {
    const root = tree('slotted');
    assert.equal(devicectl('system', 'install', '--root', root, '--sku', SMALL, '--slots').status, 0);
    bare(root);
    // What the image and the loader bring, and what the loader makes.
    for (const path of ['var/lib/device-system/boot/current/bin/node', 'run/device-boot/slot/bin/node']) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), '', { mode: 0o755 });
    }
    const { ok, units } = JSON.parse(devicectl('system', 'check', '--root', root, '--json').stdout) as {
      ok: boolean;
      units: { unit: string; exposure?: number; most?: number; problems: string[] }[];
    };
    for (const { unit, exposure, most } of units.filter((one) => one.most !== undefined))
      t.diagnostic(`${unit}: exposure ${exposure} of ${most}`);
    assert.deepEqual(
      units.flatMap(({ problems }) => problems),
      [],
    );
    assert.ok(ok);
    const names = units.map(({ unit }) => unit);
    assert.ok(names.includes('device-slots.service') && !names.includes('device-safe.service'), names.join());
    const core = readFileSync(join(root, 'usr/lib/systemd/system/device-core.service'), 'utf8');
    const loader =
      '/var/lib/device-system/boot/current/bin/node /var/lib/device-system/boot/current/kernel/init/main.js';
    for (const line of [
      'StartLimitIntervalSec=0',
      // The last of several counts: there is one.
      'TimeoutStartSec=300',
      `ExecStartPre=+${loader} choose --service device`,
      'EnvironmentFile=-/run/device-boot/boot.env',
      'ExecStart=/run/device-boot/slot/bin/node /run/device-boot/slot/kernel/start.js --system $BOOT_ARGS',
      `ExecStartPost=-+${loader} ready --service device`,
      `ExecStopPost=-+${loader} ended --service device`,
      'ProtectSystem=strict',
      'User=device',
      'LoadCredentialEncrypted=vault.key:device.vault.key',
    ])
      assert.ok(core.split('\n').includes(line), line);
    assert.equal(core.match(/^TimeoutStartSec=/gm)?.length, 1);
    for (const path of ['etc/device/sku.yaml', 'usr/lib/device/kernel']) assert.ok(!existsSync(join(root, path)), path);
    for (const unit of readdirSync(join(root, 'usr/lib/systemd/system'), { recursive: true, encoding: 'utf8' }))
      if (/^device.*(service|socket)$/.test(unit))
        assert.doesNotMatch(
          readFileSync(join(root, 'usr/lib/systemd/system', unit), 'utf8'),
          /OnFailure|\/usr\/lib\/device/,
          unit,
        );
  });

  test('are not fine with a directive that systemd does not know, nor when they open more', () => {
    writeFileSync(dropIn('90'), '[Service]\nProtectEverything=yes\n');
    assert.match(devicectl('system', 'check', '--root', root).stdout, /ProtectEverything/);
    writeFileSync(dropIn('90'), '[Service]\nUser=root\nSystemCallFilter=\nProtectSystem=no\n');
    const { status, stdout } = devicectl('system', 'check', '--root', root);
    assert.equal(status, 1);
    assert.match(stdout, /its exposure is [\d.]+, more than 2/);
  });

  test('the profile of the Core compiles', { skip: without('apparmor') }, () => {
    const text = render(readFileSync(join(CHECKOUT, 'systemd/apparmor/core'), 'utf8'), VALUES);
    assert.doesNotMatch(text, /complain/);
    const { status, stderr } = spawnSync('apparmor_parser', ['-Q', '-K', '-S'], {
      input: text,
      encoding: 'utf8',
    });
    assert.equal(status, 0, stderr);
  });
});

/** Units that ours name and a bare tree does not have. */
function bare(root: string): void {
  const units = join(root, 'usr/lib/systemd/system');
  for (const name of ['basic', 'sysinit', 'shutdown', 'sockets', 'multi-user', 'local-fs'])
    writeFileSync(join(units, `${name}.target`), '[Unit]\nDescription=x\n');
  writeFileSync(join(units, 'dbus.socket'), '[Socket]\nListenStream=/run/dbus.sock\nAccept=yes\n');
  for (const name of ['-', 'system', 'device']) writeFileSync(join(units, `${name}.slice`), '[Slice]\n');
}
