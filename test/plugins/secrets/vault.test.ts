/** The vault: what may lie in the place of its file and of its key, and what is said and done then. The file is never replaced by an empty one. */
import assert from 'node:assert/strict';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { isSecret, refused } from '../../../plugins/life/backup/places.ts';
import { formatVault, parseVault } from '../../../plugins/state/secrets/file/document.ts';
import { VaultKey } from '../../../plugins/state/secrets/file/seal.ts';
import { runs } from '../../fixtures/runs.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';
import { filled, Place, TEXT, TOKEN, told } from '../../fixtures/vault-place.ts';

after(leakCheck());

const ROOT = process.getuid?.() === 0 ? false : 'root alone gives files away';

describe('a vault', () => {
  it('keeps what it was given over a restart, sealed, in files that its own user alone reads', async () => {
    using place = await filled();
    for (const file of [place.file, place.good, place.key]) assert.equal(statSync(file).mode & 0o777, 0o600, file);
    assert.equal(statSync(place.folder).mode & 0o777, 0o700);
    const raw = readFileSync(place.file, 'utf8');
    assert.ok(!raw.includes('horse') && raw.includes(TOKEN), 'names are in clear, texts are not');
    const vault = await place.open();
    assert.equal(await vault.read(TOKEN), TEXT);
    assert.deepEqual([...vault.records.keys()], [TOKEN, 'plugin.a/other']);
    assert.match(await told(vault), /^VAULT_KEY_FILE .*systemd-creds encrypt --name=vault\.key/);
    await vault.write(TOKEN, undefined, 'operator');
    assert.equal(await vault.read(TOKEN), undefined);
    assert.equal(await (await place.open()).read(TOKEN), undefined);
  });

  it('makes no file and no key before there is a secret', async () => {
    using place = new Place();
    const vault = await place.open();
    assert.deepEqual([vault.state, await told(vault)], [{ state: 'open' }, '']);
    assert.deepEqual(readdirSync(place.root), []);
  });

  it('takes the key of systemd before that of a file, and warns of no file then', async () => {
    using place = new Place();
    const credentials = join(place.root, 'credentials');
    mkdirSync(credentials);
    writeFileSync(join(credentials, 'vault.key'), 'k'.repeat(32), { mode: 0o440 });
    const vault = await place.open(credentials);
    await vault.write(TOKEN, TEXT, 'operator');
    assert.ok(!existsSync(place.key));
    assert.equal(await told(vault), '');
    assert.equal(await (await place.open(credentials)).read(TOKEN), TEXT);
    assert.equal((await place.open()).state.code, 'VAULT_KEY_MISSING');
    mkdirSync(join(place.root, 'etc/secrets'), { recursive: true });
    copyFileSync(join(credentials, 'vault.key'), place.key);
    chmodSync(place.key, 0o600);
    assert.equal(await (await place.open()).read(TOKEN), TEXT, 'the same key, as a file');
  });

  it('is sealed anew with another key by rotate(), and a copy of the old file opens no more under new numbers', async () => {
    using place = await filled();
    const before = parseVault(readFileSync(place.file, 'utf8'), place.file);
    const vault = await place.open();
    await vault.rotate();
    const now = parseVault(readFileSync(place.file, 'utf8'), place.file);
    assert.notEqual(now.salt, before.salt);
    assert.notEqual(now.keyId, before.keyId);
    assert.equal(readFileSync(place.good, 'utf8'), readFileSync(place.file, 'utf8'));
    assert.deepEqual(
      [now.records.get(TOKEN)!.gen, now.records.get(TOKEN)!.at, now.records.get(TOKEN)!.by],
      [2, before.records.get(TOKEN)!.at, 'operator'],
    );
    assert.equal(await (await place.open()).read(TOKEN), TEXT);
    await (await new Place(mkdtempSync(join(place.root, 'x-'))).open()).rotate(); // one without secrets has nothing to seal
  });

  it('opens with its key alone, and a record under its own name and number alone', () => {
    const name = fc.constantFrom('shared/a', 'shared/b', 'plugin.a/a');
    const bytes = fc.uint8Array({ minLength: 16, maxLength: 64 });
    fc.assert(
      fc.property(
        bytes,
        bytes,
        fc.string({ unit: 'grapheme', minLength: 1 }),
        name,
        name,
        fc.nat(3),
        fc.nat(3),
        (...all) => {
          const [master, other, text, sealedFor, openedAs, gen, as] = all;
          const key = VaultKey.make(master);
          const sealed = key.seal(sealedFor, gen, text);
          const fits = sealedFor === openedAs && gen === as;
          assert.equal(key.open(openedAs, as, sealed), fits ? text : undefined);
          const again = VaultKey.of(master, key.lock);
          assert.ok(again instanceof VaultKey && again.open(sealedFor, gen, sealed) === text);
          if (Buffer.compare(master, other) !== 0) assert.equal(VaultKey.of(other, key.lock), 'other key');
          const flipped = Buffer.from(sealed, 'base64');
          flipped[gen % flipped.length]! ^= 1;
          assert.equal(key.open(sealedFor, gen, flipped.toString('base64')), undefined);
        },
      ),
      { numRuns: runs(100) },
    );
  });

  it('reads back every document that it writes, and refuses any other text', () => {
    const records = fc.array(
      fc.tuple(
        fc.constantFrom('shared/a', 'plugin.b/c.d', 'app.com.example.x/token', 'core/x'),
        fc.record({ v: fc.base64String(), at: fc.nat(), by: fc.string(), gen: fc.nat() }, { noNullPrototype: true }),
      ),
    );
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), records, fc.nat(400), (salt, keyId, check, list, cut) => {
        const document = { salt, keyId, check, records: new Map(list) as never };
        const text = formatVault(document);
        assert.deepEqual(parseVault(text, 'v'), document);
        if (cut < text.length - 2) assert.throws(() => parseVault(text.slice(0, cut), 'v'), { code: 'STATE_CORRUPT' });
      }),
      { numRuns: runs(100) },
    );
    for (const text of [
      '',
      '[]',
      'null',
      '{}',
      '{"format":1}',
      '{"format":1,"salt":"","keyId":"","check":"","records":[]}',
    ])
      assert.throws(() => parseVault(text, 'v'), { code: 'STATE_CORRUPT' }, text);
    const evil = '{"format":1,"salt":"","keyId":"","check":"","records":{"__proto__":{"v":"","at":1,"by":"","gen":1}}}';
    assert.throws(() => parseVault(evil, 'v'), { code: 'STATE_CORRUPT' });
    assert.throws(() => parseVault('{"format":2}', 'v'), { code: 'STATE_NEWER' });
  });
});

