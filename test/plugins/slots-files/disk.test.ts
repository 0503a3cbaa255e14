/** A disk that is full, read-only or broken while a slot is written: the slot is empty, the one that runs is untouched, and the next attempt is a new one. */
import assert from 'node:assert/strict';
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { RecordFile } from '@device-core/plugin-api/inside/record-file';
import { SlotRefused, SlotWriter } from '@device-core/plugin-api/inside/slot-files';
import { leakCheck } from '@device-core/plugin-api/testing';
import { FailingCalls } from '../../fixtures/failing-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';

after(leakCheck());

const CODES = { ENOSPC: 'STORAGE_FULL', EDQUOT: 'STORAGE_FULL', EROFS: 'STORAGE_READ_ONLY', EIO: 'STORAGE_FAILED' };

/** Whatever it claims to be is there. */
function sound(box: SlotDevice, what: string): void {
  assert.equal(box.problem('a'), undefined, what);
  const { a, b } = box.record.slots;
  assert.equal(a.state, 'good', what);
  if (b.state !== 'empty') assert.equal(box.problem('b'), undefined, what);
}

describe('at each call that changes the disk', () => {
  test('an error of the system leaves the slot empty or whole, and the running one untouched', async () => {
    using box = new SlotDevice();
    const writer = new SlotWriter(box.places);
    const folder = box.image('1.1.0');
    using disk = new FailingCalls();
    await writer.stage(folder);
    const calls = disk.count;
    assert.ok(calls > 30, `${calls} calls`);
    let tried = 0;
    // Every second call, another one for each error; a tenth of that in the usual run.
    for (const [code, refusal] of Object.entries(CODES))
      for (const times of [1, Number.POSITIVE_INFINITY])
        for (let from = tried % 2; from < calls; from += Math.max(1, Math.round(calls / runs(Math.ceil(calls / 2))))) {
          Object.assign(disk, { count: 0, from, times, code });
          const error = await writer.stage(folder).then(
            () => undefined,
            (thrown: unknown) => thrown,
          );
          disk.from = undefined;
          const what = `${code} at call ${from} of ${calls}, ${times} times: ${error}`;
          if (error !== undefined) {
            assert.ok(error instanceof SlotRefused, what);
            assert.equal(error.code, refusal, what);
          } else assert.equal(box.record.slots.b.state, 'trial', what);
          sound(box, what);
          tried++;
        }
    assert.ok(tried >= 8 * 4, `${tried} attempts`);
    await writer.stage(folder);
    assert.equal(box.record.slots.b.state, 'trial');
    assert.equal(box.problem('b'), undefined);
  });

  test('a record that cannot be written stays as it was, for any new contents', () => {
    using box = new SlotDevice();
    const writer = new SlotWriter(box.places);
    for (const act of [() => writer.markGood(), () => writer.activate('a')]) {
      const before = box.record;
      using disk = new FailingCalls();
      for (const from of [0, 1, 2]) {
        Object.assign(disk, { count: 0, from, code: 'EROFS' });
        assert.throws(act, { code: 'STORAGE_READ_ONLY' });
        disk.from = undefined;
        assert.deepEqual(box.record, before);
      }
    }
  });
});

describe('a small disk', { skip: NO_DISK }, () => {
  test('is asked for room first: nothing is lost for an image that does not fit', async () => {
    using disk = new SmallDisk(4_096);
    using box = new SlotDevice({ system: join(disk.path, 'system') });
    const writer = new SlotWriter(box.places);
    await writer.stage(box.image('1.1.0'));
    const before = box.record;
    const large = box.image('1.2.0', { files: { 'large.bin': Buffer.alloc(4 << 20) } });
    await assert.rejects(writer.stage(large), { code: 'STORAGE_FULL' });
    assert.deepEqual(box.record, before);
    assert.equal(box.problem('b'), undefined, 'what was there is there');
    // What fits in the place of the other slot alone does fit.
    await writer.stage(box.image('1.3.0', { files: { 'large.bin': Buffer.alloc(3 << 20) } }));
    await writer.stage(box.image('1.4.0', { files: { 'large.bin': Buffer.alloc(3 << 20, 1) } }));
    assert.equal(box.problem('b'), undefined);
  });

  test('that fills up while a slot is written leaves it empty, and takes the next image when there is room', async () => {
    using disk = new SmallDisk(8_192);
    using box = new SlotDevice({ system: join(disk.path, 'system') });
    const writer = new SlotWriter(box.places);
    const folder = box.image('1.1.0', { files: { 'large.bin': Buffer.alloc(2 << 20, 'large') } });
    const full = writer.stage(folder, { progress: () => disk.fill() });
    await assert.rejects(full, { code: 'STORAGE_FULL' });
    sound(box, 'full');
    assert.deepEqual(readdirSync(join(box.places.system, 'slots')), ['a']);
    disk.free();
    assert.equal((await writer.stage(folder)).state, 'trial');
  });

  test('that is read-only takes nothing, and says so', async () => {
    using disk = new SmallDisk(8_192);
    using box = new SlotDevice({ system: join(disk.path, 'system') });
    const writer = new SlotWriter(box.places);
    await disk.readOnly(true);
    const before = box.record;
    await assert.rejects(writer.stage(box.image('1.1.0')), { code: 'STORAGE_READ_ONLY' });
    assert.throws(() => writer.markGood(), { code: 'STORAGE_READ_ONLY' });
    assert.deepEqual(box.record, before);
    await disk.readOnly(false);
    assert.equal((await writer.stage(box.image('1.1.0'))).state, 'trial');
  });
});

test('a file of the running slot that is damaged is taken from its blob; without one it is no image', async () => {
  using box = new SlotDevice();
  const writer = new SlotWriter(box.places);
  writeFileSync(join(box.slot('a'), 'bin/node'), 'a prográm');
  assert.equal((await writer.stage(box.image('1.1.0'))).state, 'trial');
  assert.equal(box.problem('b'), undefined);
  rmSync(join(box.slot('a'), 'bin/node'));
  const bare = box.image('1.2.0');
  rmSync(join(bare, 'blobs'), { recursive: true });
  mkdirSync(join(bare, 'blobs'));
  await assert.rejects(writer.stage(bare), { code: 'SYSTEM_IMAGE_INVALID' });
  assert.equal(box.record.slots.b.state, 'empty');
});

test('nothing that was written in a slot is shared with the other one', async () => {
  using box = new SlotDevice();
  await new SlotWriter(box.places).stage(box.image('1.1.0'));
  const file = join(box.slot('a'), 'bin/node');
  const before = readFileSync(join(box.slot('b'), 'bin/node'), 'utf8');
  writeFileSync(file, 'written in place');
  assert.equal(readFileSync(join(box.slot('b'), 'bin/node'), 'utf8'), before);
});

test('a lock of the record that a process left has no owner: of another boot at once, of this one after a while', () => {
  using box = new SlotDevice();
  const path = join(box.places.system, 'boot/record');
  const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  for (const owner of ['another-boot', boot, '']) {
    if (owner === '') writeFileSync(`${path}.lock`, '');
    else symlinkSync(owner, `${path}.lock`);
    const changed = new RecordFile(path).change((record) => ({ ...record, silent: record.silent + 1 }));
    assert.equal(changed.silent, box.record.silent);
    assert.throws(() => readFileSync(`${path}.lock`), { code: 'ENOENT' });
  }
});
