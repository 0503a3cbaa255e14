/** The file of one part: what a crash, a full disk and a former version leave of it. */
import assert from 'node:assert/strict';
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import type { CoreError } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { PartFile } from '../../../plugins/state/ledger/part-file.ts';
import { Sums } from '../../../plugins/state/ledger/sums.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { NO_DISK, SmallDisk } from '../../fixtures/small-disk.ts';

after(leakCheck());
const folder = await mkdtemp(join(tmpdir(), 'dc-ledger-'));
after(() => rm(folder, { recursive: true }));
let run = 0;
const place = () => join(folder, `${run++}`, 'voice.jsonl');

const entry = (number: number) => ({ id: `n${number}`, at: 1, for: 'voice', to: 'x', what: 'audio', bytes: number });
const told = (report: string[]): HealthReport => ({
  add: (part, { code }) => void report.push(`${part} ${code}`),
  bridge: () => assert.fail(),
  warn: () => assert.fail(),
});
const opened = async (file: string, keep = 10, former?: string) => {
  const part = new PartFile({ file, keep, ...(former === undefined ? {} : { former }) });
  await part.load();
  return part;
};
const bytes = (part: PartFile, limit = 100) => part.newest(limit).map((one) => one.bytes);
const sums = (part: PartFile) => {
  const all = new Sums(100);
  part.addTo(all);
  return all.all();
};

describe('the file of a part', () => {
  it('keeps the newest entries and the sum of all over restarts, also with a spoilt last line', async () => {
    const cut = fc.record({ entries: fc.nat(45), cut: fc.nat(120) });
    await fc.assert(
      fc.asyncProperty(cut, async ({ entries, cut: left }) => {
        const file = place();
        const ledger = await opened(file);
        await Promise.all(Array.from({ length: entries }, (_, index) => ledger.append(entry(index))));
        const whole = bytes(ledger, 10);
        assert.deepEqual(whole, Array.from({ length: entries }, (_, index) => entries - 1 - index).slice(0, 10));
        const line = `${JSON.stringify(entry(99))}\n`;
        await mkdir(join(file, '..'), { recursive: true });
        await appendFile(file, line.slice(0, Math.min(left, line.length)));
        const again = await opened(file);
        const kept = bytes(again, 10);
        assert.deepEqual(kept, left >= line.length - 1 ? [99, ...whole].slice(0, 10) : whole);
        await again.append(entry(7));
        const third = await opened(file);
        assert.equal(third.newest(1)[0]!.bytes, 7);
        assert.equal(third.broken, 0);
        assert.ok((await readFile(file, 'utf8')).split('\n').length <= 22, 'the file has a bound');
        const one = left >= line.length - 1 ? 1 : 0;
        const count = entries + one + 1;
        assert.deepEqual(sums(third), [
          { for: 'voice', to: 'x', count, bytes: (entries * (entries - 1)) / 2 + 99 * one + 7 },
        ]);
      }),
      { numRuns: runs(30) },
    );
  });

  it('knows after a restart how many bytes went since an entry was written', async () => {
    const file = place();
    const ledger = await opened(file);
    for (const number of [1, 2]) await ledger.append({ ...entry(number), bytes: 0 });
    assert.deepEqual([ledger.count('n1', 5), ledger.count('n1', 6), ledger.count('gone', 1)], [true, false, false]);
    await ledger.flush();
    await ledger.flush();
    assert.deepEqual(bytes(await opened(file)), [0, 11]);
    for (let round = 0; round < 50; round++) {
      ledger.count('n2', 1);
      await ledger.flush();
    }
    await ledger.append({ ...entry(3), bytes: 0 });
    assert.deepEqual(bytes(await opened(file)), [0, 50, 11]);
    assert.ok((await readFile(file, 'utf8')).split('\n').length <= 22, 'the file has a bound');
  });

  it('refuses what a full disk does not take, whole, and is well again by itself', { skip: NO_DISK }, async () => {
    using disk = new SmallDisk(256);
    const file = join(disk.path, 'ledger/voice.jsonl');
    const ledger = await opened(file, 1_000);
    await ledger.append(entry(1));
    disk.fill();
    let taken = 1;
    const full = await eventually(
      () =>
        ledger.append(entry(++taken)).then(
          () => undefined,
          (error: CoreError) => error.code,
        ),
      'a full disk',
    );
    assert.equal(full, 'STORAGE_FULL');
    const report: string[] = [];
    await ledger.tell('voice', told(report));
    assert.deepEqual(report, ['voice.ledger STORAGE_FULL']);
    disk.free();
    await ledger.tell('voice', told(report));
    assert.equal(report.length, 1, 'it was asked again, and takes it');
    await ledger.append(entry(7));
    const again = await opened(file, 1_000);
    assert.equal(again.broken, 0);
    assert.deepEqual(bytes(again, 2), [7, taken - 1]);
  });

  it('starts anew beside a file that cannot be read, which is kept', async () => {
    const file = place();
    await mkdir(file, { recursive: true });
    const ledger = await opened(file);
    assert.match(ledger.damage ?? '', /it is a folder.*set aside/);
    await ledger.append(entry(1));
    assert.deepEqual(bytes(await opened(file)), [1]);
  });
});

describe('the former file of a part', () => {
  const old = '{"at":1,"turn":"t","to":"x","what":"audio","bytes":7,"rule":"unsure"}\n';
  const newer = '{ "format": 2, "at": 1, "sent": "x" }\n';

  it('is copied once, with unknown lines, and stays in its place', async () => {
    const [file, former] = [place(), place()];
    await mkdir(join(former, '..'));
    await writeFile(former, old + newer + old.slice(0, 30));
    const ledger = await opened(file, 10, former);
    const line = { at: 1, for: 'voice', to: 'x', what: 'audio', bytes: 7, details: { turn: 't', rule: 'unsure' } };
    assert.deepEqual(ledger.newest(9), [{ id: 'voice-0', ...line }]);
    assert.equal(ledger.broken, 1);
    assert.equal(await readFile(former, 'utf8'), old + newer + old.slice(0, 30));
    await ledger.append(entry(9));
    const again = await opened(file, 10, former);
    assert.deepEqual(bytes(again), [9, 7]);
    assert.ok((await readFile(file, 'utf8')).includes(newer.trim()));
  });

  it('is told once where it cannot be read, and stays where it is', async () => {
    const [file, former] = [place(), place()];
    await mkdir(former, { recursive: true });
    assert.match((await opened(file, 10, former)).damage ?? '', /it is a folder.*stays where it is/);
    assert.equal((await opened(file, 10, former)).damage, undefined);
  });
});
