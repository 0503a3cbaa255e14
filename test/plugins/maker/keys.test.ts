import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, suite, test } from 'node:test';
import { type Image, type ImageKeys, imageHash, verifyImage } from '@device-core/plugin-api/inside/image';
import { devicectl, devicectlProcess } from '../cli/run-devicectl.ts';

const IMAGE: Image = {
  image: 1,
  sku: 'kiosk',
  version: '1.0.0',
  platform: { os: 'linux', arch: 'x64', libc: 'glibc' },
  builtAt: 1_800_000_000,
  plugins: {},
  minLoader: 1,
  state: {},
  severity: 'normal',
  files: [{ path: 'kernel/start.js', mode: 0o644, size: 1, sha256: 'a'.repeat(64) }],
};

suite('keys of a product', () => {
  let place: string;
  let keys: string;
  let words: string;

  before(async () => {
    place = await mkdtemp(join(tmpdir(), 'dc-keys-'));
    keys = join(place, 'keys');
    words = join(place, 'words');
    await writeFile(words, 'correct horse battery\n', { mode: 0o600 });
  });
  after(() => rm(place, { recursive: true, force: true }));

  const fine = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await devicectl(args);
    assert.equal(code, 0, stderr);
    return stdout;
  };
  const refused = async (pattern: RegExp, ...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await devicectl(args);
    assert.notEqual(code, 0, `${args.join(' ')} was done`);
    assert.match(stderr, pattern);
  };
  const image = async (name: string): Promise<{ folder: string; hash: string }> => {
    const folder = join(place, name);
    await mkdir(folder);
    const list = Buffer.from(JSON.stringify(IMAGE));
    await writeFile(join(folder, 'image.json'), list);
    return { folder, hash: imageHash(list) };
  };

  test('two keys sign one image, and a device that trusts both takes it', async () => {
    await fine('keys', 'new', keys, 'image-1', 'image-2', '--passphrase-file', words, '--not-after', '2039-12-31');
    const { folder, hash } = await image('signed');
    for (const name of ['image-1', 'image-2', 'image-1'])
      await fine('keys', 'sign', folder, '--key', join(keys, name), '--passphrase-file', words);
    const file = join(place, 'keys.json');
    await fine('keys', 'export', join(keys, 'image-1'), join(keys, 'image-2'), '--threshold', '2', '--out', file);
    const trusted = JSON.parse(await readFile(file, 'utf8')) as ImageKeys;
    const signatures = await readFile(join(folder, 'image.sig'), 'utf8');
    assert.equal(verifyImage(hash, signatures, trusted, 1_800_000_000).length, 2);
    assert.equal(signatures.trim().split('\n').length, 2, 'who signs again replaces his line');
    assert.throws(() => verifyImage(hash, signatures, trusted, Date.parse('2040-01-01') / 1000), /has ended/);
  });

  test('a passphrase comes from standard input, too: its first line, as of a file', async () => {
    const { code, stderr } = await devicectlProcess(
      ['keys', 'new', keys, 'piped-1', 'piped-2', '--passphrase-file', '-'],
      'correct horse battery\r\nwhat is noted below\n',
    );
    assert.equal(code, 0, stderr);
    const { folder } = await image('piped');
    for (const name of ['piped-1', 'piped-2'])
      await fine('keys', 'sign', folder, '--key', join(keys, name), '--passphrase-file', words);
    const empty = await devicectlProcess(['keys', 'new', keys, 'empty', '--passphrase-file', '-'], '\n');
    assert.match(empty.stderr, /USAGE: standard input holds no passphrase in its first line/);
  });

  test('a private key is sealed, for its owner alone, and listed with when it ends', async () => {
    assert.equal((await stat(join(keys, 'image-1.key'))).mode & 0o777, 0o600);
    assert.match(await readFile(join(keys, 'image-1.key'), 'utf8'), /^-----BEGIN ENCRYPTED PRIVATE KEY-----/);
    assert.match(await fine('keys', 'list', keys), /image-1 +yes +2039-12-31 +sha256:[0-9a-f]{64}/);
  });

  test('a command signs in the place of a file: message on its standard input, signature on its output', async () => {
    await fine('keys', 'new', keys, 'plain', '--unprotected');
    const program = join(place, 'token.mjs');
    await writeFile(
      program,
      `import { readFileSync } from 'node:fs'; import { sign } from 'node:crypto';
       const made = sign(null, readFileSync(0), readFileSync(process.argv[2]));
       process.stdout.write(process.argv[3] === 'base64' ? made.toString('base64') : made);`,
    );
    const { key } = JSON.parse(await readFile(join(keys, 'plain.pub'), 'utf8'));
    await writeFile(join(place, 'plain.pem'), key);
    for (const form of ['raw', 'base64']) {
      const command = `${process.execPath} ${program} ${join(keys, 'plain.key')} ${form}`;
      const name = `token-${form}`;
      await fine('keys', 'new', keys, name, '--signer', command, '--public', join(place, 'plain.pem'));
      const { folder, hash } = await image(name);
      await fine('keys', 'sign', folder, '--key', join(keys, name));
      const signatures = await readFile(join(folder, 'image.sig'), 'utf8');
      assert.equal(verifyImage(hash, signatures, { keys: [{ key }], threshold: 1 }, 0).length, 1);
    }
  });

  test('a signer that has another key, fails or answers nonsense is found before anything is written', async () => {
    const { folder } = await image('nonsense');
    const key = join(keys, 'image-1');
    for (const [command, reason] of [
      ['echo nonsense', /what signed is not the key image-1/],
      ['head -c 64 /dev/zero', /what signed is not the key image-1/],
      ['echo no card >&2; exit 3', /the signer ended with 3: no card/],
    ] as const)
      await refused(reason, 'keys', 'sign', folder, '--key', key, '--signer', command);
    await assert.rejects(stat(join(folder, 'image.sig')), { code: 'ENOENT' });
  });

  test('a fault of a key or an order is said, and nothing is overwritten', async () => {
    const tree = join(place, 'tree');
    await mkdir(join(tree, '.git'), { recursive: true });
    await symlink(tree, join(place, 'link'));
    const short = join(place, 'short');
    await writeFile(short, 'short\n', { mode: 0o600 });
    const other = join(place, 'other');
    await writeFile(other, 'another passphrase\n', { mode: 0o600 });
    const readable = join(place, 'readable');
    await writeFile(readable, 'a long passphrase\n', { mode: 0o640 });
    const { folder } = await image('unsigned');
    await fine('keys', 'new', keys, 'ended', '--unprotected', '--not-after', '2020-01-01');
    await fine('keys', 'new', keys, 'open', '--unprotected');
    await chmod(join(keys, 'open.key'), 0o644);
    await fine('keys', 'new', keys, 'swapped', '--unprotected');
    await writeFile(join(keys, 'swapped.key'), await readFile(join(keys, 'plain.key')));
    const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 }).publicKey.export({ format: 'pem', type: 'spki' });
    await writeFile(join(keys, 'rsa.pub'), JSON.stringify({ key: rsa }));
    const before = await readFile(join(keys, 'image-1.key'));
    const sign = (name: string, ...more: string[]) => ['keys', 'sign', folder, '--key', join(keys, name), ...more];
    const table: readonly (readonly [RegExp, readonly string[]])[] = [
      [/is there already; a key is never overwritten/, ['keys', 'new', keys, 'image-1', '--unprotected']],
      [/lies in the git tree/, ['keys', 'new', join(tree, 'deep', 'keys'), 'a', '--unprotected']],
      [/lies in the git tree/, ['keys', 'new', join(place, 'link', 'keys'), 'a', '--unprotected']],
      [/12 characters at least/, ['keys', 'new', keys, 'a', '--passphrase-file', short]],
      [/others may read .*readable\n {2}chmod 600 /, ['keys', 'new', keys, 'a', '--passphrase-file', readable]],
      [/no terminal to ask/, ['keys', 'new', keys, 'a']],
      [/the name of a key is/, ['keys', 'new', keys, '../a', '--unprotected']],
      [/is no day like/, ['keys', 'new', keys, 'a', '--unprotected', '--not-after', 'soon']],
      [/one name and its public key/, ['keys', 'new', keys, 'a', '--signer', 'true']],
      [/the passphrase is of another key/, sign('image-1', '--passphrase-file', other)],
      [/ended on 2020-01-01/, sign('ended')],
      [/others may read/, sign('open')],
      [/are of two keys/, sign('swapped')],
      [/cannot read the key .*absent\.pub/, sign('absent')],
      [/is for rsa, not Ed25519/, sign('rsa')],
      [/can never sign/, ['keys', 'export', join(keys, 'plain'), join(keys, 'token-raw'), '--threshold', '2']],
    ];
    for (const [reason, args] of table) await refused(reason, ...args);
    await rm(join(keys, 'rsa.pub'));
    assert.deepEqual(await readFile(join(keys, 'image-1.key')), before);
    await writeFile(join(folder, 'image.json'), '{"image": 2}');
    await refused(/SYSTEM_IMAGE_INVALID: .*form 2/, ...sign('plain'));
  });
});
