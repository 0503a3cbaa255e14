import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { zstdCompressSync } from 'node:zlib';
import { secretScan } from '@device-core/plugin-api/inside/services/secret-scan';
import { leakCheck } from '@device-core/plugin-api/testing';
import { codeOf } from '../../fixtures/operation-calls.ts';
import { type Fixture, line, startLogs } from './fixture.ts';

after(leakCheck());

async function whole(logs: Fixture, name: string): Promise<string> {
  let text = '';
  for (let offset = 0, end = false; !end; ) {
    const piece = (await logs.table.run('logs.file', { name, offset })) as { text: string; next: number; end: boolean };
    assert.ok(piece.end || piece.next > offset, 'it goes on');
    text += piece.text;
    ({ next: offset, end } = piece);
  }
  return text;
}

describe('files of the log', () => {
  it('are read piece by piece, packed or not, in whole lines, with secrets hidden', async () => {
    await using logs = await startLogs();
    const many = Array.from({ length: 12_000 }, (_, n) => line(n, `line ${n}`.padEnd(60)));
    const text = many.map((one) => `${JSON.stringify(one)}\n`).join('');
    logs.write('core.log', ...many);
    writeFileSync(logs.core.replace('.log', '.3.zst'), zstdCompressSync(Buffer.from(text)));
    logs.write('apps/tea.log', 'Bearer abcdefghijkl', { token: 'hunter2-hunter2' });
    assert.equal(await whole(logs, 'core.log'), text);
    assert.equal(await whole(logs, 'core.3.zst'), text);
    assert.equal(await whole(logs, 'apps/tea.log'), 'Bearer [redacted]\n{"token":"[redacted]"}\n');
  });

  it('are those of the log alone', async () => {
    await using logs = await startLogs();
    logs.write('core.log', line(1, 'x'));
    const folder = dirname(logs.core);
    mkdirSync(join(folder, 'flight'), { recursive: true });
    for (const name of ['secret.txt', '.core.log', 'flight/1800000000000-spi.jsonl', 'flight/other.json'])
      writeFileSync(join(folder, name), 'x');
    symlinkSync('/etc/passwd', join(folder, 'passwd.log'));
    const { files } = (await logs.table.run('logs.files', {})) as { files: { name: string }[] };
    assert.deepEqual(files.map(({ name }) => name).sort(), ['core.log', 'flight/1800000000000-spi.jsonl']);
    for (const name of ['../config.yaml', '/etc/passwd', 'passwd.log', 'secret.txt', 'core.log/..', ''])
      assert.equal(await codeOf(logs.table.run('logs.file', { name })), 'PARAMS_INVALID', name);
  });

  it('go once more through the scan for secrets, if there is a vault', async () => {
    await using logs = await startLogs();
    logs.write('core.log', line(1, 'it is kept-by-a-vault'));
    assert.match(await whole(logs, 'core.log'), /kept-by-a-vault/);
    const hide = async (texts: readonly string[]) => texts.map((one) => one.replaceAll('kept-by-a-vault', '[secret]'));
    await logs.host.appear(secretScan, { hide });
    assert.equal(JSON.parse(await whole(logs, 'core.log')).msg, 'it is [secret]');
  });

  it('end where they are cut or damaged', async () => {
    await using logs = await startLogs();
    mkdirSync(dirname(logs.core), { recursive: true });
    writeFileSync(logs.core.replace('.log', '.1.zst'), 'no zstd at all');
    writeFileSync(logs.core, '{"level":30,"ti');
    assert.equal(await whole(logs, 'core.1.zst'), '');
    assert.equal(await whole(logs, 'core.log'), '{"level":30,"ti');
    assert.deepEqual(await logs.table.run('logs.file', { name: 'core.log', offset: 10_000 }), {
      text: '',
      next: 10_000,
      end: true,
    });
  });
});
