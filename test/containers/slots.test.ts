/** Who writes the slots as it is installed, under a systemd of its own: what the Core's user can do without it, and what it can do itself. */
import assert from 'node:assert/strict';
import {
  appendFileSync,
  chownSync,
  cpSync,
  mkdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, resolve } from 'node:path';
import { suite, test } from 'node:test';
import type { SlotAnswer } from '@device-core/plugin-api/inside/slot-files';
import { eventually } from '../fixtures/eventually.ts';
import { Container, WITHOUT_CONTAINERS } from '../fixtures/nspawn.ts';
import { SlotDevice } from '../fixtures/slot-device.ts';

const CHECKOUT = resolve(import.meta.dirname, '../..');
const NODE = '/checkout/node_modules/.bin/node';
const CORE = 900;
const SYSTEM = '/var/lib/device-system';

const ASK = `import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
const answers = [];
for (const request of process.argv.slice(2)) {
  const socket = connect('/run/device-slots.sock');
  socket.write(request + '\\n');
  const last = await text(socket).then((lines) => JSON.parse(lines.trim().split('\\n').at(-1)), (error) => ({ error: error.code }));
  answers.push('progress' in last ? { error: 'cut off' } : last);
}
console.log(JSON.stringify(answers));
`;

/** Everything that a Core which was taken over would like to write; prints what it could. */
const PROBE = `import fs from 'node:fs';
const could = [];
const tries = {
  'write a file of the slot': () => fs.writeFileSync('${SYSTEM}/slots/a/bin/node', 'mine'),
  'open it for writing': () => fs.openSync('${SYSTEM}/slots/a/bin/node', 'r+'),
  'add a file': () => fs.writeFileSync('${SYSTEM}/slots/a/mine.js', 'mine'),
  'remove a file': () => fs.rmSync('${SYSTEM}/slots/a/kernel/start.js'),
  'rename a slot': () => fs.renameSync('${SYSTEM}/slots/a', '${SYSTEM}/slots/c'),
  'make a slot': () => fs.mkdirSync('${SYSTEM}/slots/d'),
  'write the list': () => fs.appendFileSync('${SYSTEM}/slots/a/image.json', ' '),
  'write the record': () => fs.openSync('${SYSTEM}/boot/record', 'r+'),
  'truncate the record': () => fs.truncateSync('${SYSTEM}/boot/record'),
  'remove the record': () => fs.rmSync('${SYSTEM}/boot/record'),
  'lock the record': () => fs.symlinkSync('mine', '${SYSTEM}/boot/record.lock'),
  'write the keys': () => fs.writeFileSync('${SYSTEM}/boot/keys.json', '{}'),
  'lead current elsewhere': () => fs.symlinkSync('/tmp', '${SYSTEM}/boot/current2'),
  'write the loader': () => fs.writeFileSync('${SYSTEM}/boot/1/systemd/helpers/slots/main.js', 'mine'),
  'ask for safe mode by the file': () => fs.writeFileSync('${SYSTEM}/boot/safe-mode', ''),
  'change a mode': () => fs.chmodSync('${SYSTEM}/slots', 0o777),
  'take it over': () => fs.chownSync('${SYSTEM}/slots', ${CORE}, ${CORE}),
  'link to a file of it': () => fs.linkSync('${SYSTEM}/slots/a/bin/node', '/var/lib/device/node'),
  'say what the loader said': () => fs.writeFileSync('/run/device-boot/boot.json', '{"slot":"b"}'),
  'lead the slot elsewhere': () => fs.symlinkSync('/tmp', '/run/device-boot/slot2'),
  'take the place of the socket': () => fs.rmSync('/run/device-slots.sock'),
};
for (const [what, attempt] of Object.entries(tries)) {
  try { attempt(); could.push(what); } catch (error) { if (!/^(EACCES|EPERM|EROFS)$/.test(error.code)) could.push(what + ': ' + error.code); }
}
fs.readFileSync('${SYSTEM}/slots/a/image.json');
fs.readFileSync('${SYSTEM}/boot/record');
console.log(JSON.stringify(could));
`;

interface Box extends AsyncDisposable {
  readonly box: Container;
  /** The device as it is seen from here. */
  readonly made: SlotDevice;
  /** Brings an image folder to the Core's user; its path inside. */
  bring(folder: string): string;
  ask(requests: readonly object[], user?: string): Promise<readonly (SlotAnswer & { readonly error?: string })[]>;
}

