import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { AppLog } from '../../../plugins/apps/apps/app-log.ts';

const folder = mkdtempSync(join(tmpdir(), 'al-'));
after(() => rmSync(folder, { recursive: true }));
after(leakCheck());

async function written(pieces: readonly string[], secrets: readonly string[] = []) {
  const file = join(folder, `${Math.random()}.log`);
  const log = new AppLog(file, 1 << 20, (thrown) => assert.fail(String(thrown)));
  for (const secret of secrets) log.conceal(secret);
  await log.follow(
    (async function* () {
      yield* pieces;
    })(),
  );
  return { text: readFileSync(file, 'utf8'), tail: log.tail(10) };
}

describe('the log of an app', () => {
  it('holds what it printed, in pieces as they come', async () => {
    const { text, tail } = await written(['one\ntw', 'o\nthree']);
    assert.equal(text, 'one\ntwo\nthree');
    assert.deepEqual(tail, ['one', 'two', 'three']);
  });

  const SECRETS: readonly (readonly [string, readonly string[]])[] = [
    ['a password', ['connecting with password=hunter2-hunter2\n']],
    ['a password in two pieces', ['connecting with pass', 'word=hunter2', '-hunter2\n']],
    ['a password in an address', ['mqtt://me:hunter2-hunter2@host/\n']],
    ['a password in JSON', ['{"password":"hunter2-hunter2"}\n']],
    ['the token of the launch', ['my token: hunter2-hunter2\n', 'x hunter2-', 'hunter2 y']],
  ];
  for (const [what, pieces] of SECRETS)
    it(`never shows ${what}`, async () => {
      const { text, tail } = await written(pieces, ['hunter2-hunter2']);
      assert.ok(!text.includes('hunter2'), text);
      assert.ok(!tail.join().includes('hunter2'), tail.join());
      assert.match(text, /\[redacted\]/);
    });

  it('writes a line without an end in pieces, and loses nothing of it', async () => {
    const { text } = await written(Array.from({ length: 30 }, () => 'x'.repeat(1_000)));
    assert.equal(text.length, 30_000);
  });
});