type Harm = (place: Place) => unknown;
const damaged: Harm = ({ file }) => truncateSync(file, 40);
const both =
  (harm: (file: string) => void): Harm =>
  ({ file, good }) => {
    harm(file);
    harm(good);
  };
const alien: Harm = async (place) => {
  using other = await filled();
  copyFileSync(other.file, place.file);
  copyFileSync(other.file, place.good);
};

/** What is done to a vault that is not in use; the state and code it has then, and what the reason has to say. */
const LOCKED: readonly (readonly [what: string, harm: Harm, state: string, code: string, says: RegExp, undo?: Harm])[] =
  [
    [
      'its key is gone',
      ({ key }) => renameSync(key, `${key}.x`),
      'locked',
      'VAULT_KEY_MISSING',
      /vault\.key \(chmod 600\).*mv /,
      ({ key }) => renameSync(`${key}.x`, key),
    ],
    [
      'its key is another one',
      ({ key }) => writeFileSync(key, 'x'.repeat(32)),
      'locked',
      'VAULT_KEY_WRONG',
      /bring back the former one/,
    ],
    [
      'its key may be read by others',
      ({ key }) => chmodSync(key, 0o644),
      'locked',
      'VAULT_KEY_REFUSED',
      /chmod 600 .*vault\.key/,
      ({ key }) => chmodSync(key, 0o600),
    ],
    [
      'its key is a link',
      ({ key }) => {
        renameSync(key, `${key}.x`);
        symlinkSync(`${key}.x`, key);
      },
      'locked',
      'VAULT_KEY_REFUSED',
      /is a link/,
    ],
    ['its key is too short', ({ key }) => writeFileSync(key, 'short'), 'locked', 'VAULT_KEY_REFUSED', /5 bytes/],
    [
      'its key is a folder',
      ({ key }) => {
        rmSync(key);
        mkdirSync(key);
      },
      'locked',
      'VAULT_KEY_REFUSED',
      /is no file/,
    ],
    ['it is from another device', alien, 'locked', 'VAULT_KEY_WRONG', /not the one with which/],
    [
      'it is damaged, and so is its last good copy',
      both((file) => truncateSync(file, 40)),
      'failed',
      'VAULT_DAMAGED',
      /no JSON; put a backup there/,
    ],
    [
      'it is empty, and so is its last good copy',
      both((file) => truncateSync(file, 0)),
      'failed',
      'VAULT_DAMAGED',
      /empty/,
    ],
    [
      'it is a link',
      ({ file }) => {
        renameSync(file, `${file}.x`);
        symlinkSync(`${file}.x`, file);
      },
      'failed',
      'VAULT_REFUSED',
      /is a link/,
    ],
    ['it is of a newer form', ({ file }) => writeFileSync(file, '{"format":2}\n'), 'failed', 'STATE_NEWER', /form 2/],
    [
      'only a damaged copy is left',
      ({ file, good }) => {
        rmSync(file);
        truncateSync(good, 9);
      },
      'failed',
      'VAULT_DAMAGED',
      /gone/,
    ],
  ];

