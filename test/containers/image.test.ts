/** A device that `devicectl image install` made, booted: nobody lends a hand. Costs the build of an image, and a container with a whole Core. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { readyCore, shown } from '../fixtures/installed-core.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { Product } from '../fixtures/product.ts';

const MS = { timeout: 240_000 };
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-product-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));

const SYSTEM = '/var/lib/device-system';
const HEALTH =
  'require("http").get({ socketPath: "/run/device/core.sock", path: "/health" }, (answer) => answer.pipe(process.stdout))';

suite('a device made of an image', { skip: WITHOUT_CONTAINERS }, () => {
  test('boots to READY from slot a, without root, without a checkout, and finds out what it is', MS, async () => {
    const product = new Product(FOLDER);
    const provision = join(FOLDER, 'provision.yaml');
    writeFileSync(provision, 'id: unit-0001\nserial: SN 17\ncalibration: { touch: { x: 1.5 } }\n');
    let installed: Record<string, unknown> = {};
    await using box = await Container.start((root) => {
      installed = product.install(root, product.image('1.2.3'), '--provision', provision);
    });
    assert.equal(installed.id, 'unit-0001');
    await readyCore(box);
    const boot = JSON.parse(await box.output('cat /run/device-boot/boot.json'));
    assert.deepEqual(
      [boot.slot, boot.sku, boot.version, boot.image, boot.safe, boot.rung],
      ['a', 'boxed', '1.2.3', installed.image, false, 'normal'],
    );
    assert.deepEqual([boot.problems, boot.repaired], [[], []]);
    const pid = await shown(box, 'device-core', 'MainPID');
    assert.match(await box.output(`readlink /proc/${pid}/exe`), new RegExp(`^${SYSTEM}/slots/a/bin/node`));
    assert.notEqual((await box.output(`stat -c %u /proc/${pid}`)).trim(), '0');
    const health = JSON.parse(await box.output(`${SYSTEM}/slots/a/bin/node -e '${HEALTH}'`));
    assert.equal(health.status, 'ok', JSON.stringify(health));
    // The command line of the device is that of its image.
    await box.output('/run/device/devicectl status');
    const file = readFileSync(box.path('/etc/device/device.yaml'), 'utf8');
    assert.match(file, /id: unit-0001\nserial: SN 17\ncalibration:\n {2}touch:\n {4}x: 1\.5/);
    // Nothing of it can be written by the Core, and it leaves no cache of code.
    for (const path of [
      `${SYSTEM}/slots/a/kernel/main.js`,
      `${SYSTEM}/boot/record`,
      `${SYSTEM}/boot/keys.json`,
      '/etc/device/device.yaml',
    ])
      assert.notEqual((await box.run(`test -w ${path}`, { user: 'device' })).status, 0, path);
    assert.notEqual((await box.run('test -e /var/lib/device/cache/compile')).status, 0);
  });
});
