/** An archive that comes in pieces from another machine, and what becomes of it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { EXIT, Failure, type ProgramContext } from '@device-core/plugin-api/program';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { writeArchive } from '../../../plugins/life/maker/image/archive.ts';
import { sent } from '../../../plugins/life/updater/program/sent.ts';
import { PIECE, Uploads } from '../../../plugins/life/updater/uploads.ts';
import { eventually } from '../../fixtures/eventually.ts';
import type { TestFiles } from '../../fixtures/image-folder.ts';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { runs } from '../../fixtures/runs.ts';
import { Device, FILES } from './device.ts';

after(leakCheck());
const root = mkdtempSync(join(tmpdir(), 'up-'));
after(() => rmSync(root, { recursive: true }));

interface Uploaded {
  readonly upload: string;
  readonly source: string;
  readonly bytes: number;
}

const filesOf = (folder: string): readonly string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

function archiveOf(device: Device, over = {}, files: TestFiles = FILES): string {
  const file = join(root, 'image.tar');
  writeArchive(device.image(over, files), file);
  return file;
}

/** A client that hands everything to the operations of a device. */
function context(device: Device, name = 'ssh://kiosk', fails: () => boolean = () => false) {
  const lines: string[] = [];
  const post = async (path: string, body: object) => {
    assert.equal(path, '/update/uploads');
    if (fails()) throw new Failure(EXIT.unreachable, 'UNREACHABLE', 'the connection was cut');
    const answer = await device.run<Uploaded>('upload', body);
    // It got through, and the answer did not.
    if (fails()) throw new Failure(EXIT.unreachable, 'UNREACHABLE', 'the connection was cut');
    return { body: answer };
  };
  const out = {
    json: false,
    terminal: true,
    paint: (_: string, text: string) => text,
    line: async (text: string) => void lines.push(text),
  };
  const made = { client: { post }, out, target: { name }, signal: new AbortController().signal };
  return { context: made as unknown as ProgramContext, lines };
}

describe('an archive from another machine', () => {
  it('is sent in pieces, installed by its name, and gone when it is in a slot', async () => {
    await using device = await new Device().start();
    const { context: at, lines } = context(device);
    const source = await sent(archiveOf(device, {}, { ...FILES, big: randomBytes(2 * PIECE).toString('base64') }), at);
    assert.match(source, /^upload:[0-9a-f-]{36}$/);
    assert.equal(lines.at(-1), 'sent 100 %');
    const { id } = await device.run<{ id: string }>('inhibit', { reason: 'a call', ms: 60_000 });
    await device.run('install', { source });
    const { rule } = await device.becomes('waiting');
    assert.equal(rule, 'lease');
    assert.deepEqual(filesOf(join(device.folder, 'uploads')), []);
    await device.run('release', { id });
  });

  it('goes on where a connection was cut, with the same bytes', async () => {
    await using device = await new Device().start();
    let nth = 0;
    const file = join(root, 'long');
    const bytes = Buffer.alloc(2 * PIECE + 7, 'abc');
    writeFileSync(file, bytes);
    const { context: at } = context(device, 'http://kiosk:8080', () => ++nth === 3);
    const source = await sent(file, at);
    const [only, ...more] = filesOf(join(device.folder, 'uploads'));
    assert.deepEqual([`upload:${only}`, more], [source, []]);
    assert.ok(readFileSync(join(device.folder, 'uploads', only!)).equals(bytes));
  });

  it('stays over a restart of the Core once the update needs it, and no longer', async () => {
    await using device = await new Device().start();
    const { context: at } = context(device);
    const source = await sent(archiveOf(device, { version: '0.9.5' }), at);
    const waits = await sent(archiveOf(device), at);
    assert.equal(await codeOf(device.run('install', { source })), 'UPDATE_REFUSED');
    const { state } = await device.status();
    const kept = filesOf(join(device.folder, 'uploads'));
    await device.end();
    await device.start();
    const left = await eventually(() => {
      const names = filesOf(join(device.folder, 'uploads'));
      return names.length < 2 && names;
    }, 'the sweep');
    assert.equal(await codeOf(device.run('install', { source: waits })), 'SYSTEM_IMAGE_INVALID');
    assert.deepEqual({ state, kept: kept.length, left: left.length }, { state: 'available', kept: 2, left: 1 });
    assert.equal(`upload:${left[0]}`, source);
  });

  const REFUSED: readonly (readonly [why: string, code: string, params: object])[] = [
    ['that nobody began', 'SYSTEM_IMAGE_INVALID', { upload: '0'.repeat(36), data: 'AA==' }],
    ['of half a base64', 'PARAMS_INVALID', { data: 'AA=' }],
    ['behind its end', 'SYSTEM_IMAGE_INVALID', { offset: 1, data: 'AA==' }],
  ];
  for (const [why, code, params] of REFUSED)
    it(`a piece ${why} is refused`, async () => {
      await using device = await new Device().start();
      assert.equal(await codeOf(device.run('upload', params)), code);
    });

  it('is refused as a whole where it is more than the quota, and nothing of it is left', async () => {
    await using device = await new Device({ maxMB: 1 }).start();
    const file = join(root, 'much');
    writeFileSync(file, Buffer.alloc(9 * PIECE));
    await assert.rejects(sent(file, context(device).context), { code: 'STORAGE_FULL' });
    assert.deepEqual(filesOf(join(device.folder, 'uploads')), []);
  });

  it('is sent to another machine alone, and a folder never', async () => {
    await using device = await new Device().start();
    const file = archiveOf(device);
    assert.equal(await sent(file, context(device, 'unix:/run/device/core.sock').context), file);
    assert.equal(await sent('/media/stick/image.tar', context(device).context), '/media/stick/image.tar');
    await assert.rejects(sent(root, context(device).context), {
      code: 'USAGE',
      message: /is a folder of this machine/,
    });
    assert.deepEqual(filesOf(join(device.folder, 'uploads')), []);
  });
});

describe('pieces', () => {
  it('in any order that a client can mean make the same file; of three that wait the oldest goes', async () => {
    const cut = fc.array(fc.uint8Array({ minLength: 1, maxLength: 40 }), { minLength: 1, maxLength: 8 });
    const again = fc.array(fc.boolean(), { minLength: 8, maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(cut, again, async (pieces, twice) => {
        const folder = mkdtempSync(join(root, 'p-'));
        const uploads = new Uploads(folder, async () => 1_000);
        let upload: string | undefined;
        let offset = 0;
        for (const [nth, bytes] of pieces.entries()) {
          for (const _ of twice[nth] && upload !== undefined ? [1, 2] : [1]) {
            const told = await uploads.take({ upload, offset, bytes });
            upload = told.upload;
            assert.equal(told.bytes, offset + bytes.length);
          }
          offset += bytes.length;
        }
        assert.ok(readFileSync(join(folder, upload!)).equals(Buffer.concat(pieces)));
        const others = [
          await uploads.take({ offset: 0, bytes: pieces[0]! }),
          await uploads.take({ offset: 0, bytes: pieces[0]! }),
        ];
        assert.deepEqual(readdirSync(folder).sort(), others.map((one) => one.upload).sort());
        rmSync(folder, { recursive: true });
      }),
      { numRuns: runs(50) },
    );
  });
});
