/** The boot loader under a systemd of its own: a device with two slots lives through a bad trial and a Core that crashes. Costs an image and two containers. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';
import { imageHash, parseImage, signImage } from '@device-core/plugin-api/inside/image';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { eventually } from '../fixtures/eventually.ts';
import { readyCore, SMALL_SKU } from '../fixtures/installed-core.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { Product } from '../fixtures/product.ts';

const MS = { timeout: 600_000 };
const FOLDER = mkdtempSync(join(tmpdir(), 'dc-loader-'));
after(() => rmSync(FOLDER, { recursive: true, force: true }));
const SYSTEM = '/var/lib/device-system';
const HEALTH =
  'require("http").get({ socketPath: "/run/device/core.sock", path: "/health" }, (answer) => answer.pipe(process.stdout))';
const SKU = SMALL_SKU.replace('  systemd:', '  slots-files: ^1.0.0\n  boot: ^1.0.0\n  systemd:');

/** What the loader says of a start that is under way. */
const report = async (box: Container): Promise<BootReport> =>
  JSON.parse(await box.output('cat /run/device-boot/boot.json'));

/** A copy of slot a in slot b, whose Core ends at once; signed like any other, on trial, and the one that starts. */
function badTrial(system: string, pem: string): void {
  const [from, to] = [join(system, 'slots/a'), join(system, 'slots/b')];
  cpSync(from, to, { recursive: true, preserveTimestamps: true });
  const text = 'process.exit(7);\n';
  writeFileSync(join(to, 'kernel/start.js'), text);
  const image = parseImage(readFileSync(join(to, 'image.json')));
  const sha256 = createHash('sha256').update(text).digest('hex');
  const files = image.files.map((file) =>
    file.path === 'kernel/start.js' ? { ...file, size: text.length, sha256 } : file,
  );
  const list = Buffer.from(JSON.stringify({ ...image, version: '1.1.0', files }));
  writeFileSync(join(to, 'image.json'), list);
  writeFileSync(join(to, 'image.sig'), signImage(imageHash(list), pem));
  const file = new RecordFile(join(system, 'boot/record'));
  const { record } = file.read();
  const b = { state: 'trial', version: '1.1.0', image: imageHash(list), tries: 0 } as const;
  file.write({ ...record, primary: 'b', slots: { ...record.slots, b } });
}

suite('a device with a boot loader', { skip: WITHOUT_CONTAINERS }, () => {
  let product: Product;
  let image: string;

  test('leaves a trial that crashes after three starts, and says why', MS, async () => {
    product = new Product(FOLDER, SKU);
    image = product.image('1.0.0');
    await using box = await Container.start((root) => {
      product.install(root, image);
      badTrial(join(root, SYSTEM), readFileSync(join(FOLDER, 'keys/release.key'), 'utf8'));
    });
    await readyCore(box);
    const said = await report(box);
    assert.deepEqual([said.slot, said.safe, said.slots.b.state, said.slots.b.tries], ['a', false, 'bad', 3]);
    assert.match(said.slots.b.reason ?? '', /3 starts, and it was never found good/);
    assert.equal(said.before, 'exit-code exited 7');
    assert.equal(said.slots.a.state, 'good');
    const told = await box.output('/run/device/devicectl boot');
    assert.match(told, /slot b +bad 1\.1\.0 3 starts/);
  });

  test(
    'that crashes five times comes up in safe mode, tells it everywhere, and is as before when the operator ends that',
    MS,
    async () => {
      await using box = await Container.start((root) => product.install(root, image));
      let pid = await readyCore(box);
      for (let at = 0; at < 5; at++) {
        await box.output(`kill -SEGV ${pid}`);
        pid = await readyCore(box, pid);
      }
      const said = await report(box);
      assert.deepEqual([said.slot, said.safe, said.rung, said.pause], ['a', true, 'safe', 600]);
      assert.match(said.why, /slot a ended 5 times within 10 minutes/);
      assert.equal(said.before, 'signal killed SEGV');
      assert.match(await box.output('journalctl --no-pager -o cat -u device-core'), /slot a ended 5 times/);
      assert.match(await box.output(`${SYSTEM}/slots/a/bin/node -e '${HEALTH}'`), /slot a ended 5 times/);
      // Somebody is there: it is asked for, and the normal start is made.
      await box.output('/run/device/devicectl restart');
      await readyCore(box, pid);
      await eventually(async () => (await report(box)).safe === false, 'the normal start');
      assert.deepEqual([(await report(box)).rung, (await report(box)).cause], ['normal', undefined]);
    },
  );
});
