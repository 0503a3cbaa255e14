/** What else may lie where a queue is kept, and disks that do not take it. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, describe, it } from 'node:test';
import type { OutboxLoss } from '@device-core/plugin-api/inside/services/outbox';
import { leakCheck } from '@device-core/plugin-api/testing';
import { systemClock } from '../../../kernel/clock.ts';
import { checkDestination } from '../../../plugins/state/outbox/message.ts';
import { Outboxes } from '../../../plugins/state/outbox/outboxes.ts';
import { Queue } from '../../../plugins/state/outbox/queue.ts';
import { part } from '../../fixtures/scope.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';
import { DESTINATION, message, start, temporaryFolder } from './fixture.ts';

after(leakCheck());

const USUAL = { bytes: 1_000_000, messages: 1_000, ageMs: 86_400_000, batch: 50 };
const { log } = part();
const openAt = (file: string, more: object = {}) =>
  Queue.open({
    file,
    owner: 'telemetry',
    clock: systemClock,
    log,
    onPut: () => undefined,
    destination: checkDestination({ ...DESTINATION, ...more }, USUAL),
  });
const bodies = async (queue: Queue) => (await queue.take(1_000)).map(({ body }) => body);

/** A queue with ten messages, closed. */
async function filled(file: string): Promise<void> {
  const queue = await openAt(file);
  await queue.putAll(Array.from({ length: 10 }, (_, index) => message(`${index}`.repeat(20_000))));
  await queue.close();
}

describe('in the place of a queue', () => {
  const damages: Readonly<Record<string, (file: string) => void>> = {
    'half a file': (file) => truncateSync(file, statSync(file).size / 2),
    'a file of 60 bytes': (file) => truncateSync(file, 60),
    'an empty file': (file) => truncateSync(file, 0),
    garbage: (file) => writeFileSync(file, Buffer.alloc(30_000, 'garbage ')),
    'a header and then garbage': (file) =>
      writeFileSync(
        file,
        Buffer.concat([readFileSync(file).subarray(0, 100), Buffer.alloc(statSync(file).size - 100, 7)]),
      ),
    'a folder': (file) => {
      rmSync(file);
      mkdirSync(file);
    },
    'a link to a device': (file) => {
      rmSync(file);
      symlinkSync('/dev/zero', file);
    },
    'the database of another program': (file) => {
      rmSync(file);
      using database = new DatabaseSync(file);
      database.exec('CREATE TABLE message (x)');
    },
    'a queue without its tables': (file) => {
      using database = new DatabaseSync(file);
      database.exec('DROP TABLE meta');
    },
  };
  for (const [title, damage] of Object.entries(damages))
    it(`${title} is set aside, told, and a new one begun`, async () => {
      using folder = temporaryFolder();
      const file = join(folder.path, 'telemetry.sqlite');
      await filled(file);
      damage(file);
      const queue = await openAt(file);
      assert.match(queue.damage ?? '', /^cannot read .*set aside as .*\.corrupt-/);
      await queue.putAll([message('new')]);
      assert.deepEqual(await bodies(queue), ['new']);
      await queue.close();
      assert.ok(readdirSync(folder.path).some((name) => name.includes('.corrupt-')));
      const again = await openAt(file);
      assert.equal(again.damage, undefined);
      assert.deepEqual(await bodies(again), ['new']);
      await again.close();
    });

  const foreign = process.getuid?.() === 0 ? false : 'files are given away by root alone';
  it('a file of another user is set aside', { skip: foreign }, async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'telemetry.sqlite');
    await filled(file);
    chownSync(file, 12_345, 12_345);
    const queue = await openAt(file);
    assert.match(queue.damage ?? '', /belongs to user 12345/);
    await queue.close();
  });

  it('a queue of a newer form is left alone, byte by byte', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'telemetry.sqlite');
    await filled(file);
    {
      using database = new DatabaseSync(file);
      database.exec('PRAGMA user_version = 2');
    }
    const before = readFileSync(file);
    await assert.rejects(openAt(file), { code: 'STATE_NEWER' });
    assert.ok(before.equals(readFileSync(file)));
    assert.deepEqual(readdirSync(folder.path), ['telemetry.sqlite']);
  });
});

describe('a queue that is damaged while it is used', () => {
  it('is set aside, what was in it is one receipt, and what comes is kept', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'telemetry.sqlite');
    await filled(file);
    const queue = await openAt(file);
    const bytes = readFileSync(file);
    // Pages of long texts: the others were read when it was opened.
    writeFileSync(file, Buffer.concat([bytes.subarray(0, 5 * 4_096), Buffer.alloc(bytes.length - 5 * 4_096, 0xff)]));
    const kept = await bodies(queue);
    assert.match(queue.damage ?? '', /set aside/);
    const loss = JSON.parse(kept[0]!) as OutboxLoss;
    assert.deepEqual([kept.length, loss.lost, queue.lost], [1, 10, 10]);
    await queue.putAll([message('new')]);
    assert.equal(queue.waiting.count, 2);
    await queue.close();
  });
});

