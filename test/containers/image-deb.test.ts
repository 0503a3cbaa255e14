/** A device from a Debian package, and its update by the next one. Costs two images and a container with a whole Core. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { parseImage } from '../../plugin-api/inside/image.ts';
import { RecordFile } from '../../plugin-api/inside/record-file.ts';
import { eventually } from '../fixtures/eventually.ts';
import { readyCore, SMALL_SKU } from '../fixtures/installed-core.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { made, Product } from '../fixtures/product.ts';

const MS = { timeout: 400_000 };
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-deb-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const without =
  WITHOUT_CONTAINERS || (spawnSync('dpkg-deb', ['--version']).status === 0 ? false : 'dpkg-deb is not there');
const SYSTEM = 'var/lib/device-system';

suite('a Debian package of an image', { skip: without }, () => {
  test(
    'makes a device when it is installed; the next one goes to the other slot, and touches nothing that runs',
    MS,
    async () => {
      const product = new Product(FOLDER, `${SMALL_SKU}  slots-files: ^1.0.0\n  updater: ^1.0.0\n`);
      const deb = (version: string): string => {
        const file = join(FOLDER, `${version}.deb`);
        made('image', 'deb', product.image(version), '--keys', product.keys, '--out', file);
        return file;
      };
      const [one, two] = [deb('1.0.0'), deb('1.1.0')];
      made('image', 'deb', join(FOLDER, 'image-1.0.0'), '--keys', product.keys, '--out', join(FOLDER, 'again.deb'));
      assert.ok(readFileSync(one).equals(readFileSync(join(FOLDER, 'again.deb'))), 'the same image, the same package');

      await using box = await Container.start();
      for (const file of [one, two]) copyFileSync(file, join(box.folder, file.split('/').at(-1)!));
      // The container has no network: what it depends on is there already.
      await box.output('dpkg --force-depends -i /lab/1.0.0.deb', { ms: 180_000 });
      const first = await readyCore(box);
      const version = (slot: string) =>
        parseImage(readFileSync(join(box.root, SYSTEM, 'slots', slot, 'image.json'))).version;
      const record = () => new RecordFile(join(box.root, SYSTEM, 'boot/record')).read().record;
      assert.equal(version('a'), '1.0.0');
      assert.equal(record().slots.a.state, 'good');
      const device = readFileSync(join(box.root, 'etc/device/device.yaml'), 'utf8');
      assert.match(device, /^id: [0-9a-f-]{36}$/m);
      const owned = await box.output('dpkg -L device');
      assert.ok(!owned.includes('device-system'), 'no file of a slot is dpkg’s');

      // The launcher is the Core's own file: whoever has the Core may put another there.
      await box.output(
        `cd /run/device && mv devicectl own && printf '#!/bin/sh\\n{ id -un; id -G; tty; grep NoNewPrivs /proc/self/status; } >/run/device/who\\nexec /run/device/own "$@"\\n' >devicectl && chmod 755 devicectl`,
      );
      const group = (await box.output('id -g device')).trim();
      const said = await box.output('dpkg --force-depends -i /lab/1.1.0.deb 2>&1', { ms: 180_000 });
      assert.equal(
        await box.output('cat /run/device/who'),
        `device\n${group}\nnot a tty\nNoNewPrivs:\t1\n`,
        'nothing of the Core runs as root',
      );
      await eventually(() => record().slots.b.version === '1.1.0', `the other image in slot b: ${said}`, {
        ms: 120_000,
        every: 200,
      });
      assert.deepEqual([version('a'), version('b')], ['1.0.0', '1.1.0']);
      assert.equal(readFileSync(join(box.root, 'etc/device/device.yaml'), 'utf8'), device, 'the device is the same');
      // By itself, as any update: nobody starts it.
      const next = await readyCore(box, first);
      assert.notEqual(next, first);
      assert.equal(JSON.parse(await box.output('cat /run/device-boot/boot.json')).slot, 'b');
    },
  );
});
