import assert from 'node:assert/strict';
import {
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
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { type CoreError, toCoreError } from '@device-core/plugin-api';
import {
  appendFile,
  KeptFile,
  type KeptForm,
  moveFolder,
  readState,
  recoverFile,
  replaceFile,
  replaceFileSync,
  setAside,
  sweepLeftovers,
  waitingForDiskMs,
} from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually } from '../fixtures/eventually.ts';
import { FaultyDisk } from '../fixtures/faulty-disk.ts';
import { part } from '../fixtures/scope.ts';
import { NO_DISK, SmallDisk } from '../fixtures/small-disk.ts';

after(leakCheck());

const root = mkdtempSync(join(tmpdir(), 'dc-durable-'));
after(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
function folder(): string {
  count += 1;
  const path = join(root, `${count}`);
  mkdirSync(path);
  return path;
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return work.then(
    () => undefined,
    (error) => (error as CoreError).code,
  );
}

describe('replaceFile', () => {
  it('leaves one whole file and nothing else, however many write it at once', async () => {
    const place = folder();
    const file = join(place, 'a.json');
    const writes = Array.from({ length: 50 }, (_, index) => replaceFile(file, `${index}`.repeat(20_000)));
    await Promise.all(writes);
    assert.equal(readFileSync(file, 'utf8'), '49'.repeat(20_000), 'the last one asked for holds');
    assert.deepEqual(readdirSync(place), ['a.json']);
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(waitingForDiskMs(), 0);
  });

  it('writes at most twice for the requests of one write under way', async () => {
    const file = join(folder(), 'a');
    const first = replaceFile(file, 'first');
    const [second, third] = [replaceFile(file, 'second'), replaceFile(file, 'third')];
    assert.equal(second, third, 'of those that wait one is written, and both resolve with it');
    await first;
    await third;
    assert.equal(readFileSync(file, 'utf8'), 'third');
  });

  it('never meets a writer of another thread on a temporary name', async () => {
    const place = folder();
    const file = join(place, 'a');
    const code = `
      const { replaceFile } = require('node:module').createRequire(${JSON.stringify(import.meta.filename)})('@device-core/plugin-api/durable');
      const { parentPort, workerData } = require('node:worker_threads');
      (async () => { for (let i = 0; i < 50; i++) await replaceFile(workerData, 'w'.repeat(1000)); parentPort.postMessage('done'); })();`;
    const worker = new Worker(code, { eval: true, workerData: file });
    const done = new Promise<void>((resolve, reject) => {
      worker.once('exit', () => resolve());
      worker.once('error', reject);
    });
    for (let index = 0; index < 50; index++) {
      await replaceFile(file, 'm'.repeat(1_000));
      assert.match(readFileSync(file, 'utf8'), /^(m{1000}|w{1000})$/);
    }
    await done;
    assert.deepEqual(readdirSync(place), ['a']);
  });

  it('renames the copy and the companions before the file', async () => {
    const place = folder();
    const file = join(place, 'a');
    await replaceFile(file, 'one', { lastGood: true, beside: { [join(place, 'meta')]: 'm' }, mode: 0o640 });
    assert.deepEqual(readdirSync(place).sort(), ['a', 'a.last-good', 'meta']);
    assert.equal(readFileSync(`${file}.last-good`, 'utf8'), 'one');
    assert.equal(statSync(file).mode & 0o777, 0o640);
  });

  it('keeps what a folder in its place holds, and replaces a link, not what it names', async () => {
    const place = folder();
    const file = join(place, 'a');
    mkdirSync(file);
    writeFileSync(join(file, 'inside'), 'x');
    await replaceFile(file, 'one');
    const [aside] = readdirSync(place).filter((name) => name.startsWith('a.corrupt-'));
    assert.equal(readFileSync(join(place, aside!, 'inside'), 'utf8'), 'x');
    writeFileSync(join(place, 'other'), 'mine');
    symlinkSync('other', join(place, 'link'));
    await replaceFile(join(place, 'link'), 'two');
    assert.equal(readFileSync(join(place, 'other'), 'utf8'), 'mine');
  });

  it('names the fault, and leaves the former file and no temporary one', { skip: NO_DISK }, async () => {
    using disk = new SmallDisk(256);
    const file = join(disk.path, 'a');
    await replaceFile(file, 'one', { lastGood: true });
    disk.fill();
    assert.equal(await codeOf(replaceFile(file, 'x'.repeat(9_000), { lastGood: true })), 'STORAGE_FULL');
    assert.throws(() => replaceFileSync(file, 'x'.repeat(9_000)), { code: 'STORAGE_FULL' });
    disk.free();
    assert.deepEqual(readdirSync(disk.path).sort(), ['a', 'a.last-good']);
    await disk.readOnly(true);
    assert.equal(await codeOf(replaceFile(file, 'two')), 'STORAGE_READ_ONLY');
    assert.equal(await codeOf(appendFile(file, 'two')), 'STORAGE_READ_ONLY');
    assert.equal(await codeOf(setAside(file)), 'STORAGE_READ_ONLY');
    await disk.readOnly(false);
    await replaceFile(file, 'three');
    assert.equal(readFileSync(file, 'utf8'), 'three');
    assert.equal(await codeOf(replaceFile(join(disk.path, 'none/a'), 'x')), 'STATE_UNWRITABLE');
  });
});

describe('appendFile', () => {
  it('takes back a line that the disk took only in part, so that the next one is whole', {
    skip: NO_DISK,
  }, async () => {
    using disk = new SmallDisk(256);
    const file = join(disk.path, 'lines');
    await appendFile(file, 'first\n');
    disk.fill();
    const long = `${'x'.repeat(20_000)}\n`;
    assert.equal(await codeOf(appendFile(file, long)), 'STORAGE_FULL');
    assert.equal(readFileSync(file, 'utf8'), 'first\n');
    disk.free();
    await appendFile(file, 'second\n');
    assert.equal(readFileSync(file, 'utf8'), 'first\nsecond\n');
  });

  it('keeps the order of its calls, and puts a file aside that is full', async () => {
    const file = join(folder(), 'log');
    await Promise.all(
      Array.from({ length: 20 }, (_, index) => appendFile(file, `${index}\n`, { sync: false, most: 40 })),
    );
    const all = readFileSync(`${file}.1`, 'utf8') + readFileSync(file, 'utf8');
    assert.equal(all, Array.from({ length: 20 }, (_, index) => `${index}\n`).join(''));
    assert.ok(statSync(file).size <= 40 && statSync(`${file}.1`).size <= 40);
  });
});

describe('obstacles in the place of a file', () => {
  it('is swept where a writer was killed, and left where one still writes', async () => {
    const place = folder();
    const file = join(place, 'a.json');
    const dead = ['a.json.tmp', 'a.json.4194303-x1.tmp', 'a.json.last-good.4194303-x2.tmp'];
    const alive = [`a.json.1-x3.tmp`, 'a.json.b.tmp', 'other.4194303-x1.tmp', 'a.json'];
    for (const name of [...dead, ...alive]) writeFileSync(join(place, name), '');
    assert.deepEqual([...(await sweepLeftovers(file))].sort(), dead.toSorted());
    assert.deepEqual(readdirSync(place).sort(), alive.toSorted());
    assert.deepEqual(await sweepLeftovers(join(place, 'none/a')), []);
  });

  it('takes another name aside where its own is taken, and loses neither', async (context) => {
    context.mock.timers.enable({ apis: ['Date'] });
    const file = join(folder(), 'n.json');
    const kept: string[] = [];
    for (const text of ['first', 'second', 'third']) {
      writeFileSync(file, text);
      kept.push(await recoverFile(file, text === 'second' ? 'good' : undefined));
    }
    assert.deepEqual(
      kept.map((aside) => readFileSync(aside, 'utf8')),
      ['first', 'second', 'third'],
    );
  });

  it('is never both lost: the damaged file is kept, the good one put there, three damaged ones at most', async () => {
    const place = folder();
    const file = join(place, 'a');
    for (let index = 0; index < 5; index++) {
      writeFileSync(file, `bad ${index}`);
      const aside = await recoverFile(file, 'good');
      assert.equal(readFileSync(aside, 'utf8'), `bad ${index}`);
      assert.equal(readFileSync(file, 'utf8'), 'good');
    }
    assert.equal(readdirSync(place).filter((name) => name.includes('.corrupt-')).length, 3);
    await recoverFile(file, undefined);
    assert.equal(await readState(file), undefined);
  });

  it('is kept on a full disk: a damaged file stays until the good one can take its place', {
    skip: NO_DISK,
  }, async () => {
    using disk = new SmallDisk(256);
    const file = join(disk.path, 'a');
    await replaceFile(file, 'good', { lastGood: true });
    writeFileSync(file, 'bad');
    disk.fill();
    assert.equal(await codeOf(recoverFile(file, 'good'.repeat(5_000))), 'STORAGE_FULL');
    assert.equal(readFileSync(file, 'utf8'), 'bad');
    rmSync(file);
    disk.free();
    mkdirSync(file);
    disk.fill();
    assert.equal(await codeOf(recoverFile(file, 'good'.repeat(5_000))), 'STORAGE_FULL');
    assert.equal(readFileSync(file, 'utf8'), 'good', 'the last good copy took the place of the folder');
  });

  it('is read only where it is a file of a sane size', async () => {
    const place = folder();
    mkdirSync(join(place, 'folder'));
    symlinkSync('/dev/zero', join(place, 'device'));
    symlinkSync('nowhere', join(place, 'dangling'));
    writeFileSync(join(place, 'large'), Buffer.alloc(17 * 1024 * 1024));
    for (const name of ['folder', 'device', 'large'])
      assert.equal(await codeOf(readState(join(place, name))), 'STATE_CORRUPT', name);
    assert.equal(await readState(join(place, 'dangling')), undefined);
  });

  it('is whole or absent where a folder is moved', async () => {
    const place = folder();
    mkdirSync(join(place, 'new/deep'), { recursive: true });
    writeFileSync(join(place, 'new/deep/a'), '1');
    mkdirSync(join(place, 'there'));
    await moveFolder(join(place, 'new'), join(place, 'there'), ['deep/a']);
    assert.equal(readFileSync(join(place, 'there/deep/a'), 'utf8'), '1');
  });
});

describe('a kept file', () => {
  const form: KeptForm<number> = {
    form: 1,
    initial: 7,
    consequence: 'the number is forgotten',
    format: (value) => ({ value }),
    parse: ({ value }) => (typeof value === 'number' ? value : undefined),
  };

  function told(kept: KeptFile<number>): readonly string[] {
    const codes: string[] = [];
    const report: HealthReport = {
      add: (name, { code, message }) => codes.push(`${name} ${code} ${message?.split(':')[0]}`),
      bridge: () => assert.fail(),
      warn: (code) => codes.push(code),
    };
    kept.tell(report, 'test.number');
    return codes;
  }

  for (const [title, prepare, value, codes] of [
    ['absent', () => undefined, 7, []],
    ['good', (file: string) => writeFileSync(file, '{"value":3}'), 3, []],
    ['empty', (file: string) => writeFileSync(file, ''), 5, ['STATE_CORRUPT']],
    ['truncated', (file: string) => writeFileSync(file, '{"val'), 5, ['STATE_CORRUPT']],
    ['garbage', (file: string) => writeFileSync(file, Buffer.from([0xff, 0, 1])), 5, ['STATE_CORRUPT']],
    ['of another kind', (file: string) => writeFileSync(file, '{"value":"x"}'), 5, ['STATE_CORRUPT']],
    ['a folder', (file: string) => mkdirSync(file), 5, ['STATE_CORRUPT']],
    ['a link to a device', (file: string) => symlinkSync('/dev/zero', file), 5, ['STATE_CORRUPT']],
    ['newer', (file: string) => writeFileSync(file, '{"format":2}'), 7, ['STATE_NEWER']],
  ] as const)
    it(`that is ${title} opens with ${value}`, async () => {
      await using parts = part();
      const file = join(folder(), 'deep', 'n.json');
      mkdirSync(join(file, '..'));
      if (title !== 'absent') writeFileSync(`${file}.last-good`, '{"format":1,"value":5}');
      prepare(file);
      const kept = await KeptFile.open(file, form, parts.scope, parts.log);
      assert.equal(kept.value, value);
      assert.deepEqual(told(kept), codes);
      if (title === 'newer') {
        assert.equal(await codeOf(kept.set(9)), 'STATE_NEWER');
        assert.equal(readFileSync(file, 'utf8'), '{"format":2}');
        assert.equal(kept.value, 9);
        return;
      }
      await kept.set(9);
      assert.equal((await KeptFile.open(file, form, parts.scope, parts.log)).value, 9);
    });

  it('that is damaged, with a last good copy that is newer, is left for the Core that wrote the copy', async () => {
    await using parts = part();
    const file = join(folder(), 'n.json');
    const files = { [file]: '{"val', [`${file}.last-good`]: '{"format":2,"value":5}' };
    for (const [path, text] of Object.entries(files)) writeFileSync(path, text);
    const kept = await KeptFile.open(file, form, parts.scope, parts.log);
    assert.equal(kept.value, 7);
    assert.deepEqual(told(kept), ['STATE_NEWER']);
    assert.equal(await codeOf(kept.set(9)), 'STATE_NEWER');
    for (const [path, text] of Object.entries(files)) assert.equal(readFileSync(path, 'utf8'), text);
  });

  it('writes what a full disk refused as soon as there is space, and the health is good again', {
    skip: NO_DISK,
  }, async () => {
    using disk = new SmallDisk(64);
    const clock = virtualClock();
    await using parts = part(clock);
    disk.fill();
    const file = join(disk.path, 'deep/n.json');
    const kept = await KeptFile.open(file, form, parts.scope, parts.log);
    assert.equal(await codeOf(kept.set(1)), 'STORAGE_FULL');
    assert.equal(kept.value, 1);
    assert.deepEqual(told(kept), ['test.number STORAGE_FULL the number is forgotten']);
    await clock.advance(60_000);
    assert.equal(parts.logged.filter(({ level }) => level === 'warn').length, 1, 'it is told once');
    disk.free();
    await eventually(async () => {
      await clock.advance(5_000);
      return kept.trouble === undefined;
    }, 'the disk takes it');
    assert.deepEqual(told(kept), []);
    assert.equal((await KeptFile.open(file, form, parts.scope, parts.log)).value, 1);
    await disk.readOnly(true);
    assert.equal(await codeOf(kept.set(2)), 'STORAGE_READ_ONLY');
    await disk.readOnly(false);
    await parts.scope.end();
    assert.equal(JSON.parse(readFileSync(file, 'utf8')).value, 2, 'the end of the plugin tries once more');
  });
});

describe('a disk that fails', () => {
  for (const at of ['write', 'sync', 'rename'] as const)
    for (const [code, expected] of [
      ['EIO', 'STORAGE_FAILED'],
      ['EDQUOT', 'STORAGE_FULL'],
      ['EACCES', 'STATE_UNWRITABLE'],
    ] as const)
      it(`with ${code} at the ${at} is told as ${expected}, and the file is one of the two, whole`, async () => {
        using disk = new FaultyDisk();
        const place = folder();
        const file = join(place, 'a');
        for (let after = 0; after < 3; after++) {
          await replaceFile(file, 'old', { lastGood: true });
          Object.assign(disk, { fault: { at, code }, after });
          const failed = await codeOf(replaceFile(file, 'new', { lastGood: true }));
          disk.fault = undefined;
          assert.equal(failed, at !== 'sync' && after === 2 ? undefined : expected);
          assert.match(readFileSync(file, 'utf8'), /^(old|new)$/);
          assert.match(readFileSync(`${file}.last-good`, 'utf8'), /^(old|new)$/);
          assert.deepEqual(readdirSync(place), ['a', 'a.last-good']);
        }
      });
});

describe('an error of the disk that the code does not know', () => {
  for (const [code, expected] of [
    ['ENOSPC', 'STORAGE_FULL'],
    ['EDQUOT', 'STORAGE_FULL'],
    ['EROFS', 'STORAGE_READ_ONLY'],
    ['EPERM', 'INTERNAL'],
  ])
    it(`${code} is answered as ${expected}`, () => {
      assert.equal(toCoreError(Object.assign(new Error(`${code}: no`), { code, path: 'a' }), 'x').code, expected);
    });
});
