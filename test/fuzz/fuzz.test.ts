/** The fuzz lane: a slice of it over all targets, what was found before, and the faults that it has to find. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FULL, runs } from '../fixtures/runs.ts';
import { caseOf } from './cases.ts';
import { fuzz, type LaneResult } from './lane.ts';
import { outcomeOf } from './measured-case.ts';
import { TARGETS as PLANTS } from './planted.ts';
import { TARGETS } from './targets.ts';

const HERE = import.meta.dirname;
const KEEP = join(HERE, 'cases');
const SEED = 20_261_129;
/** Of a target whose cases cost little: all together take some seconds of CPU. */
const CASES = runs(2_000);
const folder = mkdtempSync(join(tmpdir(), 'fz-'));
after(() => rmSync(folder, { recursive: true }));

describe('parsers of strangers', () => {
  let found: LaneResult;
  before(async () => {
    // All in one process: a start costs more than the cases.
    found = await fuzz({ table: join(HERE, 'targets.ts'), seed: SEED, cases: CASES, keep: KEEP });
  });

  for (const { name, cost = 1 } of TARGETS)
    test(`${name}: mutations of valid bytes are taken or refused as the table of errors says`, () => {
      const faults = found.findings.filter(({ target }) => target === name);
      assert.deepEqual(faults, []);
      if (!found.skipped.includes(name)) assert.equal(found.ran.get(name)?.cases, Math.ceil(CASES / cost));
    });

  for (const file of globSync('*/*', { cwd: KEEP }).sort())
    test(`${file}: bytes that found a fault are taken or refused now`, async () => {
      const target = TARGETS.find(({ name }) => name === basename(dirname(file)));
      assert.ok(target, `no target is called ${dirname(file)}`);
      const opened = await target.open();
      const { problem } = await outcomeOf(opened, readFileSync(join(KEEP, file)));
      await opened[Symbol.asyncDispose]?.();
      assert.equal(problem, undefined);
    });
});

const FAULTS: readonly (readonly [name: string, problem: RegExp])[] = [
  ['foreign', /^TypeError: cannot read properties of undefined/],
  ['internal', /internal error in a parser/],
  ['taken', /another content is taken/],
  ['crash', /^the process ended \(SIGSEGV\)/],
  ['slow', /^it took \d+ ms of CPU, more than 1000$/],
  ['large', /^it took \d+ MiB, more than 200$/],
  ['bad-seed', /^the seed is refused/],
  // It takes four seconds of CPU.
  ...(FULL ? [['hang', /^it did not end within 4000 ms of CPU$/] as const] : []),
];

describe('the lane', () => {
  const PLANTED = join(HERE, 'planted.ts');
  const planted = (targets: readonly string[], cases: number) =>
    fuzz({ table: PLANTED, targets, seed: SEED, cases, keep: folder });
  let found: LaneResult;
  before(async () => {
    found = await planted(['good', ...FAULTS.map(([name]) => name)], 1);
  });

  for (const [name, problem] of FAULTS)
    test(`finds a parser that is ${name}, keeps its input and names it`, async () => {
      const [finding, ...more] = found.findings.filter(({ target }) => target === name);
      assert.ok(finding);
      const { file, index } = finding;
      assert.match(finding.problem, problem);
      assert.ok(
        more.every((one) => one.index >= 0 && index < 0),
        JSON.stringify(more),
      );
      const target = PLANTS.find((one) => one.name === name)!;
      const { seeds } = await target.open();
      const bytes = index < 0 ? seeds[-1 - index]! : caseOf(target, seeds, SEED, index);
      assert.deepEqual(readFileSync(file), Buffer.from(bytes));
      assert.ok(readdirSync(join(folder, name)).includes(basename(file)));
    });

  test('finds no fault in a parser that has none', () => {
    assert.deepEqual(found.ran.get('good'), { cases: 1, accepted: 0, refused: 1 });
    assert.ok(!found.findings.some(({ target }) => target === 'good'));
  });

  test('goes on behind a crash, with the cases that are left and with the next target', async () => {
    const { findings, ran } = await planted(['crash', 'good'], 2);
    assert.deepEqual(
      findings.map(({ target, index }) => [target, index]),
      [
        ['crash', 0],
        ['crash', 1],
      ],
    );
    assert.equal(ran.get('good')?.cases, 2);
  });

  test('makes the same cases of the same seed, and others of another', async () => {
    for (const target of TARGETS) {
      const opened = await target.open();
      const again = await target.open();
      if (opened.seeds.length > 0) {
        const made = (seeds: readonly Uint8Array[], seed: number) =>
          [0, 1, 2, 3].map((index) => caseOf(target, seeds, seed, index).toString('base64'));
        assert.deepEqual(made(opened.seeds, 1), made(again.seeds, 1), target.name);
        assert.notDeepEqual(made(opened.seeds, 1), made(opened.seeds, 2), target.name);
      }
      await opened[Symbol.asyncDispose]?.();
      await again[Symbol.asyncDispose]?.();
    }
  });
});
