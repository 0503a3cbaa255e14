/** Files run by node's runner, each in a process of its own, and what came of it. */
import { resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import { ROOT } from './lanes.ts';

/** A test that takes longer has hung. */
const TEST_MS = 300_000;
const WARNING = /^::warning\b/gm;
/** What node's runner says at its end; here it is said once, of all passes together. */
const CLOSING = /^(tests|suites|pass|fail|cancelled|skipped|todo|duration_ms) [\d.]+$/;

export interface Counts {
  readonly tests: number;
  readonly suites: number;
  readonly passed: number;
  readonly failed: number;
  readonly cancelled: number;
  readonly skipped: number;
  readonly todo: number;
}

export interface Passed {
  /** By file, relative to the root. */
  readonly counts: ReadonlyMap<string, Counts>;
  readonly failed: readonly string[];
  /** `::warning` lines of the tests. */
  readonly warnings: number;
}

const NOTHING: Counts = { tests: 0, suites: 0, passed: 0, failed: 1, cancelled: 0, skipped: 0, todo: 0 };

/** Runs the files, paths relative to the root, and prints what they say. */
export async function pass(files: readonly string[], concurrency: number, longestMs = TEST_MS): Promise<Passed> {
  const paths = new Map(files.map((file) => [resolve(ROOT, file), file]));
  const counts = new Map(files.map((file) => [file, NOTHING])); // for a file that never says how it ended
  const passed = new Set<string>();
  let warnings = 0;
  const stream = run({ files: [...paths.keys()], concurrency, timeout: longestMs, cwd: ROOT });
  stream.on('test:summary', ({ file, success, counts: of }) => {
    const name = file === undefined ? undefined : paths.get(file);
    if (name === undefined) return;
    const { tests, suites, passed: good, cancelled, skipped, todo } = of;
    const bad = tests - good - cancelled - skipped - todo;
    counts.set(name, { tests, suites, passed: good, failed: bad, cancelled, skipped, todo });
    if (success) passed.add(name);
  });
  stream.on('test:stdout', ({ message }) => {
    warnings += message.match(WARNING)?.length ?? 0;
  });
  const told = stream
    .filter(({ type, data }) => type !== 'test:diagnostic' || data.nesting > 0 || !CLOSING.test(data.message))
    .compose(new spec());
  told.pipe(process.stdout, { end: false });
  await new Promise((done, failed) => told.on('end', done).on('error', failed));
  return { counts, failed: files.filter((file) => !passed.has(file)), warnings };
}

export function sum(all: Iterable<Counts>): Counts {
  const total = { tests: 0, suites: 0, passed: 0, failed: 0, cancelled: 0, skipped: 0, todo: 0 };
  for (const one of all) for (const name of Object.keys(total) as (keyof Counts)[]) total[name] += one[name];
  return total;
}

/** The closing lines of node's runner, which CI reads. */
export function closing(total: Counts, ms: number): string {
  const { tests, suites, passed, failed, cancelled, skipped, todo } = total;
  return Object.entries({ tests, suites, pass: passed, fail: failed, cancelled, skipped, todo, duration_ms: ms })
    .map(([name, value]) => `ℹ ${name} ${value}`)
    .join('\n');
}
