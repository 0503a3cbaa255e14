import assert from 'node:assert/strict';
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, type TestContext, test } from 'node:test';
import type { ProgramAnswer, ProgramContext, ProgramRequest } from '@device-core/plugin-api/program';
import { leakCheck } from '@device-core/plugin-api/testing';
import { program } from '../../../plugins/state/logs/program/support-bundle.ts';
import { unpacked } from '../../fixtures/unpacked-bundle.ts';

after(leakCheck());

const REPLIES: Readonly<Record<string, object>> = {
  '/version': { version: '1.2.3' },
  '/logs/files': {
    files: [
      { name: 'core.log', bytes: 10, changedAt: 3 },
      { name: 'core.4.zst', bytes: 10, changedAt: 2 },
      { name: 'apps/tea.log', bytes: 10, changedAt: 1 },
    ],
  },
};
/** Its parts that this Core has; it refuses the others. */
const PARTS = ['versions.json', 'health.json', 'configuration.json'];

function start(context: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'db-'));
  context.after(() => rmSync(folder, { recursive: true }));
  const said: string[] = [];
  const get = async (path: string, { query = {} }: ProgramRequest = {}): Promise<ProgramAnswer> => {
    const body =
      path === '/logs/file'
        ? {
            text: `${String(query.name)} at ${Number(query.offset)}\n`,
            next: 600_000 * (Number(query.offset) > 0 ? 2 : 1),
            end: Number(query.offset) > 0,
          }
        : path === '/logs/bundle' && PARTS.includes(String(query.name))
          ? { text: `${query.name} of the Core\n` }
          : REPLIES[path];
    if (!body) throw new Error(`there is no ${query.name ?? path}`);
    return { status: 200, text: JSON.stringify(body), body: body as Readonly<Record<string, unknown>> };
  };
  const run = (args: object, json = false) =>
    program.run({
      args: { mb: 30, ...args },
      client: { get },
      target: { name: 'http://device', run: folder },
      out: {
        json,
        terminal: false,
        line: async (text: string) => void said.push(text),
        paint: (_: string, text: string) => text,
      },
      signal: new AbortController().signal,
    } as unknown as ProgramContext<never>);
  return { folder, said, run };
}

describe('devicectl support-bundle', () => {
  test('lists its contents, and writes it for its user alone', async (context) => {
    const { folder, said, run } = start(context);
    const file = join(folder, 'b.tar.zst');
    await run({ file });
    assert.equal(statSync(file).mode & 0o777, 0o600);
    const files = unpacked(file);
    for (const name of [
      'README.txt',
      'health.json',
      'configuration.json',
      'log/core.log',
      'log/core.4.log',
      'log/apps/tea.log',
    ]) {
      assert.ok(files.has(name), name);
      assert.ok(
        said.some((line) => line.includes(name)),
        name,
      );
    }
    assert.equal(files.get('log/core.4.log'), 'core.4.zst at 0\ncore.4.zst at 600000\n');
    assert.equal(files.get('health.json'), 'health.json of the Core\n');
    assert.ok(said.some((line) => /left out: ledger\.json \(there is no ledger\.json/.test(line)));
    assert.match(said.at(-1)!, /Nothing was sent/);
  });

  test('with --list it writes nothing', async (context) => {
    const { folder, said, run } = start(context);
    await run({ file: join(folder, 'b.tar.zst'), list: true });
    assert.deepEqual(readdirSync(folder), []);
    assert.ok(said.some((line) => line.includes('log/core.log')));
  });

  test('never replaces a file, and follows no link', async (context) => {
    const { folder, run } = start(context);
    writeFileSync(join(folder, 'there'), 'mine');
    symlinkSync(join(folder, 'elsewhere'), join(folder, 'link'));
    for (const name of ['there', 'link', '.'])
      await assert.rejects(async () => run({ file: join(folder, name) }), /is there already/, name);
    await assert.rejects(async () => run({ file: join(folder, 'nowhere/b') }), /cannot write in/);
    assert.equal(readFileSync(join(folder, 'there'), 'utf8'), 'mine');
    assert.equal(existsSync(join(folder, 'elsewhere')), false);
  });

  test('takes so much of the logs, and says what it leaves out', async (context) => {
    const { folder, said, run } = start(context);
    await run({ file: join(folder, 'b'), mb: 1 / (1 << 20) }, true);
    const { files, left } = JSON.parse(said[0]!);
    assert.deepEqual(
      files.map(({ name }: { name: string }) => name).filter((name: string) => name.startsWith('log/')),
      ['log/core.log'],
    );
    assert.ok(left.some(({ name }: { name: string }) => name === 'log/apps/tea.log'));
  });
});
