/** A Core that was taken over, before the helper of root: what it asks for, what it puts in its way, how it asks. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, describe, test } from 'node:test';
import { createZstdCompress, zstdCompressSync } from 'node:zlib';
import { type Heeding, type SlotAnswer, SlotWriter, slotRequests } from '@device-core/plugin-api/inside/slot-files';
import { leakCheck } from '@device-core/plugin-api/testing';
import { serve } from '../../../systemd/helpers/slots/serve.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { listOf, testKey, writeImageFolder } from '../../fixtures/image-folder.ts';
import { SlotDevice } from '../../fixtures/slot-device.ts';

after(leakCheck());

const SECRET = 'root:$y$j9T$secret:19700::::::\n';
const LARGE = 2 << 20;

class Helper implements AsyncDisposable {
  readonly device = new SlotDevice();
  readonly path = join(this.device.root, 'slots.sock');
  readonly #server = createServer();
  readonly #ending = new AbortController();
  #over: Promise<void> | undefined;
  /** Called with each progress, and waited for. */
  held: Heeding['progress'];

  static async open(): Promise<Helper> {
    const helper = new Helper();
    const { device, path } = helper;
    const state = `${join(device.root, 'state')}/`;
    const answer = slotRequests(new SlotWriter(device.places, (folder) => folder.startsWith(state)), {
      safeMode: () => undefined,
      reboot: () => undefined,
      powerOff: () => undefined,
    });
    const heed = (line: string, heeding: Heeding) =>
      answer(line, {
        ...heeding,
        progress: async (progress) => {
          await heeding.progress?.(progress);
          await helper.held?.(progress);
        },
      });
    await once(helper.#server.listen(path), 'listening');
    helper.#over = serve(helper.#server, heed, { lineMs: 200, signal: helper.#ending.signal });
    return helper;
  }

  async ask(request: unknown): Promise<SlotAnswer> {
    const lines = (await this.raw(`${JSON.stringify(request)}\n`)).trim().split('\n');
    return JSON.parse(lines.at(-1) ?? '') as SlotAnswer;
  }

  async raw(bytes: string): Promise<string> {
    const socket = connect(this.path);
    socket.write(bytes);
    return text(socket).catch((error: NodeJS.ErrnoException) => `{"error":"${error.code}"}`);
  }

  /** Nothing of the device was changed. */
  get untouched(): object {
    const { record, places } = this.device;
    return { record, slots: readdirSync(join(places.system, 'slots')), problem: this.device.problem('a') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#over;
    this.device[Symbol.dispose]();
  }
}

const refusal = (answer: SlotAnswer) => ('refused' in answer ? answer.refused : 'failed' in answer ? 'failed' : 'ok');

function instead(path: string, make: () => unknown): void {
  rmSync(path);
  make();
}

describe('a hostile Core', () => {
  test('is refused, and nothing is changed, for any request', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const good = device.image('1.1.0');
    const outside = join(device.root, 'outside');
    cpSync(good, outside, { recursive: true });
    symlinkSync(outside, join(device.root, 'state/link'));
    mkdirSync(join(device.root, 'state/deep'));
    symlinkSync(device.root, join(device.root, 'state/deep/up'));
    const before = helper.untouched;
    const table: readonly (readonly [request: unknown, code: string])[] = [
      // Places.
      ...['/', '/etc', 'state', '', '.', '/proc/self/fd/3', outside, `${good}/../../outside`, `${good}/.`].map(
        (folder) => [{ verb: 'stage', folder }, 'SYSTEM_IMAGE_INVALID'] as const,
      ),
      [{ verb: 'stage', folder: `${good}\0` }, 'SYSTEM_IMAGE_INVALID'],
      [{ verb: 'inspect', folder: join(device.root, 'state/link') }, 'SYSTEM_IMAGE_INVALID'],
      [{ verb: 'inspect', folder: join(device.root, 'state/deep/up/outside') }, 'SYSTEM_IMAGE_INVALID'],
      [{ verb: 'inspect', folder: join(good, 'image.json') }, 'SYSTEM_IMAGE_INVALID'],
      [{ verb: 'inspect', folder: join(good, 'blobs') }, 'SYSTEM_IMAGE_INVALID'],
      [{ verb: 'inspect', folder: `/${'a/'.repeat(3_000)}` }, 'failed'],
      // Other slots than the one that runs; what a verb does not know is no word of it.
      [{ verb: 'markGood', slot: 'b' }, 'failed'],
      [{ verb: 'markBad', reason: 'it', slot: 'b' }, 'failed'],
      [{ verb: 'markBad', reason: 'nothing to go to' }, 'SLOTS_UNAVAILABLE'],
      [{ verb: 'stage', folder: good, target: 'a' }, 'failed'],
      [{ verb: 'stage', folder: good, floor: { time: 0 } }, 'failed'],
      [{ verb: 'activate', slot: 'b' }, 'SLOTS_UNAVAILABLE'],
      ...['c', '../a', '', 1, null, ['a'], { a: 1 }].map((slot) => [{ verb: 'activate', slot }, 'failed'] as const),
      // No requests at all.
      ...[null, 7, 'stage', [], {}, { verb: 'constructor' }, { verb: '__proto__' }, { verb: ['stage'] }].map(
        (request) => [request, 'failed'] as const,
      ),
      [{ verb: 'reboot', safeMode: 'yes' }, 'failed'],
      [{ verb: 'stage' }, 'failed'],
      [{ verb: 'status', __proto__: { a: 1 }, constructor: 1 }, 'failed'],
    ];
    for (const [request, code] of table) {
      assert.equal(refusal(await helper.ask(request)), code, JSON.stringify(request)?.slice(0, 100));
      assert.deepEqual(helper.untouched, before, JSON.stringify(request));
    }
  });

  test('gets no list taken that this device must not take, and no byte of it written', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const { key } = device;
    const second = testKey();
    const platform = { os: 'linux', arch: 'sparc', libc: 'glibc' } as const;
    const changed = (how: (folder: string) => void): string => {
      const folder = device.image('1.1.0');
      how(folder);
      return folder;
    };
    const list = (folder: string) => join(folder, 'image.json');
    const signature = (folder: string) => join(folder, 'image.sig');
    const table: readonly (readonly [what: string, folder: string, code: string])[] = [
      ['signed by itself', device.image('1.1.0', { key: second }), 'SIGNATURE_INVALID'],
      ['no signature', changed((folder) => rmSync(signature(folder))), 'SYSTEM_IMAGE_INVALID'],
      ['an empty signature', changed((folder) => writeFileSync(signature(folder), '')), 'SIGNATURE_INVALID'],
      [
        'a signature of another list',
        changed((folder) => cpSync(signature(device.image('1.2.0')), signature(folder))),
        'SIGNATURE_INVALID',
      ],
      [
        'one bit of the list',
        changed((folder) => writeFileSync(list(folder), ` ${readFileSync(list(folder))}`)),
        'SIGNATURE_INVALID',
      ],
      [
        'a list of a link',
        changed((folder) => instead(list(folder), () => symlinkSync('/etc/hostname', list(folder)))),
        'SYSTEM_IMAGE_INVALID',
      ],
      [
        'a list of a pipe',
        changed((folder) => instead(list(folder), () => execFileSync('mkfifo', [list(folder)]))),
        'SYSTEM_IMAGE_INVALID',
      ],
      [
        'signatures of a megabyte',
        changed((folder) => writeFileSync(signature(folder), 'x'.repeat(1 << 20))),
        'SYSTEM_IMAGE_INVALID',
      ],
      ['another platform', device.image('1.1.0', { over: { platform } }), 'SYSTEM_IMAGE_INVALID'],
      ['another SKU', device.image('1.1.0', { over: { sku: 'kiosk' } }), 'SYSTEM_IMAGE_INVALID'],
      ['a loader of next year', device.image('1.1.0', { over: { minLoader: 99 } }), 'SYSTEM_IMAGE_INVALID'],
      [
        'a path that leads elsewhere',
        device.image('1.1.0', { files: { '../../boot/keys.json': 'mine' } }),
        'SYSTEM_IMAGE_INVALID',
      ],
      [
        'a list of its own for a file',
        device.image('1.1.0', { files: { 'image.json': '{}' } }),
        'SYSTEM_IMAGE_INVALID',
      ],
      [
        'setuid',
        device.image('1.1.0', {
          over: { files: [{ path: 'a', mode: 0o4755 as 0o755, size: 1, sha256: '0'.repeat(64) }] },
        }),
        'SYSTEM_IMAGE_INVALID',
      ],
    ];
    const before = helper.untouched;
    for (const [what, folder, code] of table)
      for (const verb of ['inspect', 'stage']) {
        assert.equal(refusal(await helper.ask({ verb, folder })), code, `${verb}: ${what}`);
        assert.deepEqual(helper.untouched, before, what);
      }
    // A threshold that is not met, and one key counted twice.
    const keys = { keys: [...key.keys.keys, ...second.keys.keys], threshold: 2 };
    writeFileSync(join(device.places.system, 'boot/keys.json'), JSON.stringify(keys));
    const alone = changed((folder) => writeFileSync(signature(folder), `${readFileSync(signature(folder))}`.repeat(2)));
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: alone })), 'SIGNATURE_INVALID');
    // A key that ended before the time that this device knows of.
    const ended = { keys: [{ ...key.keys.keys[0]!, notAfter: 1_000 }], threshold: 1 };
    writeFileSync(join(device.places.system, 'boot/keys.json'), JSON.stringify(ended));
    device.record = { ...device.record, floor: { time: 2_000 } };
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: device.image('1.1.0') })), 'SIGNATURE_INVALID');
    writeFileSync(join(device.places.system, 'boot/keys.json'), JSON.stringify(key.keys));
    device.record = { ...device.record, floor: { time: 2_000, version: '1.5.0' } };
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: device.image('1.4.9') })), 'SYSTEM_IMAGE_INVALID');
    device.record = { ...device.record, floor: { time: 2_000 } };
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: device.image('1.1.0') })), 'ok');
  });

  test('puts something else in the place of a blob, and gets neither it nor its content', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const secret = join(device.root, 'shadow');
    writeFileSync(secret, SECRET);
    const content = { 'small.js': 'small '.repeat(100), 'large.bin': Buffer.alloc(LARGE, 'large') };
    const blobOf = (folder: string, path: string) => {
      const { files } = JSON.parse(readFileSync(join(folder, 'image.json'), 'utf8'));
      return join(folder, 'blobs', `${files.find((file: { path: string }) => file.path === path).sha256}.zst`);
    };
    const bomb = zstdCompressSync(Buffer.alloc(256 << 20));
    const tricks: readonly (readonly [what: string, how: (blob: string, folder: string) => unknown])[] = [
      ['a link to a secret', (blob) => instead(blob, () => symlinkSync(secret, blob))],
      ['a pipe', (blob) => instead(blob, () => execFileSync('mkfifo', [blob]))],
      ['a folder', (blob) => instead(blob, () => mkdirSync(blob))],
      ['nothing', (blob) => rmSync(blob)],
      ['no bytes', (blob) => writeFileSync(blob, '')],
      ['no zstd', (blob) => writeFileSync(blob, SECRET)],
      ['half of it', (blob) => writeFileSync(blob, readFileSync(blob).subarray(0, 20))],
      [
        'another content of the same size',
        (blob, folder) =>
          writeFileSync(blob, zstdCompressSync(Buffer.alloc(blob === blobOf(folder, 'small.js') ? 600 : LARGE))),
      ],
      ['a byte behind it', (blob) => appendFileSync(blob, 'x')],
      ['a frame of nothing behind it', (blob) => appendFileSync(blob, zstdCompressSync(''))],
      ['a bomb', (blob) => writeFileSync(blob, bomb)],
      ['much', (blob) => writeFileSync(blob, Buffer.alloc(8 << 20, 1))],
    ];
    for (const path of ['small.js', 'large.bin'])
      for (const [what, how] of tricks) {
        const folder = device.image('1.1.0', { files: content });
        how(blobOf(folder, path), folder);
        const answer = await helper.ask({ verb: 'stage', folder });
        assert.equal(refusal(answer), 'SYSTEM_IMAGE_INVALID', `${path}: ${what}: ${JSON.stringify(answer)}`);
        assert.doesNotMatch(JSON.stringify(answer), /secret|\$y\$/, what);
        assert.deepEqual(readdirSync(join(device.places.system, 'slots')), ['a'], what);
        assert.equal(device.record.slots.b.state, 'empty');
        rmSync(folder, { recursive: true, force: true });
      }
    // The folder of blobs itself leads elsewhere.
    const folder = device.image('1.1.0', { files: content });
    renameSync(join(folder, 'blobs'), join(device.root, 'blobs'));
    symlinkSync(join(device.root, 'blobs'), join(folder, 'blobs'));
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder })), 'SYSTEM_IMAGE_INVALID');
    // A window of memory that no image wants.
    const wide = device.image('1.1.0', { files: { 'wide.bin': Buffer.alloc(LARGE, 'w') } });
    const { constants } = await import('node:zlib');
    const zstd = createZstdCompress({ params: { [constants.ZSTD_c_windowLog]: 27 } });
    zstd.end(Buffer.alloc(LARGE, 'w'));
    const parts: Buffer[] = [];
    for await (const part of zstd) parts.push(part);
    writeFileSync(blobOf(wide, 'wide.bin'), Buffer.concat(parts));
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: wide })), 'SYSTEM_IMAGE_INVALID');
    assert.equal(device.problem('a'), undefined);
  });

  test('changes list, blobs and folder while they are used: the judged files are those in place', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const folder = device.image('1.1.0', { files: { 'z-last.js': 'the last' } });
    const judged = readFileSync(join(folder, 'image.json'), 'utf8');
    helper.held = () => {
      helper.held = undefined;
      // A list of its own, and blobs to it; then the whole folder is another.
      const mine = { 'bin/node': 'mine', 'z-last.js': 'mine' };
      writeImageFolder(folder, mine, testKey(), { version: '6.6.6' });
      renameSync(folder, `${folder}.away`);
      mkdirSync(folder);
      writeFileSync(join(folder, 'image.json'), listOf(JSON.parse(judged)));
    };
    const answer = await helper.ask({ verb: 'stage', folder });
    assert.equal(refusal(answer), 'ok', JSON.stringify(answer));
    assert.equal(readFileSync(join(device.slot('b'), 'image.json'), 'utf8'), judged);
    assert.equal(readFileSync(join(device.slot('b'), 'z-last.js'), 'utf8'), 'the last');
    assert.equal(device.problem('b'), undefined);
    assert.equal(device.record.slots.b.version, '1.1.0');
    // A blob that is changed after the list was judged.
    const other = device.image('1.2.0', { files: { 'z-last.js': 'the very last' } });
    helper.held = () => {
      helper.held = undefined;
      for (const name of globSync('*.zst', { cwd: join(other, 'blobs') }))
        writeFileSync(join(other, 'blobs', name), zstdCompressSync('mine'));
    };
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder: other })), 'SYSTEM_IMAGE_INVALID');
    assert.equal(device.record.slots.b.state, 'empty');
    assert.equal(existsSync(device.slot('b')), false);
  });

  test('comes twice, or goes in the middle: a slot is written by one, and is empty when he is gone', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const folder = device.image('1.1.0');
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    helper.held = async () => {
      begun.resolve();
      await go.promise;
    };
    const first = connect(helper.path);
    first.on('error', () => undefined).write(`${JSON.stringify({ verb: 'stage', folder })}\n`);
    await begun.promise;
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder })), 'BUSY');
    assert.equal(refusal(await helper.ask({ verb: 'activate', slot: 'b' })), 'SLOTS_UNAVAILABLE');
    assert.equal(refusal(await helper.ask({ verb: 'status' })), 'ok');
    first.destroy();
    await once(first, 'close');
    helper.held = undefined;
    go.resolve();
    await eventually(() => /went away/.test(device.record.slots.b.reason ?? ''), 'an empty slot');
    assert.deepEqual(readdirSync(join(device.places.system, 'slots')), ['a']);
    assert.equal(refusal(await helper.ask({ verb: 'stage', folder })), 'ok');
  });

  test('asks by halves, at length, in floods, and more than once: each is answered or ended, and the next one is heeded', async () => {
    await using helper = await Helper.open();
    assert.match(await helper.raw(''), /^$/);
    assert.match(await helper.raw('{"verb":"sta'), /^$/);
    assert.match(await helper.raw(`{"verb":"${'x'.repeat(9_000)}`), /too long/);
    assert.match(await helper.raw('no JSON\n'), /failed/);
    const twice = await helper.raw('{"verb":"status"}\n{"verb":"powerOff"}\n');
    assert.equal(twice.trim().split('\n').length, 1);
    const flood = await Promise.all(
      Array.from({ length: 300 }, (_, at) =>
        at % 3 === 0 ? helper.raw('{"verb":') : helper.raw('{"verb":"status"}\n'),
      ),
    );
    assert.ok(flood.every((answer) => answer === '' || /^\{"(ok|error)"/.test(answer)));
    assert.equal(refusal(await helper.ask({ verb: 'status' })), 'ok');
  });

  test('finds no good slot by running in safe mode, and none where no loader says what runs', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const report = join(device.places.boot, 'boot.json');
    for (const said of ['{"slot":"a","safe":true}', '{"slot":"c"}', '{}', 'null', '{"slot":"a"']) {
      writeFileSync(report, said);
      const before = helper.untouched;
      assert.notEqual(refusal(await helper.ask({ verb: 'markGood' })), 'ok', said);
      assert.deepEqual(helper.untouched, before);
    }
    rmSync(report);
    assert.equal(refusal(await helper.ask({ verb: 'markBad', reason: 'a mood' })), 'SLOTS_UNAVAILABLE');
  });

  test('is refused where the record is damaged, or of a loader that is newer: it is left alone', async () => {
    await using helper = await Helper.open();
    const { device } = helper;
    const path = join(device.places.system, 'boot/record');
    const newer = Buffer.from(readFileSync(path, 'latin1').replaceAll('boot record 1 ', 'boot record 2 '), 'latin1');
    for (const bytes of [newer, Buffer.alloc(8_192), Buffer.alloc(10)]) {
      writeFileSync(path, bytes);
      for (const request of [
        { verb: 'markGood' },
        { verb: 'activate', slot: 'a' },
        { verb: 'stage', folder: device.image('1.1.0') },
      ])
        assert.equal(refusal(await helper.ask(request)), 'SLOTS_UNAVAILABLE');
      assert.deepEqual(readFileSync(path), bytes);
    }
    assert.equal(statSync(device.slot('a')).isDirectory(), true);
  });
});