describe('a vault that cannot be opened stays as it is, and is told with the remedy', () => {
  for (const [what, harm, state, code, says, undo] of LOCKED)
    it(what, async () => {
      using place = await filled();
      const vault = await place.open();
      await harm(place);
      const files = () =>
        readdirSync(place.folder).map((name) => [name, readFileSync(join(place.folder, name), 'utf8')]);
      const before = files();
      const closed = await place.open();
      assert.deepEqual([closed.state.state, closed.state.code], [state, code], closed.state.reason);
      assert.match(closed.state.reason!, says);
      for (const refused of [
        closed.read(TOKEN),
        closed.write(TOKEN, 'new', 'operator'),
        closed.write(TOKEN, undefined, 'operator'),
        closed.rotate(),
      ])
        await assert.rejects(refused, { code: 'SECRETS_LOCKED' });
      await closed.retry();
      assert.deepEqual(files(), before, 'nothing was written');
      assert.equal(await vault.read(TOKEN), TEXT, 'one that is open goes on');
      if (!undo) return;
      undo(place);
      await closed.retry();
      assert.equal(await closed.read(TOKEN), TEXT, 'and without a restart it is open again');
    });

  it('a file of another user', { skip: ROOT }, async () => {
    for (const which of ['file', 'key'] as const) {
      using place = await filled();
      chownSync(place[which], 4_711, 4_711);
      const { state } = await place.open();
      assert.deepEqual(
        [state.state, state.code],
        which === 'file' ? ['failed', 'VAULT_REFUSED'] : ['locked', 'VAULT_KEY_REFUSED'],
      );
      assert.match(state.reason!, /belongs to user 4711.*chown 0/);
    }
  });
});

