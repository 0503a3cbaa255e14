/** The boot loader in a folder of its own: what it decides, writes and puts right, whatever is wrong with record, slots, keys and disk. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { encodeRecord, newRecord, RECORD_BYTES } from '@device-core/plugin-api/inside/boot-record';
import { removeDurably } from '@device-core/plugin-api/inside/record-file';
import { endedNow, readyNow } from '../../../kernel/init/heard.ts';
import { chooseNow, selfCheck } from '../../../kernel/init/loader.ts';
import { SLOT_FILES, SlotWorld, start } from '../../fixtures/slot-world.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';

const CRASH = { SERVICE_RESULT: 'signal', EXIT_CODE: 'killed', EXIT_STATUS: 'SEGV' };
const RECORD = 'system/boot/record';
const A = 'system/slots/a';

test('a start is counted before it begins, heard of when it is ready, and remembered by how it ended', async () => {
  using world = SlotWorld.twins();
  const report = await start(world);
  assert.deepEqual([report.slot, report.safe, report.version, report.verify], ['a', false, '1.0.0', 'full']);
  assert.equal(world.record().last?.result, 'started');
  assert.equal(readyNow(world.here), undefined);
  assert.equal(world.record().last?.result, 'ready');
  assert.equal(endedNow(world.here, CRASH), undefined);
  assert.equal(world.record().last?.text, 'signal killed SEGV');
  // What was not started cannot end: systemd calls when the loader itself failed, too.
  assert.equal(endedNow(world.here, { SERVICE_RESULT: 'exit-code' }), undefined);
  assert.equal(world.record().last?.text, 'signal killed SEGV');
  const second = await start(world);
  assert.deepEqual([second.before, second.waited, second.verify], ['signal killed SEGV', 3, 'quick']);
});

describe('the record', () => {
  const damages: readonly (readonly [what: string, harm: (world: SlotWorld) => void, says: RegExp])[] = [
    ['is missing', (world) => rmSync(world.path(RECORD)), /no boot record/],
    ['is empty', (world) => writeFileSync(world.path(RECORD), ''), /no boot record/],
    ['is torn in both places', (world) => writeFileSync(world.path(RECORD), 'x'.repeat(8192)), /no boot record/],
    [
      'is a folder',
      (world) => {
        rmSync(world.path(RECORD));
        mkdirSync(world.path(RECORD));
      },
      /no file/,
    ],
    [
      'is a link',
      (world) => {
        renameSync(world.path(RECORD), world.path('elsewhere'));
        symlinkSync(world.path('elsewhere'), world.path(RECORD));
      },
      /ELOOP/,
    ],
    [
      'is a pipe',
      (world) => {
        rmSync(world.path(RECORD));
        execFileSync('mkfifo', [world.path(RECORD)]);
      },
      /no file/,
    ],
  ];
  for (const [what, harm, says] of damages)
    test(`${what}: the newest slot that can be started is taken for good, that is said, and starts are counted again`, async () => {
      using world = SlotWorld.twins();
      world.slot('b', '1.1.0', SLOT_FILES, { builtAt: 1_800_000_000 });
      harm(world);
      const report = await start(world);
      assert.deepEqual([report.slot, report.slots.a.state, report.slots.b.state], ['b', 'good', 'good']);
      assert.ok(
        report.problems.some((one) => says.test(one)),
        report.problems.join(),
      );
      assert.equal(world.record().last?.slot, 'b');
      for (let at = 0; at < 5; at++) {
        endedNow(world.here, CRASH);
        await start(world);
      }
      assert.equal(world.record().rung, 'safe');
    });

  test('has one torn place: the other one counts', async () => {
    for (const place of [0, 1]) {
      using world = SlotWorld.twins();
      await start(world);
      readyNow(world.here);
      const bytes = readFileSync(world.path(RECORD));
      bytes.fill('x', place * RECORD_BYTES + 600, (place + 1) * RECORD_BYTES);
      writeFileSync(world.path(RECORD), bytes);
      const { slot, problems } = await start(world);
      assert.deepEqual([slot, problems], ['a', []]);
    }
  });

  test('of a newer loader is left as it is, and ours lies beside it', async () => {
    using world = SlotWorld.twins();
    const newer = Buffer.from(readFileSync(world.path(RECORD)));
    newer.write(newer.subarray(0, 40).toString('latin1').replace('record 1 ', 'record 7 '), 'latin1');
    writeFileSync(world.path(RECORD), newer);
    for (let at = 0; at < 6; at++) {
      assert.match((await start(world)).problems.join(), /form 7/);
      endedNow(world.here, CRASH);
    }
    assert.deepEqual(readFileSync(world.path(RECORD)), newer);
    assert.equal(world.record().rung, 'safe');
  });

  test('goes on after its last number', async () => {
    using world = SlotWorld.twins();
    const { record } = { record: world.record() };
    const bytes = Buffer.alloc(2 * RECORD_BYTES, ' ');
    bytes.set(encodeRecord({ ...record, primary: 'b' }, 999_999_999_999_998), 0);
    bytes.set(encodeRecord(record, 999_999_999_999_999), RECORD_BYTES);
    writeFileSync(world.path(RECORD), bytes);
    for (const result of ['started', 'ready', 'failure']) {
      if (result === 'started') await start(world);
      if (result === 'ready') readyNow(world.here);
      if (result === 'failure') endedNow(world.here, CRASH);
      assert.equal(world.record().last?.result, result);
    }
  });

  test('cannot be written: starts are counted in the run folder, the reason is told, and a disk that takes it again gets it', async () => {
    using world = SlotWorld.twins();
    rmSync(world.path(RECORD));
    mkdirSync(world.path(RECORD));
    for (let at = 0; at < 6; at++) {
      assert.match((await start(world)).problems.join(), /cannot be written/);
      endedNow(world.here, CRASH);
    }
    assert.equal(world.record().rung, 'safe');
    rmSync(world.path(RECORD), { recursive: true });
    await start(world);
    assert.equal(world.record().rung, 'safe');
    assert.equal(existsSync(world.path('run/record')), false);
  });

  test('is not lost to the helper of the slots that writes while the loader waits', async () => {
    using world = SlotWorld.twins();
    await start(world);
    endedNow(world.here, CRASH);
    const trial = { state: 'trial', version: '2.0.0', tries: 0 } as const;
    const wait = async (): Promise<void> => {
      const { slots, ...record } = world.record();
      world.record({ ...record, slots: { ...slots, b: trial } });
    };
    await chooseNow({ ...world.here, wait });
    assert.deepEqual(world.record().slots.b, trial);
    assert.equal(world.record().last?.result, 'started');
  });
});

describe('a slot', () => {
  const repairs: readonly (readonly [what: string, path: string, harm: (path: string) => void])[] = [
    ['has another content', 'kernel/main.js', (path) => writeFileSync(path, 'export const x = 2;\n')],
    ['lost a file', 'kernel/main.js', (path) => rmSync(path)],
    ['lost a folder', 'manifests/skus/tiny.yaml', (path) => rmSync(join(path, '../..'), { recursive: true })],
    ['has a longer file', 'kernel/start.js', (path) => appendFileSync(path, '//')],
    ['has a shorter file', 'kernel/start.js', (path) => writeFileSync(path, '')],
    ['has a program that may not run', 'bin/node', (path) => chmodSync(path, 0o644)],
    ['has a file that others may write', 'kernel/main.js', (path) => chmodSync(path, 0o666)],
    [
      'has a link in place of a file, which ends the look at the rest',
      'kernel/main.js',
      (path) => {
        rmSync(path);
        symlinkSync('/etc/passwd', path);
      },
    ],
    ['has a file with setuid', 'bin/node', (path) => chmodSync(path, 0o4755)],
  ];
  for (const [what, path, harm] of repairs)
    test(`${what}: it is put right from the other one, told, and read again in full at the next start`, async () => {
      using world = SlotWorld.twins();
      harm(world.path(`${A}/${path}`));
      const report = await start(world);
      assert.deepEqual([report.slot, report.repaired], ['a', [`a/${path}`]]);
      assert.deepEqual(readFileSync(world.path(`${A}/${path}`)), readFileSync(world.path(`system/slots/b/${path}`)));
      assert.equal(statSync(world.path(`${A}/${path}`)).mode, statSync(world.path(`system/slots/b/${path}`)).mode);
      assert.ok(world.told.some((line) => line.includes('was put right')));
      assert.equal(existsSync(world.path('system/slots/.mend-a')), false);
      assert.deepEqual([(await start(world)).verify, (await start(world)).verify], ['full', 'quick']);
    });

  test('has a link, and another file that cannot be repaired: it does not start', async () => {
    using world = SlotWorld.twins();
    for (const slot of ['a', 'b']) writeFileSync(world.path(`system/slots/${slot}/kernel/start.js`), slot);
    rmSync(world.path(`${A}/bin/node`));
    symlinkSync('/bin/true', world.path(`${A}/bin/node`));
    const report = await start(world);
    assert.equal(report.slot, undefined);
    assert.match(report.slots.a.reason ?? '', /kernel\/start\.js: it has/);
  });

  const faults: readonly (readonly [what: string, harm: (world: SlotWorld) => void, says: RegExp])[] = [
    [
      'has a file more',
      (world) => writeFileSync(world.path(`${A}/kernel/more.js`), ''),
      /kernel\/more\.js: the list does not/,
    ],
    ['has a link', (world) => symlinkSync('/etc/passwd', world.path(`${A}/kernel/link.js`)), /it is a link/],
    [
      'has a folder in place of its Node',
      (world) => {
        rmSync(world.path(`${A}/bin/node`));
        mkdirSync(world.path(`${A}/bin/node`));
      },
      /EISDIR|ENOTEMPTY|bin\/node/,
    ],
    ['has no list', (world) => rmSync(world.path(`${A}/image.json`)), /ENOENT/],
    ['has half a list', (world) => writeFileSync(world.path(`${A}/image.json`), '{"image":'), /0 of 1 signatures/],
    ['has no signature', (world) => rmSync(world.path(`${A}/image.sig`)), /ENOENT/],
    ['has an empty signature', (world) => writeFileSync(world.path(`${A}/image.sig`), ''), /0 of 1 signatures/],
    [
      'has another list than was signed',
      (world) => appendFileSync(world.path(`${A}/image.json`), ' '),
      /of another list/,
    ],
    [
      'is a file',
      (world) => {
        rmSync(world.path(A), { recursive: true });
        writeFileSync(world.path(A), '');
      },
      /ENOTDIR/,
    ],
    ['is gone', (world) => rmSync(world.path(A), { recursive: true }), /ENOENT/],
    [
      'is for another machine',
      (world) => world.slot('a', '1.0.0', SLOT_FILES, { platform: { os: 'linux', arch: 'z80', libc: 'musl' } }),
      /it is for linux z80 musl/,
    ],
    ['wants a newer loader', (world) => world.slot('a', '1.0.0', SLOT_FILES, { minLoader: 99 }), /it wants loader 99/],
    [
      'has a SKU that is no name',
      (world) => world.slot('a', '1.0.0', SLOT_FILES, { sku: '../x --y' }),
      /no name of a SKU/,
    ],
    ['is of an image of another form', (world) => world.slot('a', '1.0.0', SLOT_FILES, { image: 2 }), /form 2/],
    [
      'has two lines for one path',
      (world) =>
        world.slot('a', '1.0.0', SLOT_FILES, {
          files: [0, 1].map(() => ({ path: 'x', mode: 0o644, size: 0, sha256: '0'.repeat(64) })),
        }),
      /stands twice/,
    ],
    [
      'has a path that leads out',
      (world) =>
        world.slot('a', '1.0.0', SLOT_FILES, {
          files: [{ path: '../x', mode: 0o644, size: 0, sha256: '0'.repeat(64) }],
        }),
      /leads elsewhere/,
    ],
  ];
  for (const [what, harm, says] of faults)
    test(`${what}: it is bad with that reason, and the other one starts`, async () => {
      using world = SlotWorld.twins();
      harm(world);
      const { slot, slots, cause } = await start(world);
      assert.deepEqual([slot, slots.a.state, cause], ['b', 'bad', undefined]);
      assert.match(slots.a.reason ?? '', says);
      // The record takes no sign that JSON would make longer.
      assert.equal(world.record().slots.a.reason, slots.a.reason?.replaceAll(/["\\]/g, '?'));
    });

  test('that is damaged where the other one is, too, is left: nothing that is no image starts', async () => {
    using world = SlotWorld.twins();
    for (const slot of ['a', 'b']) writeFileSync(world.path(`system/slots/${slot}/kernel/main.js`), 'bad');
    for (let at = 0; at < 3; at++) {
      const report = await start(world);
      assert.equal(report.slot, undefined);
      assert.match(report.why, /a is bad \(kernel\/main\.js: .*; b is bad \(kernel\/main\.js/);
    }
    assert.deepEqual(world.waits, [60, 60, 60]);
    assert.ok(world.told.some((line) => line.includes('no slot can be started')));
    writeFileSync(world.path('system/slots/b/kernel/main.js'), SLOT_FILES['kernel/main.js'] as string);
    const { slot, repaired } = await start(world);
    assert.deepEqual([slot, repaired], ['a', ['a/kernel/main.js']]);
  });

  test('that was read in this boot is checked quickly; a touched file and another boot make the check full', async () => {
    using world = SlotWorld.twins();
    const how = async () => (await start(world)).verify;
    assert.deepEqual([await how(), await how()], ['full', 'quick']);
    utimesSync(world.path(`${A}/kernel/main.js`), 1, 1);
    assert.deepEqual([await how(), await how()], ['full', 'quick']);
    writeFileSync(world.path(`${A}/kernel/main.js`), 'export const x = 2;\n');
    assert.deepEqual([(await start(world)).repaired, await how()], [['a/kernel/main.js'], 'full']);
    writeFileSync(world.path(`${A}/kernel/more.js`), '');
    assert.equal((await start(world)).slot, 'b');
    rmSync(world.path(`${A}/kernel/more.js`));
    world.boot = 'boot 2';
    assert.deepEqual([await how(), await how()], ['full', 'quick']);
  });

  test('is measured or quick over boots where the OEM says so, and no other word counts', async () => {
    using world = SlotWorld.twins();
    writeFileSync(world.path('system/boot/config.json'), '{"verify":"quick"}');
    const all: string[] = [];
    for (const boot of ['1', '2', '3']) {
      world.boot = boot;
      all.push((await start(world)).verify);
    }
    assert.deepEqual(all, ['full', 'quick', 'quick']);
    writeFileSync(world.path('system/boot/config.json'), '{"verify":"measured"}');
    assert.equal((await start(world)).verify, 'measured');
    for (const text of ['{"verify":"never"}', '{', '[]', '7', '"x"', 'null']) {
      writeFileSync(world.path('system/boot/config.json'), text);
      rmSync(world.path('run/checked-a'), { force: true });
      world.boot += 'x';
      assert.equal((await start(world)).verify, 'full', text);
    }
  });
});

describe('keys', () => {
  for (const [what, text] of [
    ['are missing', undefined],
    ['are no JSON', '{'],
    ['are none', '{"keys":[],"threshold":1}'],
    ['are others', '{"keys":[{"key":"x"}],"threshold":1}'],
    ['are of another shape', '[]'],
  ] as const)
    test(`${what}: nothing starts, the reason is told, and the next look is a minute later`, async () => {
      using world = SlotWorld.twins();
      if (text === undefined) rmSync(world.path('system/boot/keys.json'));
      else writeFileSync(world.path('system/boot/keys.json'), text);
      assert.equal((await start(world)).slot, undefined);
      assert.deepEqual(world.waits, [60]);
      assert.ok(selfCheck(world.here).length > 0);
    });

  test('that ended do not take back what was found good, and take nothing new; the clock is not asked', async () => {
    using world = SlotWorld.twins();
    const keys = JSON.parse(readFileSync(world.path('system/boot/keys.json'), 'utf8'));
    keys.keys[0].notAfter = 1_800_000_000;
    writeFileSync(world.path('system/boot/keys.json'), JSON.stringify(keys));
    world.record({ ...world.record(), floor: { time: 1_900_000_000 } });
    assert.equal((await start(world)).slot, 'a');
    const image = world.slot('b', '2.0.0');
    const { slots, ...rest } = world.record();
    world.record({
      ...rest,
      primary: 'b',
      slots: { ...slots, b: { state: 'trial', version: '2.0.0', image, tries: 0 } },
    });
    const report = await start(world);
    assert.equal(report.slot, 'a');
    assert.match(report.slots.b.reason ?? '', /has ended/);
  });
});

describe('safe mode by hand', () => {
  test('by the file is for one start, and has an end', async () => {
    using world = SlotWorld.twins();
    writeFileSync(world.path('system/boot/safe-mode'), '');
    const report = await start(world);
    assert.deepEqual([report.safe, report.pause, report.why], [true, 600, 'a file asks for safe mode']);
    assert.equal(existsSync(world.path('system/boot/safe-mode')), false);
    endedNow(world.here, { SERVICE_RESULT: 'success' });
    const next = await start(world);
    assert.deepEqual([next.safe, world.record().pause, world.record().window], [false, 600, false]);
  });

  test('by the command line of the kernel lasts for the boot; the one of another service is none', async () => {
    using world = SlotWorld.twins();
    world.commandLine = 'quiet kiosk.safe-mode=1 device.safe-mode=10';
    assert.equal((await start(world)).safe, false);
    world.commandLine = 'quiet device.safe-mode=1 splash\n';
    for (let at = 0; at < 2; at++) {
      const { safe, pause } = await start(world);
      assert.deepEqual([safe, pause], [true, undefined]);
    }
  });

  for (const [what, gpio, safe, says] of [
    ['a file with the level', { read: 'LEVEL', level: 0 }, true, undefined],
    ['a file with another level', { read: 'LEVEL', level: 1 }, false, undefined],
    ['a program that prints it', { read: ['/bin/echo', '0'], level: '0' }, true, undefined],
    ['a program that fails', { read: ['/bin/false'], level: '0' }, false, /the switch for safe mode/],
    ['a file that is not there', { read: '/nowhere/gpio', level: '0' }, false, /the switch for safe mode/],
  ] as const)
    test(`by a switch: ${what}`, async () => {
      using world = SlotWorld.twins();
      writeFileSync(world.path('level'), '0\n');
      const config = JSON.stringify({ gpio }).replace('LEVEL', world.path('level'));
      writeFileSync(world.path('system/boot/config.json'), config);
      const report = await start(world);
      assert.equal(report.safe, safe);
      if (says === undefined) assert.deepEqual(report.problems, []);
      else assert.match(report.problems.join(), says);
    });

  test('that was used is over with the next start, and its mark is removed', async () => {
    using world = SlotWorld.twins();
    for (let at = 0; at < 5; at++) {
      await start(world);
      endedNow(world.here, CRASH);
    }
    assert.equal((await start(world)).safe, true);
    writeFileSync(world.path('core/safe-mode-used'), '');
    endedNow(world.here, { SERVICE_RESULT: 'success' });
    const { safe, cause } = await start(world);
    assert.deepEqual([safe, cause], [false, undefined]);
    assert.equal(existsSync(world.path('core/safe-mode-used')), false);
  });

  test('is not used nor asked for by a folder: root takes no tree away that the Core could have put there', async () => {
    using world = SlotWorld.twins();
    for (let at = 0; at < 5; at++) {
      await start(world);
      endedNow(world.here, CRASH);
    }
    mkdirSync(world.path('core/safe-mode-used'));
    writeFileSync(world.path('core/safe-mode-used/kept'), '');
    const { safe, problems } = await start(world);
    assert.deepEqual([safe, problems], [true, []]);
    assert.ok(existsSync(world.path('core/safe-mode-used/kept')));

    using fresh = SlotWorld.twins();
    mkdirSync(fresh.path('system/boot/safe-mode'));
    assert.equal((await start(fresh)).safe, false);
    assert.ok(existsSync(fresh.path('system/boot/safe-mode')));
  });

  test('leaves a folder that comes where a file was seen', () => {
    using world = SlotWorld.twins();
    mkdirSync(world.path('core/late/below'), { recursive: true });
    assert.throws(() => removeDurably(world.path('core/late')), /EISDIR|EPERM/);
    assert.ok(existsSync(world.path('core/late/below')));
  });
});

test('no room in the run folder: what a former start left makes some, else nothing starts and that is thrown', async () => {
  using world = SlotWorld.twins();
  await start(world);
  // A folder where a file must go is a disk that takes nothing.
  mkdirSync(world.path('run/.boot.env/x'), { recursive: true });
  await assert.rejects(chooseNow(world.here), /EISDIR|ENOTEMPTY|ERR_FS_EISDIR/);
  rmSync(world.path('run/.boot.env'), { recursive: true });
  assert.equal((await start(world)).slot, 'a');
});

for (const slot of ['a', 'b'] as const)
  test(`no inode in the run folder, slot a before and ${slot} now: it starts`, { skip: NO_DISK }, async () => {
    using world = SlotWorld.twins();
    using disk = new SmallDisk(256, world.path('run'), 32);
    assert.equal((await start(world)).slot, 'a');
    endedNow(world.here, { SERVICE_RESULT: 'success' });
    world.record({ ...world.record(), primary: slot });
    disk.fillInodes();
    assert.throws(() => writeFileSync(join(disk.path, 'one-more'), ''), /ENOSPC/);
    assert.equal((await start(world)).slot, slot);
  });

test('a new loader is taken when its check passes on what really lies there', () => {
  using world = SlotWorld.twins();
  assert.deepEqual(selfCheck(world.here), []);
  rmSync(world.path(A), { recursive: true });
  assert.deepEqual(selfCheck(world.here), []);
  rmSync(world.path('system/slots/b'), { recursive: true });
  assert.ok(selfCheck(world.here).length >= 2);
});

test('a record that says nothing of its slots is made for a device that has none yet', () => {
  assert.deepEqual(newRecord({}).slots.a, { state: 'empty', tries: 0 });
});
