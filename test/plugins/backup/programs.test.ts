/** `devicectl backup`, `restore` and `system reset`: what they ask and refuse before the device hears of it. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { EXIT, type Program, type ProgramClient, type ProgramContext } from '@device-core/plugin-api/program';
import { program as backup } from '../../../plugins/life/backup/program/backup.ts';
import { program as reset } from '../../../plugins/life/backup/program/reset.ts';
import { program as restore } from '../../../plugins/life/backup/program/restore.ts';

const folder = mkdtempSync(join(tmpdir(), 'dc-backup-programs-'));
after(() => rmSync(folder, { recursive: true }));
const there = join(folder, 'there.dcb');
writeFileSync(there, 'old');

/** Runs a program at no terminal; resolves with what the device was sent. `fails`: it makes no backup. */
async function run<A>(program: Program<A>, args: A, fails = false) {
  const sent: string[] = [];
  const bodies: unknown[] = [];
  const client = {
    get: async () => ({ body: { bytes: Buffer.from('new').toString('base64'), end: true }, text: '' }),
    post: async (path: string, body: unknown) => {
      sent.push(path);
      bodies.push(body);
      if (fails) throw new Error('no backup');
      return { body: { backup: 'x', bytes: 3, files: 1, left: [], restarts: true }, text: '' };
    },
    upload: async (path: string) => {
      sent.push(path);
      return { body: { upload: 'x' }, text: '' };
    },
  } as unknown as ProgramClient;
  const lines: string[] = [];
  const out = { json: false, terminal: false, line: async (text: string) => void lines.push(text) };
  const context = { args, client, out, signal: new AbortController().signal } as unknown as ProgramContext<A>;
  const failure = await Promise.resolve(program.run(context)).then(
    () => undefined,
    (error: unknown) => error as { code?: string; exit?: number; message: string; hint?: string },
  );
  return { sent, bodies, failure, lines };
}

describe('devicectl backup', () => {
  for (const [what, file, says] of [
    ['a folder that is not there', join(folder, 'absent/x.dcb'), /^cannot write in .*ENOENT$/],
    ['a folder', folder, /is a folder$/],
    ['a file that is there', there, /is there already$/],
  ] as const)
    it(`to ${what} is refused before the device makes anything`, async () => {
      const { sent, failure } = await run(backup, { file });
      assert.deepEqual([sent, failure?.code, failure?.exit], [[], 'USAGE', EXIT.usage]);
      assert.match(failure!.message, says);
      assert.equal(readFileSync(there, 'utf8'), 'old');
    });

  it('replaces a file with --force, and leaves it as it was when the device makes none', async () => {
    const failed = await run(backup, { file: there, force: true }, true);
    assert.equal(failed.failure?.message, 'no backup');
    assert.equal(readFileSync(there, 'utf8'), 'old');
    assert.deepEqual(
      readdirSync(folder).filter((name) => name.includes('.dcb')),
      ['there.dcb'],
    );
    const { failure } = await run(backup, { file: join(folder, 'new.dcb') });
    assert.equal(failure, undefined);
    assert.equal(readFileSync(join(folder, 'new.dcb'), 'utf8'), 'new');
    await run(backup, { file: there, force: true });
    assert.equal(readFileSync(there, 'utf8'), 'new');
    assert.ok(!existsSync(`${there}.part`));
  });
});

describe('the passphrase of a backup', () => {
  const file = (name: string, text: string, mode = 0o600) => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode });
    return path;
  };
  const good = file('words', 'a long passphrase\r\nwhat is noted below\n');
  const CASES: readonly (readonly [string, { passphrase?: string; passphraseFile?: string }, unknown])[] = [
    ['none at all', {}, {}],
    ['empty standard input', { passphrase: '' }, {}],
    ['standard input', { passphrase: 'a long passphrase\n' }, { passphrase: 'a long passphrase' }],
    ['a file', { passphraseFile: good }, { passphrase: 'a long passphrase' }],
    [
      'a file, and nothing on standard input',
      { passphrase: '', passphraseFile: good },
      { passphrase: 'a long passphrase' },
    ],
    ['- for standard input', { passphrase: 'x y', passphraseFile: '-' }, { passphrase: 'x y' }],
    ['- without standard input', { passphraseFile: '-' }, /standard input holds no passphrase/],
    ['a file and standard input', { passphrase: 'x', passphraseFile: good }, /and another one from --passphrase-file/],
    ['a file that others may read', { passphraseFile: file('open', 'secret\n', 0o644) }, /others may read/],
    ['an empty first line', { passphraseFile: file('blank', '\nsecret\n') }, /holds no passphrase in its first line/],
    ['no file', { passphraseFile: join(folder, 'absent') }, /cannot read the passphrase: ENOENT/],
    ['a folder', { passphraseFile: folder }, /cannot read the passphrase: EISDIR/],
  ];
  for (const [what, args, expected] of CASES)
    it(`comes from ${what}, as that of its restoration`, async () => {
      for (const call of [
        () => run(backup, { file: join(folder, 'sealed.dcb'), force: true, ...args }),
        () => run(restore, { file: there, yes: true, ...args }),
      ]) {
        const { sent, bodies, failure } = await call();
        if (expected instanceof RegExp) {
          assert.match(String(failure?.message), expected);
          assert.deepEqual([sent, failure?.code, failure?.exit], [[], 'USAGE', EXIT.usage]);
        } else {
          const { upload: _, ...body } = bodies.at(-1) as { readonly upload?: string };
          assert.deepEqual([body, failure], [expected, undefined]);
        }
      }
    });

  it('is one line for a new backup, and as it came for one that is there', async () => {
    const passphrase = 'two\nlines\n';
    const refused = await run(backup, { file: join(folder, 'lines.dcb'), passphrase });
    assert.deepEqual([refused.sent, refused.failure?.code], [[], 'USAGE']);
    const { bodies } = await run(restore, { file: there, yes: true, passphrase });
    assert.deepEqual(bodies.at(-1), { upload: 'x', passphrase: 'two\nlines' });
  });
});

describe('commands that take the state away', () => {
  for (const [name, call, sends] of [
    ['system reset', (yes: boolean) => run(reset, { yes }), ['/system/reset']],
    ['restore', (yes: boolean) => run(restore, { file: there, yes }), ['/system/restore/uploads', '/system/restore']],
  ] as const)
    it(`devicectl ${name} wants --yes where a person cannot be asked`, async () => {
      const { sent, failure } = await call(false);
      assert.deepEqual([sent, failure?.code, failure?.hint], [[], 'USAGE', 'if it is meant, say --yes']);
      const meant = await call(true);
      assert.deepEqual([meant.sent, meant.failure], [sends, undefined]);
    });

  it('devicectl restore says before and after that a backup without a passphrase brings no settings and no secrets', async () => {
    const says =
      /made without a passphrase, it holds no settings, no secrets and no list of installed plugins: those of the device go$/;
    for (const [head, unsealed] of [
      ['device-core backup\n{"format":1}\n', true],
      ['device-core backup\n{"format":1,"salt":"AA=="}\n', false],
      ['device-core backup\n{"format":1\n', false],
      [`backup.json\0${'\0'.repeat(600)}`, true],
      ['age-encryption.org/v1\n-> scrypt', false],
      ['a photograph', false],
    ] as const) {
      const file = join(folder, 'headed.dcb');
      writeFileSync(file, head);
      const { failure } = await run(restore, { file });
      assert.equal(says.test(failure!.message), unsealed, head);
      const { lines } = await run(restore, { file, yes: true });
      assert.equal(says.test(lines.at(-1)!), unsealed, head);
    }
  });
});
