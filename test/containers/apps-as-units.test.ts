/** A whole device, as it is installed, whose apps are units of systemd: each a user of its own that finds nothing of the others. */
import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite, test } from 'node:test';
import { eventually } from '../fixtures/eventually.ts';
import { CTL, coreBox, devicectl, health, readyCore, SMALL_SKU } from '../fixtures/installed-core.ts';
import { type Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';

/** `supervisor-systemd` in place of `supervisor-process`, and nothing else, makes units of apps. */
const SKU = `${SMALL_SKU}  supervisor-systemd: ^1.0.0
  apps: ^1.0.0
  app-store: { version: ^1.0.0, config: { probationMs: 100 } }
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
const PROGRAM = `import { appendFileSync, chmodSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
const deep = process.env.DEVICE_DATA_DIR + '/deep/er';
try { mkdirSync(deep, { recursive: true }); writeFileSync(deep + '/note', 'x'); chmodSync(deep, 0); } catch {}
const reach = (path) => { try { readFileSync(path); return 'read'; } catch ({ code }) { return code; } };
const found = {
  uid: process.getuid(), token: readFileSync(process.env.CREDENTIALS_DIRECTORY + '/token', 'utf8').length > 20,
  note: (appendFileSync(process.env.DEVICE_DATA_DIR + '/note', 'x'), readFileSync(process.env.DEVICE_DATA_DIR + '/note', 'utf8')),
  operator: reach('/run/device/operator.token'), etc: reach('/etc/device/warden.json'), warden: reach('/run/device-warden.sock'), apps: readdirSync('/run/device/apps'),
};
writeFileSync(process.env.DEVICE_DATA_DIR + '/found.json', JSON.stringify(found));
console.log('diary is up');
setInterval(() => {}, 1000);
`;

const DATA = '/var/lib/device/apps/com.example.diary/data';

function placeDiary(root: string, app = join(root, DATA, '..')): void {
  mkdirSync(app, { recursive: true });
  writeFileSync(join(app, 'app.yaml'), MANIFEST);
  writeFileSync(join(app, 'main.mjs'), PROGRAM);
}

/** What the app found when it began; once. */
async function told(box: Container, what: string): Promise<{ readonly uid: number; readonly note: string }> {
  const found = `${DATA}/found.json`;
  const look = () => box.output(`cat ${found} && rm ${found}`).then(JSON.parse, () => undefined);
  return eventually(look, what, { ms: 30_000 });
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
    const inside = { uid: 40_000, token: true, operator: 'ENOENT', etc: 'ENOENT', warden: 'ENOENT', apps: ['diary'] };
    assert.deepEqual(await told(box, 'the app runs'), { ...inside, note: 'x' });
    await box.output('systemctl kill -s KILL app-diary');
    assert.deepEqual(await told(box, 'it is back'), { ...inside, note: 'xx' });
    assert.match(await box.output(`${CTL} app list`), /com\.example\.diary +1\.0\.0 +running/);
    assert.equal((await health(box)).components['supervisor-systemd']?.status, 'okay');

    // One that does not end by itself still runs when systemd restarts the Core: systemd starts it again without being asked.
    await box.output(
      `echo "process.on('SIGTERM', () => {});" >> ${DATA}/../main.mjs; systemctl kill -s KILL app-diary`,
    );
    await told(box, 'it is back, and deaf');
    for (let round = 0; round < 2; round += 1) {
      await box.output('systemctl restart device-core');
      const { uid } = await told(box, 'it is back with the Core');
      const running = () => box.output(`${CTL} app list`).then((list) => /diary +1\.0\.0 +running/.test(list));
      await eventually(running, 'the app is known to run', { ms: 30_000, every: 200 });
      assert.equal(uid, 40_000);
    }
  });

  test('have their data again from a backup, lose them with a removal, and leave nothing behind when the device is reset', {
    timeout: 180_000,
  }, async () => {
    await using box = await coreBox({ sku: SKU });
    const former = await readyCore(box);
    placeDiary('', join(box.folder, 'diary'));
    const packed = devicectl('app', 'pack', join(box.folder, 'diary'), '--out', join(box.folder, 'diary.app'));
    assert.equal(packed.status, 0, packed.stderr);
    const owner = () => box.output(`stat -c '%u %a' ${DATA} ${DATA}/note`);
    const gone = async (path: string) => (await box.run(`stat ${path}`)).status !== 0;

    await box.output(`${CTL} app install /lab/diary.app`);
    assert.equal((await told(box, 'the app runs')).note, 'x');
    const said = await box.output(`${CTL} backup /lab/device.backup`);
    assert.match(said, /data\/deep\/er \(it cannot be read: EACCES\)/, 'a folder that the app has closed');
    assert.doesNotMatch(said, /data\/note|data \(/);
    assert.equal((await told(box, 'it runs again')).note, 'xx');
    assert.equal(await owner(), '40000 700\n40000 600\n');

    assert.match(await box.output(`${CTL} app remove diary --purge`), /diary was removed$/m);
    assert.equal(await box.output('ls -A /var/lib/device/apps'), '');
    assert.ok(await gone('/var/lib/device/remains'));

    await box.output(`${CTL} restore /lab/device.backup --yes; systemctl restart device-core`);
    const second = await readyCore(box, former);
    assert.equal((await told(box, 'it has what it wrote')).note, 'xx');
    assert.equal(await owner(), '40000 700\n40000 600\n');

    await box.output(`${CTL} system reset --yes; systemctl restart device-core`);
    await readyCore(box, second);
    await eventually(() => gone('/var/lib/device/remains'), 'nothing remains', { ms: 30_000 });
    assert.equal((await box.run('find / -xdev -name note -path "*data*" -o -xdev -name found.json')).stdout, '');
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
