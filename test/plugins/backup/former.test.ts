/** Backups of form 1, made before a backup was a plain tar, are still taken. The files were written by such a Core. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { finishPending } from '@device-core/plugin-api/inside/pending-state';
import { leakCheck } from '@device-core/plugin-api/testing';
import { start } from './device.ts';
import { filesOf } from './state.ts';

after(leakCheck());

const PHRASE = { passphrase: 'long enough' };
const OPEN = {
  'apps/com.example.tea/data/cups.json': '{"cups": 3}',
  'apps/com.example.tea/data/deep/empty': '',
  'voice/big.bin': 'x'.repeat(700),
};
const SEALED = { ...OPEN, 'config.yaml': 'format: 1\nkey: sk-do-not-tell\n', 'secrets/vault.json': '{"format":1}\n' };
const archive = (name: string): Buffer =>
  readFileSync(join(import.meta.dirname, `../../fixtures/backups/form-1-${name}.dcb`));

describe('a backup of form 1', { timeout: 300_000 }, () => {
  for (const [name, params, files] of [
    ['open', {}, OPEN],
    ['sealed', PHRASE, SEALED],
  ] as const)
    it(`that is ${name} is put back`, async () => {
      await using one = await start();
      const answer = await one.restore(archive(name), params);
      assert.partialDeepStrictEqual(answer as object, { files: Object.keys(files).length, restarts: true });
      const { secretsLeft } = answer as { readonly secretsLeft?: string };
      assert.equal(/only the device that made/.test(secretsLeft ?? ''), name === 'sealed');
      finishPending(one.state);
      assert.deepEqual(filesOf(one.state), files);
    });

  const edit = (bytes: Buffer, from: string | RegExp, to: string): Buffer =>
    Buffer.from(bytes.toString('latin1').replace(from, to), 'latin1');
  const BAD: readonly (readonly [title: string, bytes: Buffer, params: object, reason: RegExp])[] = [
    ['half of it', archive('open').subarray(0, 700), {}, /ends in the middle/],
    ['more behind its end', Buffer.concat([archive('open'), Buffer.from('x')]), {}, /behind its end/],
    ['a changed byte', edit(archive('open'), '"cups": 3', '"cups": 4'), {}, /other files/],
    ['a changed space', edit(archive('open'), '"mode":', '"mode":  '), {}, /it was changed/],
    ['a path that leads up', edit(archive('open'), '"voice/big.bin"', '"../../etc/xyz"'), {}, /leads elsewhere/],
    ['a form that was never made', edit(archive('open'), '"format":1', '"format":2'), {}, /begins as one of form 1/],
    ['a passphrase for one that has none', archive('open'), PHRASE, /was not sealed/],
    ['no passphrase', archive('sealed'), {}, /needs its passphrase/],
    ['another passphrase', archive('sealed'), { passphrase: 'wrong' }, /passphrase is another/],
    ['a changed mode', edit(archive('sealed'), /"mode":\d/, '"mode":1'), PHRASE, /or it was changed/],
    ['a changed moment', edit(archive('sealed'), /"made":\d/, '"made":9'), PHRASE, /it was changed/],
    ['a file without its seal', edit(archive('sealed'), ',"sealed":true', ''), PHRASE, /it is not sealed/],
  ];
  for (const [title, bytes, params, reason] of BAD)
    it(`is refused with ${title}`, async () => {
      await using one = await start();
      await assert.rejects(one.restore(bytes, params), { code: 'BACKUP_INVALID', message: reason });
    });
});
