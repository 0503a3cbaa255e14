/** An image in one file: a plain tar of an image folder, and whatever else may lie in its place. */
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { list } from 'tar';
import { ArchiveSource } from '../../../plugins/life/updater/archive-source.ts';
import { formsBetween } from '../../../plugins/life/updater/asks.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { Device } from './device.ts';

after(leakCheck());

interface Entry {
  readonly name: string;
  readonly content?: Uint8Array;
  readonly type?: string;
  /** Instead of the length of the content. */
  readonly size?: number;
}

function entryOf({ name, content = Buffer.alloc(0), type = '0', size = content.length }: Entry): Buffer {
  const header = Buffer.alloc(512);
  header.write(name, 0, 100);
  header.write('0000644\0', 100);
  header.write(`${size.toString(8).padStart(11, '0')} `, 124);
  header.write('        ', 148);
  header.write(type, 156);
  header.write('ustar\x0000', 257);
  const sum = header.reduce((all, byte) => all + byte, 0);
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148);
  return Buffer.concat([header, content, Buffer.alloc((512 - (content.length % 512)) % 512)]);
}

const END = Buffer.alloc(1_024);
const tarOf = (entries: readonly Entry[], end = END): Buffer => Buffer.concat([...entries.map(entryOf), end]);

/** What an image folder holds, in an order that nobody promised. */
function entriesOf(folder: string, top = ''): Entry[] {
  const blobs = readdirSync(join(folder, 'blobs')).map((name) => `blobs/${name}`);
  const files = [...blobs, 'image.sig', 'image.json'];
  return files.map((name) => ({ name: `${top}${name}`, content: readFileSync(join(folder, name)) }));
}

const HASH = 'a'.repeat(64);
const LIST = { name: 'image.json', content: Buffer.from('{}') };
const SIGNATURE = { name: 'image.sig', content: Buffer.from('sha256:1 AA==\n') };
const BLOB = { name: `blobs/${HASH}.zst`, content: Buffer.from('a blob') };

