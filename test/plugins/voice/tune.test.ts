/** `devicectl voice tune`: the threshold of a phrase, from recordings with it and without it. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, suite, test } from 'node:test';
import { encodeWav } from '@device-core/plugin-api/audio';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { proposal, type Trial, tradeOff } from '../../../plugins/voice/voice/program/trade-off.ts';
import { program } from '../../../plugins/voice/voice/program/tune.ts';
import { picture } from '../../../plugins/voice/voice/program/tune-picture.ts';
import { runs } from '../../fixtures/runs.ts';

after(leakCheck());

const trial = (seconds: number, ...strictest: number[]): Trial => ({ path: 'x.wav', seconds, strictest });
const POSITIVE = [trial(1, 0.9), trial(1, 0.3, 0.62), trial(1, 0.41), trial(1)];
const NEGATIVE = [trial(1_800, 0.33, 0.12), trial(1_800)];

suite('the trade-off of a threshold', () => {
  test('counts a call by the strictest sign of its phrase, and every sign without one', () => {
    const rows = tradeOff(POSITIVE, NEGATIVE);
    const at = (threshold: number) => rows.find((row) => row.threshold === threshold)!;
    assert.deepEqual(
      [at(0).missed.count, at(0.45).missed.count, at(0.65).missed.count, at(1).missed.count],
      [1, 2, 3, 4],
    );
    assert.deepEqual([at(0).falseCalls.perHour, at(0.3).falseCalls.perHour, at(0.35).falseCalls.perHour], [2, 1, 0]);
  });

  test('proposes the strictest of the thresholds that miss least and are quiet enough', () => {
    const rows = tradeOff(POSITIVE, NEGATIVE);
    assert.equal(proposal(rows, 0)?.threshold, 0.4);
    assert.equal(proposal(rows, 1)?.threshold, 0.4);
    assert.equal(proposal(tradeOff(POSITIVE, [trial(60, 1)]), 0), undefined);
    assert.equal(proposal(tradeOff([trial(1)], NEGATIVE), 0), undefined, 'a phrase that is never heard has none');
  });

  test('misses no less and calls no more often at a stricter threshold', () => {
    const trials = fc.array(fc.array(fc.double({ min: 0, max: 1, noNaN: true })), { minLength: 1 });
    const made = trials.map((all) => all.map((strictest) => trial(10, ...strictest)));
    fc.assert(
      fc.property(made, made, (positive, negative) => {
        const rows = tradeOff(positive, negative);
        for (const [place, row] of rows.slice(1).entries()) {
          assert.ok(row.missed.count >= rows[place]!.missed.count);
          assert.ok(row.falseCalls.count <= rows[place]!.falseCalls.count);
        }
      }),
      { numRuns: runs(100) },
    );
  });

  test('is drawn as SVG with any phrase', () => {
    const rows = tradeOff(POSITIVE, NEGATIVE);
    const svg = picture({ phrase: 'a <b> & "c"', rows, chosen: proposal(rows, 0) });
    assert.match(svg, /^<svg xmlns/);
    assert.equal(svg.match(/<polyline/g)?.length, 2);
    assert.match(svg, /proposed: 0\.4/);
    assert.ok(svg.includes('a &#60;b&#62; &#38; &#34;c&#34;'));
    assert.doesNotMatch(svg, /NaN|Infinity/);
    assert.doesNotMatch(picture({ phrase: 'x', rows: tradeOff([], []), chosen: undefined }), /NaN/);
  });
});

suite('devicectl voice tune', () => {
  const wav = encodeWav({ rate: 8_000, samples: new Int16Array(8_000) });

  async function tuned(more: object, json = false) {
    const root = await mkdtemp(join(tmpdir(), 'dc-tune-'));
    const folders = ['called', 'talk/deep'].map((name) => join(root, name));
    for (const folder of folders) await mkdir(folder, { recursive: true });
    await writeFile(join(folders[0]!, 'a.wav'), wav);
    await writeFile(join(folders[1]!, 'b.wav'), wav);
    const lines: string[] = [];
    const asked: object[] = [];
    const client = {
      post: async (_: string, body: object) => {
        asked.push(body);
        return { body: { ms: 1_000, hits: asked.length === 1 ? [{ strictest: 0.8 }] : [{ strictest: 0.2 }] } };
      },
    };
    const out = {
      json,
      line: async (text: string) => void lines.push(text),
      table: async (_: unknown, rows: readonly (readonly unknown[])[]) =>
        void lines.push(...rows.map((row) => row.join(': '))),
    };
    const svg = join(root, 'out.svg');
    const args = {
      positive: folders[0],
      negative: join(root, 'talk'),
      phrase: 'Hey Device',
      falsePerHour: 0,
      files: 10,
    };
    try {
      await program.run({
        args: { ...args, svg, ...more },
        client,
        out,
        signal: new AbortController().signal,
      } as unknown as Parameters<typeof program.run>[0]);
      return { text: lines.join('\n'), asked, svg: await readFile(svg, 'utf8') };
    } finally {
      await rm(root, { recursive: true });
    }
  }

  test('prints the table, the line for the SKU, and what the recordings cannot show', async () => {
    const { text, asked, svg } = await tuned({});
    assert.match(text, /^0\.80: 0\.0 % .*: proposed$/m);
    assert.match(text, /^wake: \[\{ phrase: hey device, threshold: 0\.8 \}\]$/m);
    assert.match(text, /^0\.0 minutes without the phrase do not show less than 0 an hour: record more$/m);
    assert.deepEqual(
      asked.map((body) => (body as { phrases: string[] }).phrases),
      [['hey device'], ['hey device']],
    );
    assert.match(svg, /<svg/);
  });

  test('prints all of it as one JSON', async () => {
    const { text } = await tuned({}, true);
    const told = JSON.parse(text);
    assert.deepEqual([told.proposed, told.rows.length], [0.8, 21]);
  });

  test('names the folder or file that it cannot use', async () => {
    await assert.rejects(tuned({ positive: '/nowhere/at/all' }), /cannot read \/nowhere\/at\/all: ENOENT/);
    await assert.rejects(tuned({ svg: '/nowhere/at/all/x.svg' }), /cannot write \/nowhere\/at\/all\/x\.svg: ENOENT/);
    await assert.rejects(tuned({ files: 0 }), /it has 1 recordings, at most 0 are taken/);
  });
});
