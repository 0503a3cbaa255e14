/** `devicectl image install`: a tree of a system becomes a device. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, suite, test } from 'node:test';
import { differenceOf, parseImage } from '../../../plugin-api/inside/image.ts';
import { newKeyPair } from '../../../plugin-api/inside/packages/index.ts';
import { RecordFile } from '../../../plugin-api/inside/record-file.ts';
import { writeArchive } from '../../../plugins/life/maker/image/archive.ts';
import { Checkout } from '../../../plugins/life/maker/image/build/checkout.ts';
import { loaderTree } from '../../../plugins/life/maker/image/build/tree.ts';
import { deviceFile, provisionFrom } from '../../../plugins/life/maker/image/install/device-file.ts';
import { blobOf } from '../../../plugins/life/maker/image/write.ts';
import { tinyImage } from '../../fixtures/image.ts';
import { devicectl, SMALL_SKU } from '../../fixtures/installed-core.ts';

const FOLDER = mkdtempSync(join(tmpdir(), 'dc-place-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
let made = 0;
const fresh = (): string => {
  const path = join(FOLDER, `${++made}`);
  mkdirSync(path);
  return path;
};

const FILES = { 'manifests/skus/tiny.yaml': `${SMALL_SKU}service: kiosk\n` };
const TINY = tinyImage({ version: '2.0.0', files: FILES });
const KEYS = join(FOLDER, 'keys.json');
writeFileSync(KEYS, JSON.stringify(TINY.keys));

const install = (root: string, image: string, ...words: readonly string[]) =>
  devicectl('image', 'install', root, '--image', image, '--keys', KEYS, ...words);
const imageIn = (folder: string) => parseImage(readFileSync(join(folder, 'image.json')));

suite('image install', () => {
  const root = fresh();
  const system = join(root, 'var/lib/kiosk-system');

  test('lays out loader, keys, slot a and a record that starts it', () => {
    const { status, stdout, stderr } = install(root, TINY.folder(join(FOLDER, 'image')), '--json');
    assert.equal(status, 0, stderr);
    const { loader, service, image } = JSON.parse(stdout);
    assert.deepEqual([service, image], ['kiosk', TINY.hash]);
    assert.deepEqual(readdirSync(system).sort(), ['boot', 'slots']);
    assert.deepEqual(readdirSync(join(system, 'boot')).sort(), [loader, 'current', 'keys.json', 'record'].sort());
    assert.equal(readlinkSync(join(system, 'boot/current')), loader);
    assert.deepEqual(JSON.parse(readFileSync(join(system, 'boot/keys.json'), 'utf8')), TINY.keys);
    assert.equal(differenceOf(join(system, 'slots/a'), TINY.image), undefined);
    const tree = join(system, 'boot/current');
    assert.equal(differenceOf(tree, imageIn(tree)), undefined);
    const { record, kind } = new RecordFile(join(system, 'boot/record')).read();
    assert.equal(kind, 'record');
    assert.equal(record.primary, 'a');
    assert.deepEqual(record.slots.a, { state: 'good', tries: 0, version: '2.0.0', image: TINY.hash });
    assert.equal(record.slots.b.state, 'empty');
    assert.deepEqual(record.floor, { version: '2.0.0', time: TINY.image.builtAt });
  });

  test('the units start the loader, and nothing of a checkout is there', () => {
    const unit = readFileSync(join(root, 'usr/lib/systemd/system/kiosk-core.service'), 'utf8');
    assert.match(unit, /^ExecStartPre=\+\/var\/lib\/kiosk-system\/boot\/current\/bin\/node .*choose/m);
    assert.deepEqual(readdirSync(join(root, 'usr/lib/kiosk')), ['installed.json']);
    assert.ok(!readdirSync(join(root, 'etc/kiosk')).includes('sku.yaml'));
  });

  test('a device is not made over: what it has stays', () => {
    const other = tinyImage({ version: '3.0.0', files: FILES, signers: TINY.signers });
    const { status, stderr } = install(root, other.folder(join(FOLDER, 'other')));
    assert.equal(status, 1);
    assert.match(stderr, /SLOTS_UNAVAILABLE.*is a device already: devicectl update install/s);
    assert.equal(imageIn(join(system, 'slots/a')).version, '2.0.0');
  });

  test('a file is no tree of a system, and an image whose SKU was changed is refused by it, each in a line', () => {
    const file = join(FOLDER, 'a-file');
    writeFileSync(file, '');
    const image = TINY.folder(join(FOLDER, 'edited'));
    const onFile = install(file, image);
    assert.equal(onFile.status, 2);
    assert.match(onFile.stderr, /^devicectl: USAGE: \S+a-file is no tree of a system$/m);
    const sku = TINY.image.files.find(({ path }) => path === 'manifests/skus/tiny.yaml')!;
    writeFileSync(join(image, blobOf(sku)), 'x');
    const edited = install(fresh(), image);
    assert.equal(edited.status, 1);
    assert.match(
      edited.stderr,
      /^devicectl: SYSTEM_IMAGE_INVALID: the SKU of image 2\.0\.0: manifests\/skus\/tiny\.yaml/,
    );
  });

  test('takes an archive as it takes a folder, and makes an id where none is given', () => {
    const folder = TINY.folder(join(FOLDER, 'to-pack'));
    writeArchive(folder, join(FOLDER, 'image.tar'));
    const [one, two] = [fresh(), fresh()];
    for (const place of [one, two]) assert.equal(install(place, join(FOLDER, 'image.tar')).status, 0);
    const ids = [one, two].map((place) => readFileSync(join(place, 'etc/kiosk/device.yaml'), 'utf8'));
    for (const text of ids) assert.match(text, /^id: [0-9a-f]{8}-[0-9a-f-]{27}$/m);
    assert.notEqual(ids[0], ids[1]);
  });

  for (const [what, image, words, message] of [
    ['signed by somebody else', tinyImage({ files: FILES, signers: [newKeyPair()] }), [], /SIGNATURE_INVALID.*0 of 1/s],
    [
      'for another machine',
      tinyImage({ files: FILES, signers: TINY.signers, platform: { os: 'linux', arch: 'riscv64', libc: 'musl' } }),
      [],
      /SYSTEM_IMAGE_INVALID.*riscv64/s,
    ],
    [
      'for a newer loader',
      tinyImage({ files: FILES, signers: TINY.signers, minLoader: 99 }),
      [],
      /SYSTEM_IMAGE_INVALID.*loader 99/s,
    ],
    [
      'without its SKU',
      tinyImage({ files: { 'manifests/skus/tiny.yaml': undefined }, signers: TINY.signers }),
      [],
      /holds no manifests\/skus\/tiny\.yaml/,
    ],
    [
      'with a provision that says what no device has',
      TINY,
      ['--provision', join(FOLDER, 'wrong.yaml')],
      /wrong\.yaml: colour is none of a device/,
    ],
  ] as const)
    test(`an image ${what} makes no device, and nothing is left`, () => {
      writeFileSync(join(FOLDER, 'wrong.yaml'), 'colour: red\n');
      const place = fresh();
      const { status, stderr } = install(place, image.folder(join(FOLDER, `no-${made}`)), ...words);
      assert.notEqual(status, 0);
      assert.match(stderr, message);
      const found = readdirSync(place, { recursive: true, withFileTypes: true });
      assert.deepEqual(
        found.filter((entry) => entry.name === 'core.service' || entry.parentPath.endsWith('slots/a')),
        [],
      );
    });
});

test('device.yaml keeps its id when it is written again, and takes new members', async () => {
  const file = join(fresh(), 'etc/device.yaml');
  const id = await deviceFile(file, { serial: 'SN 1' });
  assert.equal(await deviceFile(file, { calibration: { glass: 2 } }), id);
  assert.deepEqual(provisionFrom(file), { id, serial: 'SN 1', calibration: { glass: 2 } });
  assert.equal(await deviceFile(file, { id: 'unit-2' }), 'unit-2');
  for (const text of ['id: ""', 'id: "a b"', 'serial: 5', 'calibration: []', 'a: [']) {
    const wrong = join(FOLDER, 'wrong-device.yaml');
    writeFileSync(wrong, text);
    assert.throws(() => provisionFrom(wrong), /wrong-device\.yaml/, text);
  }
});

test('the tree of the loader imports Node and its own files: it needs no package', () => {
  const tree = loaderTree(new Checkout(resolve(import.meta.dirname, '../../..')));
  for (const name of [
    'kernel/init/main.js',
    'systemd/helpers/slots/main.js',
    'systemd/helpers/warden/main.js',
    'bin/node',
  ])
    assert.ok(tree.has(name), name);
  const folders = new Set([...tree.keys()].map((path) => path.split('/').slice(0, 2).join('/')));
  assert.ok(!folders.has('node_modules/yaml'));
  for (const [path, { bytes }] of tree)
    if (path.endsWith('.js'))
      assert.doesNotMatch(
        Buffer.from(bytes()).toString('utf8'),
        /^import .* from '(?!node:|\.|@device-core\/plugin-api)/m,
        path,
      );
});
