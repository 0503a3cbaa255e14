/** Backups that are damaged, forged or of another device are refused, and nothing is touched. Costs a key from a passphrase for each sealed one. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, describe, it } from 'node:test';
import { gzipSync } from 'node:zlib';
import { archiveEnd, member, REPRODUCIBLE } from '@device-core/plugin-api/inside/packages';
import { pendingAct } from '@device-core/plugin-api/inside/pending-state';
import { leakCheck } from '@device-core/plugin-api/testing';
import { armor, Encrypter, generateIdentity, identityToRecipient } from 'age-encryption';
import { Header, type HeaderData, Pax } from 'tar';
import { opened, start } from './device.ts';
import { filesOf, lay, STATE } from './state.ts';

after(leakCheck());

const PHRASE = { passphrase: 'secret words' };
const HEAD = { format: 2, sku: 'test', core: '1.0.0', made: 0, forms: {} };
const BLOCK = 512;

/** A member with any header that a tar can have. */
function any(fields: HeaderData, text = ''): Buffer {
  const block = Buffer.alloc(BLOCK);
  new Header({ mode: 0o600, size: text.length, ...REPRODUCIBLE, ...fields }).encode(block, 0);
  return Buffer.concat([block, Buffer.from(text), Buffer.alloc((BLOCK - (text.length % BLOCK)) % BLOCK)]);
}

const file = (path: string, text: string): Buffer =>
  Buffer.concat(member(path, Buffer.from(text), { mode: 0o600, ...REPRODUCIBLE }));

/** A whole archive with a right hash, as anyone can write it. */
function tar(members: readonly Buffer[], head: object = HEAD): Buffer {
  const bytes = Buffer.concat([file('backup.json', `${JSON.stringify(head)}\n`), ...members]);
  const sum = createHash('sha256').update(bytes).digest('hex');
  return Buffer.concat([bytes, file('sha256', `${sum}\n`), archiveEnd()]);
}

const FINE = file('state/audio/state.json', '{}');

async function sealed(bytes: Uint8Array, work = 10): Promise<Buffer> {
  const encrypter = new Encrypter();
  encrypter.setPassphrase(PHRASE.passphrase);
  encrypter.setScryptWorkFactor(work);
  return Buffer.from(await encrypter.encrypt(bytes));
}

async function sealedFor(recipients: number): Promise<Buffer> {
  const encrypter = new Encrypter();
  for (let nth = 0; nth < recipients; nth += 1)
    encrypter.addRecipient(await identityToRecipient(await generateIdentity()));
  return Buffer.from(await encrypter.encrypt(tar([FINE])));
}

let whole: Promise<Buffer> | undefined;
/** A sealed one with 700 kB in 11 chunks, made once. */
function made(): Promise<Buffer> {
  whole ??= (async () => {
    await using one = await start();
    lay(one.state, STATE);
    return (await one.fetch(PHRASE)).archive;
  })();
  return whole;
}

const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  copy[at < 0 ? copy.length + at : at]! ^= 1;
  return copy;
};
const CHUNK = (64 << 10) + 16;
const payloadOf = (bytes: Buffer): number => bytes.indexOf('\n', bytes.indexOf('\n--- ') + 1) + 1 + 16;
const swapped = (bytes: Buffer): Buffer => {
  const at = payloadOf(bytes);
  const [one, two] = [0, 1].map((nth) => bytes.subarray(at + nth * CHUNK, at + (nth + 1) * CHUNK));
  return Buffer.concat([bytes.subarray(0, at), two!, one!, bytes.subarray(at + 2 * CHUNK)]);
};

type Case = readonly [title: string, bytes: () => Buffer | Promise<Buffer>, reason: RegExp];

const CHANGED = /it was changed, or is damaged/;
const BROKEN = /it was changed, is damaged, or ends in the middle/;