async function slotsBox(prepare: (root: string) => void = () => undefined): Promise<Box> {
  const made = new SlotDevice();
  const box = await Container.start((root) => {
    appendFileSync(
      join(root, 'etc/passwd'),
      `device:x:${CORE}:${CORE}::/:/usr/sbin/nologin\nstranger:x:901:901::/:/bin/sh\n`,
    );
    appendFileSync(join(root, 'etc/group'), `device:x:${CORE}:\nstranger:x:901:\n`);
    for (const name of ['slots.service', 'slots.socket']) {
      const text = readFileSync(join(CHECKOUT, 'systemd', name), 'utf8')
        .replaceAll('@SERVICE@', 'device')
        .replaceAll('@NODE@', `${SYSTEM}/boot/current/bin/node`)
        .replaceAll('@CODE@', `${SYSTEM}/boot/current`);
      writeFileSync(join(root, `etc/systemd/system/device-${name}`), text);
    }
    cpSync(made.places.system, join(root, SYSTEM), { recursive: true });
    // What the loader's tree has, from the checkout.
    const loader = join(root, SYSTEM, 'boot/1');
    mkdirSync(join(loader, 'bin'), { recursive: true });
    mkdirSync(join(loader, 'systemd/helpers/slots'), { recursive: true });
    symlinkSync(NODE, join(loader, 'bin/node'));
    symlinkSync('1', join(root, SYSTEM, 'boot/current'));
    writeFileSync(join(loader, 'package.json'), '{"type":"module"}');
    writeFileSync(
      join(loader, 'systemd/helpers/slots/main.js'),
      "await import('/checkout/systemd/helpers/slots/main.ts');\n",
    );
    mkdirSync(join(root, 'var/lib/device'), { mode: 0o711 });
    chownSync(join(root, 'var/lib/device'), CORE, CORE);
    writeFileSync(join(root, 'srv/ask.mjs'), ASK);
    writeFileSync(join(root, 'srv/probe.mjs'), PROBE);
    prepare(root);
  });
  await box.output('mkdir -p /run/device-boot; systemctl start device-slots.socket');
  writeFileSync(box.path('/run/device-boot/boot.json'), '{"slot":"a","safe":false}');
  return {
    box,
    made,
    bring(folder) {
      const inside = `/var/lib/device/update/${folder.split('/').at(-1)}`;
      rmSync(box.path(inside), { recursive: true, force: true });
      cpSync(folder, box.path(inside), { recursive: true });
      return inside;
    },
    async ask(requests, user = 'device') {
      const words = requests.map((request) => `'${JSON.stringify(request)}'`).join(' ');
      // As the Core keeps it: nobody else reads what was fetched.
      await box.output(
        `mkdir -p /var/lib/device/update; chown -R device:device /var/lib/device; chmod -R u=rwX,go= /var/lib/device/update`,
      );
      return JSON.parse(await box.output(`${NODE} /srv/ask.mjs ${words}`, { user }));
    },
    async [Symbol.asyncDispose]() {
      made[Symbol.dispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}

suite('who writes the slots', { skip: WITHOUT_CONTAINERS }, () => {
  test('stages, activates and judges for the Core, which can write neither slot nor record nor loader', async () => {
    await using device = await slotsBox();
    const { box, made } = device;
    assert.deepEqual(JSON.parse(await box.output(`${NODE} /srv/probe.mjs`, { user: 'device' })), []);
    assert.deepEqual(await device.ask([{ verb: 'status' }], 'stranger'), [{ error: 'EACCES' }]);

    const folder = device.bring(made.image('1.1.0', { files: { 'large.bin': Buffer.alloc(3 << 20, 'large') } }));
    const [inspected, staged, activated] = await device.ask([
      { verb: 'inspect', folder },
      { verb: 'stage', folder },
      { verb: 'activate', slot: 'b' },
    ]);
    assert.ok(inspected && 'ok' in inspected, JSON.stringify(inspected));
    assert.ok(staged && 'ok' in staged, JSON.stringify(staged));
    assert.deepEqual(activated, { ok: true });
    assert.equal(
      await box.output(
        `cd ${SYSTEM}/slots/b && stat -c '%u:%g %a %n' . bin bin/node kernel/start.js image.json image.sig`,
      ),
      '0:0 755 .\n0:0 755 bin\n0:0 755 bin/node\n0:0 644 kernel/start.js\n0:0 644 image.json\n0:0 644 image.sig\n',
    );
    assert.equal(await box.output(`find ${SYSTEM}/slots ! -uid 0 -o -links +1 -type f -o -perm /7022`), '');
    // What the process is: root with one right, without a network, writing in one place.
    const pid = (await box.output('systemctl show -P MainPID device-slots')).trim();
    const caps = await box.output(`grep -h ^Cap /proc/${pid}/status`);
    assert.match(caps, /CapEff:\s+0{15}4\n/);
    assert.match(caps, /CapBnd:\s+0{15}4\n/);
    const links = await box.output(`nsenter -t ${pid} -n ip -o link 2>/dev/null || cat /proc/${pid}/net/dev`);
    assert.doesNotMatch(links, /eth|host0/);
    assert.match(
      await box.output(`nsenter -t ${pid} -m sh -c 'touch /etc/x /var/x /run/x /var/lib/device/x 2>&1; true'`),
      /^(.*Read-only.*\n){4}$/,
    );
    await box.output('systemd-analyze security --threshold=15 --no-pager device-slots.service');
    const [bad, good] = await device.ask([{ verb: 'markBad', reason: 'it' }, { verb: 'markGood' }]);
    assert.deepEqual([bad, good], [{ ok: true }, { ok: true }]);
    assert.deepEqual(JSON.parse(await box.output(`${NODE} /srv/probe.mjs`, { user: 'device' })), []);
  });

  test('dies in the middle, and is there for the next request; a disk that is full or read-only takes nothing', async () => {
    await using device = await slotsBox();
    const { box, made } = device;
    const small = device.bring(made.image('1.1.0'));
    const large = device.bring(made.image('1.2.0', { files: { 'large.bin': Buffer.alloc(64 << 20, 'large') } }));
    const asked = device.ask([{ verb: 'stage', folder: large }]);
    await eventually(
      async () => (await box.run(`test -e ${SYSTEM}/slots/b.new`)).status === 0,
      'a slot that is being written',
    );
    await box.output('systemctl kill -s KILL device-slots');
    const [cut] = await asked;
    assert.ok(cut?.error ?? (cut && 'ok' in cut), JSON.stringify(cut));
    const [status] = await device.ask([{ verb: 'status' }]);
    const slots = (status as { ok: { slots: { name: string; state: string }[] } }).ok.slots;
    assert.equal(slots.find(({ name }) => name === 'a')?.state, 'good');
    if (cut?.error) assert.equal(slots.find(({ name }) => name === 'b')?.state, 'empty');
    assert.ok('ok' in (await device.ask([{ verb: 'stage', folder: small }]))[0]!);

    // Its own disk, from now on.
    await box.output(
      `systemctl stop device-slots; cp -a ${SYSTEM} /srv/system; mount -t tmpfs -o size=24m,mode=0755 tmpfs ${SYSTEM}; cp -a /srv/system/. ${SYSTEM}`,
    );
    assert.equal(
      ((await device.ask([{ verb: 'stage', folder: large }]))[0] as { refused?: string }).refused,
      'STORAGE_FULL',
    );
    await box.output(`systemctl stop device-slots; mount -o remount,ro ${SYSTEM}`);
    const refused = await device.ask([{ verb: 'stage', folder: small }, { verb: 'markGood' }]);
    assert.deepEqual(
      refused.map((answer) => (answer as { refused?: string }).refused),
      ['STORAGE_READ_ONLY', 'STORAGE_READ_ONLY'],
    );
    await box.output(`systemctl stop device-slots; mount -o remount,rw ${SYSTEM}`);
    assert.ok('ok' in (await device.ask([{ verb: 'stage', folder: small }]))[0]!);
  });

  test('ends the device in order, and asks the loader for safe mode where that is wanted', async () => {
    await using device = await slotsBox((root) => {
      const text = `[Unit]\nDefaultDependencies=no\nBefore=shutdown.target\nConflicts=shutdown.target\n[Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/true\nExecStop=/bin/sh -c 'ls ${SYSTEM}/boot >/lab/.stopped; mv /lab/.stopped /lab/stopped'\n`;
      writeFileSync(join(root, 'etc/systemd/system/witness.service'), text);
    });
    await device.box.output('systemctl start witness');
    assert.deepEqual(await device.ask([{ verb: 'safeMode' }]), [{ ok: true }]);
    await device.box.output(`rm ${SYSTEM}/boot/safe-mode`);
    await device.ask([{ verb: 'powerOff', safeMode: true }]).catch(() => undefined);
    const stopped = await eventually(() => {
      try {
        return readFileSync(join(device.box.folder, 'stopped'), 'utf8');
      } catch {
        return undefined;
      }
    }, 'units that were stopped in order');
    assert.match(stopped, /^safe-mode$/m);
  });
});