async function open(bytes: Uint8Array): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'da-'));
  try {
    const file = join(folder, 'image.tar');
    writeFileSync(file, bytes);
    return await codeOf(new ArchiveSource(file).newest());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('an archive', () => {
  for (const top of ['', './'])
    it(`is installed as its folder is, with names that begin with "${top}"`, async () => {
      await using device = await new Device().start();
      const folder = device.image();
      const file = join(device.root, 'image.tar');
      const folders = [
        { name: './', type: '5' },
        { name: `${top}blobs/`, type: '5' },
        { name: 'pax', type: 'x', content: Buffer.from('12 mtime=1.5\n') },
      ];
      writeFileSync(file, tarOf([...folders, ...entriesOf(folder, top)]));
      rmSync(folder, { recursive: true });
      await device.run('install', { source: file });
      await device.restarts();
      await device.restart();
      await device.reaches('good');
    });

  it('with an entry far longer than its file is not copied', async () => {
    await using device = await new Device().start();
    const entries = entriesOf(device.image());
    const [first] = entries;
    const swollen = entries.map((entry) =>
      entry === first ? { ...entry, content: Buffer.concat([entry.content!, Buffer.alloc(1 << 20)]) } : entry,
    );
    const file = join(device.root, 'image.tar');
    writeFileSync(file, tarOf(swollen));
    await device.run('install', { source: file });
    const { reason = '' } = await device.reaches('failed');
    assert.match(reason, /bytes, \d+ are the most that it can have/);
  });

  const BAD: readonly (readonly [string, Uint8Array, RegExp])[] = [
    ['is empty', Buffer.alloc(0), /it has no end/],
    ['is no tar', Buffer.from('PK'.repeat(2_000)), /it is no tar/],
    ['is compressed', Buffer.concat([Buffer.from([0x1f, 0x8b, 8, 0]), Buffer.alloc(2_000, 1)]), /it is no tar/],
    ['has no list', tarOf([SIGNATURE, BLOB]), /image\.json is not in it/],
    ['has no signature', tarOf([LIST, BLOB]), /image\.sig is not in it/],
    ['has a link', tarOf([LIST, SIGNATURE, { name: `blobs/${HASH}.zst`, type: '2' }]), /neither a file nor a folder/],
    ['has a hard link', tarOf([LIST, SIGNATURE, { name: 'image.json', type: '1' }]), /neither a file nor a folder/],
    ['has a device', tarOf([LIST, SIGNATURE, { name: 'blobs/x', type: '3' }]), /neither a file nor a folder/],
    ['has a path that leads out', tarOf([LIST, SIGNATURE, { name: '../image.json' }]), /is no part of an image/],
    ['has a path from the root', tarOf([LIST, SIGNATURE, { name: '/etc/passwd' }]), /is no part of an image/],
    ['has another file', tarOf([LIST, SIGNATURE, { name: 'run.sh' }]), /is no part of an image/],
    ['has a file twice', tarOf([LIST, SIGNATURE, LIST]), /comes twice/],
    ['ends within a file', tarOf([LIST, SIGNATURE, { ...BLOB, size: 1 << 20 }], Buffer.alloc(0)), /it ends within/],
    ['has no end', tarOf([LIST, SIGNATURE], Buffer.alloc(0)), /it has no end/],
    ['says a size beyond all', tarOf([{ ...LIST, size: 8 ** 11 - 1 }, SIGNATURE]), /it ends within/],
    [
      'has a long name in a header of its own',
      tarOf([{ name: '././@LongLink', type: 'L' }, LIST, SIGNATURE]),
      /neither a file nor a folder/,
    ],
    ['has a sparse file', tarOf([LIST, SIGNATURE, { name: `blobs/${HASH}.zst`, type: 'S' }]), /neither a file nor/],
    [
      'has an extended header of 1 MiB',
      tarOf([{ name: 'pax', type: 'x', content: Buffer.alloc(1 << 20) }, LIST, SIGNATURE]),
      /a header that is too long/,
    ],
    [
      'has a signature of 1 MiB',
      tarOf([LIST, { name: 'image.sig', content: Buffer.alloc(1 << 20) }]),
      /more than 65536 bytes/,
    ],
  ];
  for (const [what, bytes, reason] of BAD)
    it(`that ${what} is refused`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'da-'));
      try {
        const file = join(folder, 'image.tar');
        writeFileSync(file, bytes);
        const error = await new ArchiveSource(file).newest().catch((thrown) => thrown);
        assert.ok(error instanceof CoreError);
        assert.equal(error.code, 'SYSTEM_IMAGE_INVALID');
        assert.match(error.message, reason);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

  const INNER = entryOf({ name: 'image.json', content: Buffer.from('{}') });
  const OTHERWISE: readonly (readonly [string, readonly Entry[], readonly string[], RegExp])[] = [
    [
      'has a folder with a content',
      [{ name: 'blobs/', type: '5', content: INNER }, SIGNATURE],
      ['blobs/', 'image.json', 'image.sig'],
      /"blobs\/" is a folder with a content/,
    ],
    [
      'has a file with the name of a folder',
      [{ name: 'blobs/', content: INNER }, SIGNATURE],
      ['blobs/', 'image.json', 'image.sig'],
      /"blobs\/" is no part of an image/,
    ],
    [
      'names a file in an extended header',
      [{ name: 'pax', type: 'x', content: Buffer.from('19 path=image.json\n') }, { ...BLOB, size: 6 }, SIGNATURE],
      ['image.json', 'image.sig'],
      /image\.json is not in it/,
    ],
  ];
  for (const [what, entries, names, reason] of OTHERWISE)
    it(`that ${what} is refused, though package tar finds an image`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'da-'));
      try {
        const file = join(folder, 'image.tar');
        writeFileSync(file, tarOf(entries));
        const found: string[] = [];
        list({ file, sync: true, onReadEntry: ({ path }) => found.push(path) });
        assert.deepEqual(found, names);
        const error = await new ArchiveSource(file).newest().catch((thrown) => thrown);
        assert.equal(error.code, 'SYSTEM_IMAGE_INVALID');
        assert.match(error.message, reason);
      } finally {
        rmSync(folder, { recursive: true });
      }
    });

  it('of any bytes is read to its end or refused, with no other error', async () => {
    const whole = tarOf([LIST, SIGNATURE, BLOB]);
    await fc.assert(
      fc.asyncProperty(fc.nat(whole.length - 1), fc.nat(255), fc.nat(whole.length), async (at, byte, length) => {
        const bytes = Buffer.from(whole);
        bytes[at] = byte;
        assert.ok(['no error', 'SYSTEM_IMAGE_INVALID'].includes(await open(bytes.subarray(0, length))));
      }),
      { numRuns: runs(300) },
    );
  });
});

describe('forms of state', () => {
  const image = (reads: readonly number[], writes: number) => ({ state: { 'ledger/*.jsonl': { reads, writes } } });
  const TABLE: readonly (readonly [string, ReturnType<typeof image>, string | undefined])[] = [
    ['the same', image([1], 1), undefined],
    ['read by both', image([1, 2], 2), 'one-way'],
    ['not read by the next one', image([2], 2), 'lost'],
  ];
  for (const [what, next, way] of TABLE)
    it(`that are ${what} are ${way ?? 'not told'}`, () => {
      assert.equal(formsBetween(image([1], 1), next)[0]?.way, way);
    });

  it('that what runs reads, too, have a way back', () => {
    assert.equal(formsBetween(image([1, 2], 1), image([1, 2], 2))[0]?.way, 'both');
    assert.deepEqual(formsBetween(undefined, image([1], 1)), []);
  });
});
