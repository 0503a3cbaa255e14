/** What nothing names goes from the folder of the update; what an order, or a download that goes on, names stays. */
import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { IMAGE_LIST, imageHash } from '@device-core/plugin-api/inside/image';
import { UPDATE_STATES, type UpdateState } from '@device-core/plugin-api/inside/services/updates';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import type { Parts } from '../../../plugins/life/updater/parts.ts';
import type { UpdateRecord } from '../../../plugins/life/updater/record.ts';
import { tidy } from '../../../plugins/life/updater/tidy.ts';
import { Uploads } from '../../../plugins/life/updater/uploads.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { writeImageFolder } from '../../fixtures/image-folder.ts';
import { runs } from '../../fixtures/runs.ts';
import { Device, FILES, KEY } from './device.ts';

after(leakCheck());
const root = mkdtempSync(join(tmpdir(), 'ti-'));
after(() => rmSync(root, { recursive: true }));
const image = join(root, 'image');
writeImageFolder(image, FILES, KEY, { version: '1.1.0' });
const LIST = readFileSync(join(image, IMAGE_LIST));
const NAMED = (JSON.parse(LIST.toString()) as { files: { sha256: string }[] }).files.map(({ sha256 }) => sha256);
const NEEDED: readonly UpdateState[] = ['available', 'downloading', 'verifying', 'failed'];

describe('the folder of the update', () => {
  it('keeps the files of its image as long as that is fetched or may go on, and nothing else, in any state', async () => {
    const state = fc.constantFrom(...UPDATE_STATES);
    const blob = fc.constantFrom(...NAMED, ...['a', 'b', 'c'].map((digit) => digit.repeat(64)));
    const name = fc.tuple(blob, fc.constantFrom('.zst', '.part')).map(([sha256, end]) => sha256 + end);
    const blobs = fc.uniqueArray(fc.oneof(name, fc.constantFrom('x.tmp', 'folder', '.zst')), { maxLength: 10 });
    const world = fc.record({
      state,
      blobs,
      wanted: fc.boolean(),
      newer: fc.boolean(),
      upload: fc.boolean(),
      before: fc.option(state, { nil: undefined }),
      list: fc.constantFrom('there', 'another', 'gone'),
    });
    await fc.assert(
      fc.asyncProperty(world, async ({ state, before, wanted, newer, upload, list, blobs }) => {
        const folder = mkdtempSync(join(root, 't-'));
        for (const inside of ['blobs', 'new', 'uploads']) mkdirSync(join(folder, inside));
        for (const one of blobs)
          if (one === 'folder') mkdirSync(join(folder, 'blobs', one));
          else writeFileSync(join(folder, 'blobs', one), '');
        if (list !== 'gone') writeFileSync(join(folder, IMAGE_LIST), list === 'there' ? LIST : '{}');
        for (const one of ['mine', 'stray']) writeFileSync(join(folder, 'uploads', one), '');
        const mine = { image: imageHash(LIST), source: join(folder, 'uploads', upload ? 'mine' : 'none') };
        const record = { state, ...(before && { before }), ...(wanted && { wanted: mine }) } as UpdateRecord;
        await tidy(
          { folder, journal: { record, newer } } as unknown as Parts,
          new Uploads(join(folder, 'uploads'), async () => 0),
        );
        const left = readdirSync(join(folder, 'blobs'));
        const needed = wanted && NEEDED.includes(state === 'checking' ? (before ?? state) : state);
        const expected =
          newer || (needed && list !== 'there')
            ? blobs
            : blobs.filter((one) => needed && NAMED.includes(one.replace(/\.(zst|part)$/, '')));
        assert.deepEqual(left.sort(), expected.toSorted());
        assert.equal(existsSync(join(folder, 'new')), newer);
        const uploads = newer ? ['mine', 'stray'] : needed && upload ? ['mine'] : [];
        assert.deepEqual(readdirSync(join(folder, 'uploads')), uploads);
        rmSync(folder, { recursive: true });
      }),
      { numRuns: runs(200) },
    );
  });

  it('is swept at the start, and after an order that came to its end', async () => {
    await using device = await new Device().start();
    const stray = () => writeFileSync(join(device.folder, 'blobs', `${'a'.repeat(64)}.part`), 'half');
    mkdirSync(join(device.folder, 'blobs'), { recursive: true });
    stray();
    await device.restart();
    await eventually(() => device.blobs.length === 0, 'the sweep of the start');
    stray();
    await assert.rejects(device.run('install', { source: '/nowhere' }), { code: 'SYSTEM_IMAGE_INVALID' });
    const source = device.image({ version: '0.9.5' });
    await assert.rejects(device.run('install', { source }), { code: 'UPDATE_REFUSED' });
    assert.deepEqual(device.blobs, []);
  });
});
