/**
 * Runs cases in a process of its own, which a parser may end. Its one argument is a Plan. Before each case its place is
 * written to the file `mark`, so that the lane knows the case that ended the process.
 */
import { openSync, writeSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { caseOf } from './cases.ts';
import { measured, outcomeOf } from './measured-case.ts';
import type { Opened, Target } from './target.ts';

export interface Plan {
  /** Path of the module that exports TARGETS. */
  readonly table: string;
  readonly targets: readonly string[];
  readonly seed: number;
  /** Of each target that costs little. */
  readonly cases: number;
  /** Milliseconds for each target, after which it is left even if cases are missing. */
  readonly ms?: number;
  /** First case of the first target. */
  readonly from: number;
  readonly mark: string;
}

/** A line of the output, as JSON. */
export type Said =
  | { readonly target: string; readonly index: number; readonly problem: string }
  | {
      readonly target: string;
      readonly cases: number;
      readonly accepted: number;
      readonly refused: number;
      readonly slowestMs: number;
      readonly mostMiB: number;
    }
  | { readonly target: string; readonly skipped: string };

/** More of one target are one fault, as a rule. */
const MOST_PROBLEMS = 3;

const plan = JSON.parse(process.argv[2]!) as Plan;
const { TARGETS } = (await import(plan.table)) as { readonly TARGETS: readonly Target[] };
const mark = openSync(plan.mark, 'w');
const say = (said: Said): void => void writeSync(1, `${JSON.stringify(said)}\n`);

for (const [nth, name] of plan.targets.entries()) {
  const target = TARGETS.find((one) => one.name === name);
  if (target === undefined) throw new Error(`there is no target ${name}`);
  await all(target, nth === 0 ? plan.from : 0);
}

async function all(target: Target, from: number): Promise<void> {
  const { name, cost = 1 } = target;
  const cases = Math.ceil(plan.cases / cost);
  at(name, -1);
  const opened = await target.open();
  const count = { cases: 0, accepted: 0, refused: 0, slowestMs: 0, mostMiB: 0 };
  if (opened.seeds.length === 0) return say({ target: name, skipped: 'nothing of it is installed here' });
  let problems = await seedProblems(name, opened);
  const began = performance.now();
  for (let index = from; index < cases && problems < MOST_PROBLEMS; index += 1) {
    if (plan.ms !== undefined && performance.now() - began > plan.ms) break;
    at(name, index);
    const { problem, accepted, ms, mib } = await measured(opened, caseOf(target, opened.seeds, plan.seed, index));
    count.cases += 1;
    count[accepted ? 'accepted' : 'refused'] += 1;
    count.slowestMs = Math.max(count.slowestMs, Math.round(ms));
    count.mostMiB = Math.max(count.mostMiB, Math.round(mib));
    if (problem === undefined) continue;
    problems += 1;
    say({ target: name, index, problem });
  }
  await opened[Symbol.asyncDispose]?.();
  say({ target: name, ...count });
}

/** A seed that is refused tests nothing: its number is told as a negative one. What they cost is the cost of a first call. */
async function seedProblems(name: string, opened: Opened): Promise<number> {
  let problems = 0;
  for (const [index, seed] of opened.seeds.entries()) {
    const { problem, accepted, reason } = await outcomeOf(opened, Buffer.from(seed));
    const found = problem ?? (accepted ? undefined : `the seed is refused: ${reason}`);
    if (found === undefined) continue;
    problems += 1;
    say({ target: name, index: -1 - index, problem: found });
  }
  return problems;
}

function at(name: string, index: number): void {
  writeSync(mark, `${JSON.stringify([name, index])}`.padEnd(120), 0);
}