const MENDED: readonly (readonly [what: string, harm: Harm, says: RegExp])[] = [
  ['truncated', damaged, /no JSON.*last good copy is used/],
  ['empty', ({ file }) => truncateSync(file, 0), /empty.*last good copy is used/],
  ['gone', ({ file }) => rmSync(file), /gone.*last good copy is used/],
  [
    'a folder',
    ({ file }) => {
      rmSync(file);
      mkdirSync(file);
    },
    /last good copy is used/,
  ],
  [
    'from another device',
    async (place) => {
      using other = await filled();
      copyFileSync(other.file, place.file);
    },
    /another key.*last good copy is used/,
  ],
  [
    'with a damaged check',
    ({ file }) => {
      const { check, ...rest } = JSON.parse(readFileSync(file, 'utf8'));
      writeFileSync(file, JSON.stringify({ ...rest, check: Buffer.alloc(48).toString('base64') }));
      void check;
    },
    /damaged.*last good copy is used/,
  ],
];

describe('a damaged file is set aside, and its last good copy used', () => {
  for (const [what, harm, says] of MENDED)
    it(what, async () => {
      using place = await filled();
      await harm(place);
      const vault = await place.open();
      assert.deepEqual(vault.state, { state: 'open' });
      assert.equal(await vault.read(TOKEN), TEXT);
      assert.match(await told(vault), says);
      await vault.write(TOKEN, 'newer', 'operator');
      const again = await place.open();
      assert.equal(await again.read(TOKEN), 'newer');
      assert.doesNotMatch(await told(again), /STATE_CORRUPT/);
    });

  it('a record that was moved to another name is not read there; that of the good copy is', async () => {
    using place = await filled();
    const move = (file: string) => {
      const found = JSON.parse(readFileSync(file, 'utf8'));
      found.records['plugin.a/other'] = found.records[TOKEN];
      writeFileSync(file, JSON.stringify(found));
    };
    move(place.file);
    const vault = await place.open();
    assert.equal(await vault.read('plugin.a/other'), 'another text');
    assert.match(await told(vault), /STATE_CORRUPT .*plugin\.a\/other is damaged/);
    move(place.good);
    await assert.rejects((await place.open()).read('plugin.a/other'), (error: Error & { code?: string }) => {
      assert.equal(error.code, 'STATE_CORRUPT');
      assert.match(error.message, /devicectl secret set other --scope plugin\.a/);
      assert.ok(!error.message.includes('horse'));
      return true;
    });
    assert.equal(await vault.read(TOKEN), TEXT);
    await assert.rejects((await place.open()).rotate(), { code: 'STATE_CORRUPT' });
  });

  it('a good copy of a damaged record outlives changes of other secrets', async () => {
    using place = await filled();
    const found = JSON.parse(readFileSync(place.file, 'utf8'));
    found.records[TOKEN].v = Buffer.alloc(60).toString('base64');
    writeFileSync(place.file, JSON.stringify(found));
    const vault = await place.open();
    await vault.write('plugin.a/other', 'newer', 'plugin.a');
    await vault.write('plugin.a/third', 'another', 'plugin.a');
    assert.equal(await vault.read(TOKEN), TEXT);
    assert.match(await told(vault), /STATE_CORRUPT .*cloud\.token was damaged; its last good copy was put back/);
    for (const file of [place.file, place.good]) {
      if (file === place.good) rmSync(place.file);
      const again = await place.open();
      assert.deepEqual([await again.read(TOKEN), await again.read('plugin.a/other')], [TEXT, 'newer'], file);
    }
  });

  it('a vault that is put in place after the start is not written over by the first secret', async () => {
    using backup = await filled();
    for (const which of ['file', 'good'] as const) {
      using place = new Place();
      const vault = await place.open();
      mkdirSync(place.folder, { recursive: true });
      mkdirSync(join(place.root, 'etc/secrets'), { recursive: true });
      copyFileSync(backup.key, place.key);
      copyFileSync(backup[which], place[which]);
      await vault.write('shared/new', 'a new text', 'operator');
      const again = await place.open();
      assert.deepEqual([await again.read(TOKEN), await again.read('shared/new')], [TEXT, 'a new text'], which);
    }
    using locked = new Place();
    const vault = await locked.open();
    mkdirSync(locked.folder, { recursive: true });
    copyFileSync(backup.file, locked.file);
    await assert.rejects(vault.write('shared/new', 'a new text', 'operator'), { code: 'SECRETS_LOCKED' });
    assert.equal(readFileSync(locked.file, 'utf8'), readFileSync(backup.file, 'utf8'));
  });

  it('the text of a deleted secret does not open in the place of a later one of the same name', async () => {
    using place = await filled();
    const sealed = () => JSON.parse(readFileSync(place.file, 'utf8'));
    const { v: old } = sealed().records['plugin.a/other'];
    const vault = await place.open();
    await vault.write('plugin.a/other', undefined, 'plugin.a');
    const again = await place.open();
    for (let count = 0; count < 3; count++) await again.write('plugin.a/other', `newer ${count}`, 'plugin.a');
    for (let gen = 2; gen <= 6; gen++) {
      await again.write('plugin.a/other', undefined, 'plugin.a');
      await again.write('plugin.a/other', 'newer', 'plugin.a');
      const { gen: now } = sealed().records['plugin.a/other'];
      assert.ok(now > gen, 'no number is given twice');
    }
    const found = sealed();
    found.records['plugin.a/other'].v = old;
    for (const file of [place.file, place.good]) writeFileSync(file, JSON.stringify(found));
    await assert.rejects((await place.open()).read('plugin.a/other'), { code: 'STATE_CORRUPT' });
    const { gen: _gen, ...earlier } = sealed();
    writeFileSync(place.file, JSON.stringify(earlier));
    assert.equal(await (await place.open()).read(TOKEN), TEXT, 'a vault of a Core without the counter');
  });

  it('permissions that are too wide are taken back', async () => {
    using place = await filled();
    chmodSync(place.file, 0o644);
    chmodSync(place.folder, 0o755);
    assert.equal(await (await place.open()).read(TOKEN), TEXT);
    assert.deepEqual([statSync(place.file).mode & 0o777, statSync(place.folder).mode & 0o777], [0o600, 0o700]);
  });
});