const PLAIN: readonly Case[] = [
  ['nothing', () => Buffer.alloc(0), /ends in the middle/],
  ['another file', () => Buffer.from('PK\u0003\u0004 something else, and long enough'), /no backup/],
  ['another tar', () => Buffer.concat([file('package.json', '{}'), archiveEnd()]), /no backup/],
  ['one that is compressed', () => gzipSync(tar([FINE])), /no backup/],
  ['half a file', () => tar([FINE]).subarray(0, 1_500), /ends in the middle/],
  ['all but the last byte', () => tar([FINE]).subarray(0, -1), /ends in the middle/],
  ['one without its hash', () => tar([FINE]).subarray(0, -4 * BLOCK), /ends in the middle/],
  [
    'one that ends before its hash',
    () => Buffer.concat([file('backup.json', JSON.stringify(HEAD)), archiveEnd()]),
    /ends in the middle/,
  ],
  ['more behind its end', () => Buffer.concat([tar([FINE]), Buffer.from('x')]), /more follows/],
  ['zeros behind its end', () => Buffer.concat([tar([FINE]), Buffer.alloc(8_192)]), /more follows/],
  ['a changed byte of a file', () => flipped(tar([FINE]), 3 * BLOCK), CHANGED],
  ['a changed byte between files', () => flipped(tar([FINE]), 3 * BLOCK + 100), CHANGED],
  ['a changed byte of a header', () => flipped(tar([FINE]), 2 * BLOCK + 3), CHANGED],
  ['a changed hash', () => flipped(tar([FINE]), -4 * BLOCK + BLOCK), CHANGED],
  ['a newer form', () => tar([], { ...HEAD, format: 3 }), /forms up to 2/],
  ['a form that is none', () => tar([], { ...HEAD, format: 'x' }), /form "x"/],
  ['another SKU', () => tar([], { ...HEAD, sku: 'toast' }), /of SKU "toast"/],
  ['a newer Core', () => tar([], { ...HEAD, core: '1.1.0' }), /made by Core 1.1.0/],
  [
    'a store of a newer form',
    () => tar([], { ...HEAD, forms: { 'secrets/vault.json': { reads: [1], writes: 9 } } }),
    /has form 9, which is newer/,
  ],
  ['a head without an end', () => tar([], { ...HEAD, more: 'x'.repeat(2 << 20) }), /too long/],
  ['a head that is no JSON', () => Buffer.concat([file('backup.json', '{'), archiveEnd()]), /no JSON/],
];

const FORGED: readonly Case[] = [
  ['a path that leads up', () => tar([file('state/../../etc/xyz', 'x')]), /leads elsewhere/],
  ['an absolute path', () => tar([file('/etc/xyz', 'x')]), /no part of a backup/],
  ['an absolute path below the state', () => tar([file('state//etc/xyz', 'x')]), /leads elsewhere/],
  ['a path outside of the state', () => tar([file('state/update/x', 'x')]), /no state/],
  ['a member of its own', () => tar([file('more', 'x')]), /no part of a backup/],
  ['a path that comes twice', () => tar([FINE, FINE]), /comes twice/],
  ['a path in other letters', () => tar([FINE, file('state/audio/STATE.json', '')]), /comes twice/],
  [
    'a symbolic link',
    () => tar([any({ path: 'state/a', type: 'SymbolicLink', linkpath: '/etc/shadow' })]),
    /"state\/a": it is a SymbolicLink/,
  ],
  ['a link', () => tar([any({ path: 'state/a', type: 'Link', linkpath: 'state/b' })]), /it is a Link/],
  ['a device', () => tar([any({ path: 'state/a', type: 'CharacterDevice' })]), /it is a CharacterDevice/],
  ['a folder', () => tar([any({ path: 'state/a/', type: 'Directory' })]), /it is a Directory/],
  [
    'a long name of GNU',
    () => tar([any({ path: 'x', type: 'NextFileHasLongPath' }, 'state/a')]),
    /NextFileHasLongPath/,
  ],
  ['a file with the rights of its owner', () => tar([any({ path: 'state/a', mode: 0o4755 }, 'x')]), /setuid/],
  [
    'an extended header with a size',
    () =>
      tar([Buffer.concat([new Pax({ path: 'state/a', size: 9 } as HeaderData).encode(), any({ path: 'state/a' })])]),
    /says more than a path/,
  ],
  [
    'an extended header without an end',
    () => tar([any({ path: 'x', type: 'ExtendedHeader', size: 1 << 30 })]),
    /it is a ExtendedHeader/,
  ],
  ['a file of 300 MiB', () => tar([any({ path: 'state/a', size: 300 << 20 })]), /larger than a backup may be/],
  ['secrets that are none', () => tar([file('secrets.json', '{"secrets":[{"key":"x"}]}')]), /secrets are none/],
  ['secrets twice', () => tar([file('secrets.json', '{}'), file('secrets.json', '{}')]), /no part of a backup/],
];

