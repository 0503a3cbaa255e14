/** The history of updates: lines that are appended, read from their end, and never taken back. */
import assert from 'node:assert/strict';
import { appendFileSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import { History } from '../../../plugins/life/updater/history.ts';
import { part } from '../../fixtures/scope.ts';

after(leakCheck());

const place = mkdtempSync(join(tmpdir(), 'history-'));
after(() => rmSync(place, { recursive: true, force: true }));
let count = 0;
const fresh = () => join(place, `${count++}.jsonl`);
const line = (at: number) => `${JSON.stringify({ format: 1, at, state: 'good', version: `1.0.${at}` })}\n`;
const LINES = 1_000_000;

describe('the history of updates', () => {
  it('of a million lines is read at its end alone, and goes on', async () => {
    await using parts = part();
    const file = fresh();
    const handle = openSync(file, 'w');
    for (let at = 0; at < LINES; at += 10_000)
      writeSync(handle, Array.from({ length: 10_000 }, (_, more) => line(at + more)).join(''));
    closeSync(handle);
    const bytes = statSync(file).size;
    const history = new History(file, parts.log);
    const before = process.memoryUsage().rss;
    const last = await history.last(50);
    assert.deepEqual(
      last.map(({ at }) => at),
      Array.from({ length: 50 }, (_, back) => LINES - 1 - back),
    );
    assert.ok(process.memoryUsage().rss - before < bytes / 2, 'most of the file was never in memory');
    await history.add({ at: LINES, state: 'good' });
    assert.equal((await history.last(2)).map(({ at }) => at).join(), `${LINES},${LINES - 1}`);
    assert.equal(statSync(`${file}.1`).size, bytes, 'what was there is put aside as it was');
    assert.equal(history.trouble, undefined);
  });

  it('passes over half lines, foreign lines and those of a newer form, and keeps them', async () => {
    await using parts = part();
    const file = fresh();
    const odd = `${line(1)}{"format":2,"at":2,"state":"good"}\n\0\0\0\n{"format":1,"at"`;
    appendFileSync(file, odd);
    const history = new History(file, parts.log);
    assert.deepEqual(
      (await history.last(10)).map(({ at }) => at),
      [1],
    );
    await history.add({ at: 3, state: 'failed', reason: 'it does not do' });
    assert.ok(readFileSync(file, 'utf8').startsWith(odd), 'a line is never taken back');
    assert.equal((await history.last(1))[0]?.at, 3, 'half a line does not spoil the next one');
  });
});