it('a backup takes the vault, with its passphrase, and never the key, which is no state', () => {
  for (const file of ['secrets/vault.json', 'secrets/vault.json.last-good'])
    assert.deepEqual([isSecret(file), refused(file)], [true, undefined]);
  using place = new Place();
  assert.ok(!place.key.startsWith(join(place.root, 'var')));
});

describe('a disk', { skip: NO_DISK }, () => {
  it('that is full or read-only refuses a change, and keeps what was there', async () => {
    using disk = new SmallDisk(512);
    const place = new Place(disk.path);
    const vault = await place.open();
    await vault.write(TOKEN, TEXT, 'operator');
    const before = readFileSync(place.file, 'utf8');
    disk.fill();
    await assert.rejects(vault.write(TOKEN, 'newer', 'operator'), { code: 'STORAGE_FULL' });
    assert.equal(await vault.read(TOKEN), TEXT);
    assert.match(await told(vault), /secrets-file\.vault error STORAGE_FULL secrets cannot be changed/);
    assert.equal(readFileSync(place.file, 'utf8'), before);
    disk.free();
    assert.doesNotMatch(await told(vault), /STORAGE/, 'it is asked again whether it takes a change');
    await disk.readOnly(true);
    await assert.rejects(vault.write(TOKEN, 'newer', 'operator'), { code: 'STORAGE_READ_ONLY' });
    const other = await place.open();
    assert.equal(await other.read(TOKEN), TEXT);
    await disk.readOnly(false);
    await vault.write(TOKEN, 'newer', 'operator');
    assert.equal(await (await place.open()).read(TOKEN), 'newer');
  });

  it('that cannot take the first key leaves no vault without one', async () => {
    using disk = new SmallDisk(64);
    const place = new Place(disk.path);
    const vault = await place.open();
    await disk.readOnly(true);
    await assert.rejects(vault.write(TOKEN, TEXT, 'operator'), { code: 'SECRETS_LOCKED', message: /none can be made/ });
    await disk.readOnly(false);
    await vault.write(TOKEN, TEXT, 'operator');
    assert.equal(await (await place.open()).read(TOKEN), TEXT);
  });
});
