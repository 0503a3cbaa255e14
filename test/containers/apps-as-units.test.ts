/** A whole device, as it is installed, whose apps are units of systemd: each a user of its own that finds nothing of the others. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, health, readyCore, SMALL_SKU } from '../fixtures/installed-core.ts';
import { WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

/** `supervisor-systemd` in place of `supervisor-process`, and nothing else, makes units of apps. */
const SKU = `${SMALL_SKU}  supervisor-systemd: ^1.0.0
  apps: ^1.0.0
  app-store: ^1.0.0
  backup: ^1.0.0
`;
const MANIFEST = `manifestVersion: 1
id: com.example.diary
name: diary
version: 1.0.0
title: Diary
minCore: 0.1.0
runtime: { kind: node }
exec: { command: node, args: [main.mjs] }
capabilities: [{ id: storage-scoped, reason: what it wrote }]
functions: []
resources: { memoryMaxMB: 256, cpuPercent: 50, tasksMax: 64 }
lifecycle: { autostart: true }
health: { kind: none }
`;
const PROGRAM = `import { chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
const deep = process.env.DEVICE_DATA_DIR + '/deep/er';
try { mkdirSync(deep, { recursive: true }); writeFileSync(deep + '/note', 'x'); chmodSync(deep, 0); } catch {}
const reach = (path) => { try { readFileSync(path); return 'read'; } catch ({ code }) { return code; } };
const found = {
  uid: process.getuid(), token: readFileSync(process.env.CREDENTIALS_DIRECTORY + '/token', 'utf8').length > 20,
  operator: reach('/run/device/operator.token'), etc: reach('/etc/device/warden.json'), warden: reach('/run/device-warden.sock'), apps: readdirSync('/run/device/apps'),
};
writeFileSync(process.env.DEVICE_DATA_DIR + '/found.json', JSON.stringify(found));
console.log('diary is up');
setInterval(() => {}, 1000);
`;

function placeDiary(root: string): void {
  const app = join(root, 'var/lib/device/apps/com.example.diary');
  mkdirSync(app, { recursive: true });
  writeFileSync(join(app, 'app.yaml'), MANIFEST);
  writeFileSync(join(app, 'main.mjs'), PROGRAM);
}

suite('apps as units', { skip: WITHOUT_CONTAINERS }, () => {
  test('run as users of their own, find nothing of the device, and come back when they were killed', {
    timeout: 180_000,
  }, async () => {
    await using box = await coreBox({
      sku: SKU,
      prepare: placeDiary,
    });
    await readyCore(box);
    const found = '/var/lib/device/apps/com.example.diary/data/found.json';
    const told = () => box.output(`cat ${found} && rm ${found}`).then(JSON.parse, () => undefined);
    const inside = { uid: 40_000, token: true, operator: 'ENOENT', etc: 'ENOENT', warden: 'ENOENT', apps: ['diary'] };
    assert.deepEqual(await eventually(told, 'the app runs', { ms: 30_000 }), inside);
    await box.output('systemctl kill -s KILL app-diary');
    assert.deepEqual(await eventually(told, 'it is back', { ms: 30_000 }), inside);
    assert.match(await box.output(`${CTL} app list`), /com\.example\.diary +1\.0\.0 +running/);
    assert.equal((await health(box)).components['supervisor-systemd']?.status, 'okay');
  });

  test('leave nothing behind when the device is reset: the warden gives their folders back', {
    timeout: 180_000,
  }, async () => {
    await using box = await coreBox({ sku: SKU, prepare: placeDiary });
    const former = await readyCore(box);
    const written = async () =>
      (await box.run('stat /var/lib/device/apps/com.example.diary/data/found.json')).status === 0;
    await eventually(written, 'the app wrote its data', { ms: 30_000 });
    await box.output(`${CTL} system reset --yes`);
    await box.output('systemctl restart device-core');
    await readyCore(box, former);
    const gone = async () => (await box.run('stat /var/lib/device/remains')).status !== 0;
    await eventually(gone, 'nothing remains', { ms: 30_000 });
    assert.equal((await box.run('find / -xdev -name note -path "*deep/er*" -o -xdev -name found.json')).stdout, '');
    const { components, warnings = [] } = await health(box);
    assert.equal(components.backup?.status, 'okay');
    assert.deepEqual(
      warnings.filter(({ code }) => code === 'STATE_REMAINS'),
      [],
    );
    assert.match(
      await box.output('journalctl -q -o cat -u device-core'),
      /the reset that was ordered is done with remains/,
    );
  });
});