describe('a disk that does not take it', () => {
  it('full: what was acknowledged stays, what comes is refused, and all is well when there is room again', {
    skip: NO_DISK,
  }, async () => {
    using disk = new SmallDisk(1_024);
    const queue = await openAt(join(disk.path, 'outbox/telemetry.sqlite'));
    await queue.putAll([message('before')]);
    disk.fill();
    let refused: { code?: string } = {};
    for (let more = 0; more < 1_000 && refused.code === undefined; more++)
      await queue.putAll([message('x'.repeat(2_000))]).catch((error) => {
        refused = error;
      });
    assert.equal(refused.code, 'STORAGE_FULL');
    assert.equal(queue.trouble?.code, 'STORAGE_FULL');
    const waiting = queue.waiting.count;
    disk.free();
    await queue.putAll([message('after')]);
    assert.equal(queue.trouble, undefined);
    const kept = await bodies(queue);
    assert.deepEqual([kept[0], kept.at(-1), kept.length], ['before', 'after', waiting + 1]);
    await queue.close();
  });

  it('read-only: it is said, and nothing is set aside', { skip: NO_DISK }, async () => {
    using disk = new SmallDisk(1_024);
    const file = join(disk.path, 'outbox/telemetry.sqlite');
    await filled(file);
    await disk.readOnly(true);
    await assert.rejects(openAt(file), { code: 'STORAGE_READ_ONLY' });
    await disk.readOnly(false);
    const queue = await openAt(file);
    assert.equal(queue.damage, undefined);
    assert.equal(queue.waiting.count, 10);
    await queue.close();
  });

  it('another Core has it: it is said, and nothing is set aside', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'telemetry.sqlite');
    const queue = await openAt(file);
    await queue.putAll([message('one')]);
    await assert.rejects(openAt(file), { code: 'STATE_UNWRITABLE', message: /another process uses it/ });
    assert.deepEqual(
      readdirSync(folder.path).filter((name) => name.includes('corrupt')),
      [],
    );
    await queue.putAll([message('two')]);
    await queue.close();
    const again = await openAt(file);
    assert.deepEqual(await bodies(again), ['one', 'two']);
    await again.close();
  });
});

describe('a file where the folder of the queues should be', () => {
  it('is reported in the log and to each opener of a queue, and the plugin runs', async () => {
    using place = temporaryFolder();
    const folder = join(place.path, 'outbox');
    writeFileSync(folder, '');
    await using rest = part();
    const outboxes = new Outboxes({ scope: rest.scope, log: rest.log, folder, usual: USUAL, sendMs: 1_000, most: 4 });
    await outboxes.look();
    assert.deepEqual(
      rest.logged.map(({ message }) => message),
      ['cannot look for queues'],
    );
    const opening = outboxes.view({ plugin: 'one' }).open(DESTINATION, async () => ({ outcome: 'taken' }));
    await assert.rejects(opening, { code: 'STATE_UNWRITABLE' });
    assert.deepEqual(outboxes.states(), []);
  });
});

describe('a cleared message', () => {
  it('is in no block of the files any more', async () => {
    using folder = temporaryFolder();
    const file = join(folder.path, 'telemetry.sqlite');
    const queue = await openAt(file);
    await queue.putAll([message('a secret of the house')]);
    assert.equal(await queue.clear(), 1);
    for (const name of readdirSync(folder.path))
      assert.ok(!readFileSync(join(folder.path, name)).includes('a secret of the house'), name);
    const [id] = await queue.putAll([message('new')]);
    assert.match(id!, /^[0-9a-f]{8}-1$/);
    await queue.close();
  });
});

describe('a device that sends nothing', () => {
  it('has no folder and does not load SQLite, and SQLite says nothing into the log', async () => {
    const { host, folder } = await start();
    await using _host = host;
    assert.equal(existsSync(folder), false);
    const program = join(import.meta.dirname, '../../../plugins/state/outbox/index.ts');
    const seen = (code: string) =>
      spawnSync(process.execPath, ['--input-type=module', '-e', code], { encoding: 'utf8', cwd: import.meta.dirname });
    const loaded = seen(
      `await import(${JSON.stringify(program)}); console.log(process.moduleLoadList.some((one) => one.includes('sqlite')))`,
    );
    assert.deepEqual([loaded.stdout, loaded.stderr], ['false\n', '']);
    const used = seen("const { DatabaseSync } = await import('node:sqlite'); new DatabaseSync(':memory:').close()");
    assert.deepEqual([used.status, used.stderr], [0, '']);
  });
});
