/**
 * The suite. `npm test` runs the unit lane and a slice of the whole Cores, with small counts of the random tests;
 * `npm run test:rest` runs what that leaves, with full counts. The lanes and their minutes stand in runner/lanes.ts.
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { FULL_COUNTS } from './fixtures/runs.ts';
import { changedFiles, suitesOf } from './runner/changed.ts';
import { CpuList, cpuMs } from './runner/cpu.ts';
import { filesOf, LANES, type Lane, MOST_WARNINGS, ROOT } from './runner/lanes.ts';
import { type Counts, closing, pass, sum } from './runner/pass.ts';
import { readUsage } from './runner/usage.ts';

/** Beyond so many the machine or the change is wrong, not the luck of a test. */
const MOST_AGAIN = 5;

interface Work {
  readonly lane: Lane;
  readonly files: readonly string[];
}

const HELP = `usage: node test/run.ts [--rest | --lane NAME | --changed [BASE] | FILES...] [--top N]

Without arguments: what \`npm test\` runs after the checks, with small counts of the random tests.
  FILES           these test files; patterns are taken
  --rest          what \`npm test\` leaves of the lanes, with full counts
  --lane NAME     one lane as a whole, with full counts: ${LANES.map(({ name }) => name).join(' ')}
  --changed BASE  the unit suites that differ from where this branch left BASE (main)
  --top N         lists the N files that cost most CPU
`;

const { values, work } = readUsage('test/run.ts', HELP, process.argv.slice(2), (args) => {
  const { values: options, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      rest: { type: 'boolean', default: false },
      lane: { type: 'string' },
      changed: { type: 'boolean', default: false },
      top: { type: 'string' },
    },
  });
  if (options.top !== undefined && !(Number(options.top) > 0))
    throw new Error(`cannot list the dearest ${options.top} files: --top takes a number`);
  return { values: options, work: planned(options, positionals) };
});

interface Options {
  readonly rest: boolean;
  readonly lane?: string | undefined;
  readonly changed: boolean;
}

function planned(options: Options, positionals: readonly string[]): readonly Work[] {
  const free = (name: string, files: readonly string[]): readonly Work[] => [
    { lane: { name, minutes: 45, holds: '', files }, files },
  ];
  if (options.lane !== undefined) {
    const lane = LANES.find(({ name }) => name === options.lane);
    if (lane === undefined)
      throw new Error(`no lane ${options.lane}; there are ${LANES.map(({ name }) => name).join(' ')}`);
    return [{ lane, files: filesOf(lane, 'whole') }];
  }
  if (options.changed) {
    const changed = changedFiles(positionals[0] ?? 'main');
    const files = suitesOf(changed);
    console.log(`${changed.length} changed files touch ${files.length} suites`);
    return free('changed', files);
  }
  if (positionals.length > 0) {
    const files = globSync(positionals, { cwd: ROOT }).sort();
    if (files.length === 0) throw new Error(`no test file is like ${positionals.join(' ')}`);
    return free('named', files);
  }
  const part = options.rest ? 'rest' : 'short';
  return LANES.filter(({ apart }) => !apart).map((lane) => ({ lane, files: filesOf(lane, part) }));
}

process.env.NODE_COMPILE_CACHE ??= join(ROOT, 'node_modules/.cache/device-core-test');
if (values.rest || values.lane !== undefined) process.env[FULL_COUNTS] = '1';
const began = performance.now();
const counts = new Map<string, Counts>();
const failed: string[] = [];
const table: string[] = [];
let warnings = 0;
{
  using list = values.top === undefined ? undefined : new CpuList();
  for (const { lane, files } of work) await runLane(lane, files);
  for (const line of list?.lines(Number(values.top)) ?? []) table.push(line);
}
console.log(`\n${table.join('\n')}`);
console.log(`warnings: ${warnings}, at most ${MOST_WARNINGS}`);
if (warnings > MOST_WARNINGS) console.error('there are too many warnings: mend what is warned of');
if (failed.length > 0) console.error(`failed: ${failed.join(', ')}`);
console.log(closing(sum(counts.values()), performance.now() - began));
process.exitCode = failed.length > 0 || warnings > MOST_WARNINGS ? 1 : 0;

async function runLane(lane: Lane, files: readonly string[]): Promise<void> {
  const title = lane.name.padEnd(10);
  if (files.length === 0) {
    if (values.rest || values.lane !== undefined) table.push(`${title} empty: nothing to run here (${lane.holds})`);
    return;
  }
  console.log(`\n${lane.name}: ${files.length} files${lane.holds && `, ${lane.holds}`}\n`);
  const start = { wall: performance.now(), cpu: cpuMs() };
  await runFiles(lane, files);
  const wall = (performance.now() - start.wall) / 60_000;
  const cpu = (cpuMs() - start.cpu) / 60_000;
  table.push(`${title} ${files.length} files, ${wall.toFixed(1)} of ${lane.minutes} min, ${cpu.toFixed(1)} min of CPU`);
  if (wall > lane.minutes)
    console.log(`::warning::the lane ${lane.name} took ${wall.toFixed(1)} min, more than its ${lane.minutes}`);
}

async function runFiles(
  { secondTry = false, triesItself = [], longestMs }: Lane,
  files: readonly string[],
): Promise<void> {
  const first = await pass(files, availableParallelism(), longestMs);
  for (const [file, of] of first.counts) counts.set(file, of);
  warnings += first.warnings;
  if (!secondTry || first.failed.length === 0 || first.failed.length > MOST_AGAIN) {
    failed.push(...first.failed);
    return;
  }
  failed.push(...first.failed.filter((file) => triesItself.includes(file)));
  const again = first.failed.filter((file) => !triesItself.includes(file));
  if (again.length === 0) return;
  console.log(`\nonce more, alone: ${again.join(', ')}\n`);
  const second = await pass(again, 1, longestMs);
  for (const [file, of] of second.counts) counts.set(file, of);
  warnings += second.warnings;
  failed.push(...second.failed);
  for (const file of again.filter((name) => !second.failed.includes(name))) {
    warnings += 1;
    console.log(`::warning file=${file}::passed only at the second try, alone`);
  }
}
