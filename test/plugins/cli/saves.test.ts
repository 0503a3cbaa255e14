import assert from 'node:assert/strict';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as later } from 'node:timers/promises';
import { Saves, savedNames } from '../../../plugins/interface/cli/desk/saves.ts';

const base = fs.mkdtempSync(join(tmpdir(), 'sv-'));
after(() => fs.rmSync(base, { recursive: true, force: true }));
let count = 0;
const SAVE_MS = 10_000;

function newFolder(): string {
  const folder = join(base, `app-${count++}`);
  fs.mkdirSync(join(folder, 'lib'), { recursive: true });
  fs.writeFileSync(join(folder, 'main.py'), 'first');
  fs.writeFileSync(join(folder, 'v1.py'), 'one');
  fs.writeFileSync(join(folder, 'v2.py'), 'two');
  fs.symlinkSync('v1.py', join(folder, 'link.py'));
  return folder;
}

type Way = (file: string, text: string, round: number) => void | Promise<void>;

const WAYS: Readonly<Record<string, Way>> = {
  'a write in place': (file, text) => fs.writeFileSync(file, text),
  'a truncation, and the text a moment later': async (file, text) => {
    fs.truncateSync(file);
    await later(30);
    fs.appendFileSync(file, text);
  },
  'the renames of vim': (file, text) => {
    fs.renameSync(file, `${file}~`);
    fs.writeFileSync(file, text);
    fs.rmSync(`${file}~`);
  },
  'a temporary file that replaces it': (file, text) => {
    fs.writeFileSync(join(file, '../sedA1b2'), text);
    fs.renameSync(join(file, '../sedA1b2'), file);
  },
  'a removal and a new file': (file, text) => {
    fs.rmSync(file);
    fs.writeFileSync(file, text);
  },
  'a hard link as the copy, unlink and a new file': (file, text) => {
    fs.linkSync(file, `${file}.bak`);
    fs.unlinkSync(file);
    fs.writeFileSync(file, text);
    fs.unlinkSync(`${file}.bak`);
  },
  'a link that points elsewhere': (file, _text, round) => {
    fs.symlinkSync(`v${1 + (round % 2)}.py`, `${file}.new`);
    fs.renameSync(`${file}.new`, file);
  },
  'a text of the same length with an older time': (file, _text, round) => {
    fs.writeFileSync(file, `text ${round}`);
    fs.utimesSync(file, 1_000, 1_000);
  },
};

async function next(saves: Saves): Promise<readonly string[] | undefined> {
  return saves.next(AbortSignal.timeout(SAVE_MS));
}

for (const [title, way] of Object.entries(WAYS))
  test(`four of four saves are told: ${title}`, async () => {
    const folder = newFolder();
    using saves = new Saves(folder);
    const name = title.startsWith('a link') ? 'link.py' : 'main.py';
    for (let round = 1; round <= 4; round += 1) {
      await way(join(folder, name), `text of save ${'x'.repeat(round)}`, round);
      assert.deepEqual(await next(saves), [name], `save ${round}`);
    }
  });

test('a burst over many files is one save with all names', async () => {
  const folder = newFolder();
  using saves = new Saves(folder);
  for (let at = 0; at < 200; at += 1) fs.writeFileSync(join(folder, `lib/m${at}.py`), 'x');
  const names = (await next(saves)) ?? [];
  assert.equal(names.length, 200);
  assert.equal(savedNames(names), 'lib/m0.py lib/m1.py lib/m10.py lib/m100.py and 196 more');
  assert.equal(savedNames(['a', 'b']), 'a b');
});

test('folders come and go, and the files in them are heard', async () => {
  const folder = newFolder();
  using saves = new Saves(folder);
  for (let round = 1; round <= 4; round += 1) {
    fs.mkdirSync(join(folder, 'deep/er'), { recursive: true });
    fs.writeFileSync(join(folder, 'deep/er/one.py'), `${round}`);
    assert.deepEqual(await next(saves), ['deep/er/one.py']);
    fs.rmSync(join(folder, 'deep'), { recursive: true });
    assert.deepEqual(await next(saves), ['deep/er/one.py']);
  }
});

test('the whole folder is replaced, and heard again', async () => {
  const folder = newFolder();
  using saves = new Saves(folder);
  for (let round = 1; round <= 2; round += 1) {
    fs.cpSync(folder, `${folder}.new`, { recursive: true, verbatimSymlinks: true });
    fs.writeFileSync(join(`${folder}.new`, 'main.py'), `round ${round}`);
    fs.rmSync(folder, { recursive: true });
    fs.renameSync(`${folder}.new`, folder);
    assert.ok((await next(saves))?.includes('main.py'));
  }
});

test('a save without any event is found by the clock', async () => {
  const folder = newFolder();
  using saves = new Saves(folder);
  // A second name of the same file, outside of what is watched: its folder hears nothing, as with a file system of another machine.
  fs.linkSync(join(folder, 'main.py'), join(base, 'outside.py'));
  await next(saves); // the number of its links is a change
  const other = newFolder();
  fs.rmSync(other, { recursive: true });
  fs.symlinkSync(folder, other);
  using linked = new Saves(other);
  const replaced = newFolder();
  fs.writeFileSync(join(replaced, 'main.py'), 'of the other folder');
  fs.rmSync(other);
  fs.symlinkSync(replaced, other);
  assert.ok((await next(linked))?.includes('main.py'));
});

test('files that no program reads, and files that are gone again, are no save', async () => {
  const folder = newFolder();
  fs.mkdirSync(join(folder, '__pycache__'));
  using saves = new Saves(folder);
  for (const name of ['__pycache__/x.pyc', '.main.py.swp', 'main.py~', 'old.app', 'gone.tmp'])
    fs.writeFileSync(join(folder, name), '');
  fs.rmSync(join(folder, 'gone.tmp'));
  await later(150);
  fs.appendFileSync(join(folder, 'main.py'), '# one more');
  assert.deepEqual(await next(saves), ['main.py']);
});

test('an abort ends the wait', async () => {
  using saves = new Saves(newFolder());
  assert.equal(await saves.next(AbortSignal.abort()), undefined);
  assert.equal(await saves.next(AbortSignal.timeout(50)), undefined);
});