const SEALED: readonly Case[] = [
  ['one without a seal', () => tar([FINE]), /was not sealed/],
  ['a changed byte of the first line', async () => flipped(await made(), 3), /no backup/],
  [
    'a changed salt',
    async () => flipped(await made(), 'age-encryption.org/v1\n-> scrypt '.length),
    /passphrase is another|its header is none/,
  ],
  ['a changed mark of the header', async () => flipped(await made(), (await made()).indexOf('\n--- ') + 6), BROKEN],
  ['a changed byte of a file', async () => flipped(await made(), 300_000), BROKEN],
  ['a changed last byte', async () => flipped(await made(), -1), BROKEN],
  ['two chunks that changed places', async () => swapped(await made()), BROKEN],
  ['one that ends in its header', async () => (await made()).subarray(0, 60), BROKEN],
  ['one that ends before its first chunk', async () => (await made()).subarray(0, payloadOf(await made()) - 8), BROKEN],
  ['half a file', async () => (await made()).subarray(0, (await made()).length >> 1), BROKEN],
  ['one that ends behind a chunk', async () => (await made()).subarray(0, payloadOf(await made()) + 3 * CHUNK), BROKEN],
  ['all but the last byte', async () => (await made()).subarray(0, -1), BROKEN],
  ['more behind its end', async () => Buffer.concat([await made(), Buffer.from('x')]), BROKEN],
  ['one for a key of age', () => sealedFor(1), /sealed for "X25519" of age/],
  ['one for two keys of age', () => sealedFor(2), /sealed for "X25519" of age/],
  ['one in letters', async () => Buffer.from(armor.encode(await made())), /no backup/],
  [
    'a work factor that takes too much memory',
    async () => Buffer.from((await made()).toString('latin1').replace(/( \S+) 15\n/, '$1 20\n'), 'latin1'),
    /work factor 20, which takes too much memory: at most 16/,
  ],
  [
    'a header without an end',
    () => Buffer.from(`age-encryption.org/v1\n-> scrypt ${'a'.repeat(1 << 20)}`),
    /header is too long/,
  ],
  ['another file that was sealed', () => sealed(Buffer.from('no tar')), /ends in the middle/],
  ['a link that was sealed', () => sealed(tar([any({ path: 'state/a', type: 'Link', linkpath: 'b' })])), /is a Link/],
];

async function refuses([, bytes, reason]: Case, params: object): Promise<void> {
  await using one = await start();
  lay(one.state, STATE);
  const state = () => Object.entries(filesOf(one.state)).filter(([path]) => !path.startsWith('backups/'));
  const before = state();
  await assert.rejects(one.restore(await bytes(), params), (error: Error & { code: string }) => {
    assert.equal(error.code, 'BACKUP_INVALID', error.message);
    assert.match(error.message, reason);
    return true;
  });
  assert.deepEqual(state(), before);
  assert.equal(pendingAct(one.state), undefined);
  assert.deepEqual(one.acts, []);
}

describe('a restoration touches nothing and refuses', { timeout: 300_000 }, () => {
  for (const one of [...PLAIN, ...FORGED]) it(one[0], () => refuses(one, {}));
  for (const one of SEALED) it(`${one[0]}, under a passphrase`, () => refuses(one, PHRASE));
  it('another passphrase', () => refuses(['', made, /passphrase is another/], { passphrase: 'wrong' }));
  it('no passphrase', () => refuses(['', made, /needs its passphrase/], {}));
});

describe('a forged archive', () => {
  it('without a fault is taken', async () => {
    for (const [bytes, params] of [
      [tar([FINE]), {}],
      [await sealed(tar([FINE])), PHRASE],
      [await made(), PHRASE],
    ] as const) {
      await using one = await start();
      assert.partialDeepStrictEqual(await one.restore(bytes, params), { restarts: true });
    }
    assert.ok((await opened(await made(), PHRASE.passphrase)).includes('state/voice/big.bin'));
  });
});
