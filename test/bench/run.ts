/** `npm run bench [-- rows] [--quick]`: rows as `3`, `1-5`, `1-5,9` or `voice`; all of them if none are named. Needs the peers, which it installs once. */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Goal, Measured, Row } from './harness.ts';

const here = import.meta.dirname;
/** Rows that go together. */
const GROUPS: Readonly<Record<string, string>> = {
  bridge: '16,22-27',
  isolation: '18-21',
  voice: '14-15,17,28-30',
  fair: '31-37',
};
const results = join(here, '../../.device/bench/latest.json');

interface Line {
  readonly row: number;
  readonly title: string;
  readonly goal: Goal;
  readonly measured?: Measured;
  readonly verdict: 'PASS' | 'MISS' | 'SKIP' | 'FAIL';
  readonly error?: string;
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { quick: { type: 'boolean', default: false } },
});
installPeers();
const wanted = positionals.length > 0 ? new Set(positionals.flatMap(rowNumbers)) : undefined;
const lines: Line[] = [];
for (const row of await loadRows()) {
  if (wanted && !wanted.has(row.id)) continue;
  process.stdout.write(`\n${row.id}. ${row.title}\n`);
  for (const line of await runRow(row)) {
    lines.push(line);
    process.stdout.write(`${format(line)}\n`);
  }
}
report();

function installPeers(): void {
  const installed = join(here, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(here, 'package-lock.json')).mtimeMs) return;
  process.stdout.write('installing the peers into test/bench/node_modules ...\n');
  const npm = spawnSync('npm', ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: 'inherit',
  });
  if (npm.status !== 0)
    throw new Error(`cannot install the peers: npm ci ended with ${npm.status ?? npm.error?.message}`);
}

function rowNumbers(named: string): number[] {
  const text = GROUPS[named] ?? named;
  return text.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) throw new Error(`cannot select rows "${part}": expected a number or a range such as 1-5`);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
  });
}

async function loadRows(): Promise<Row[]> {
  const files = readdirSync(join(here, 'rows')).filter((name) => name.endsWith('.ts'));
  const modules = await Promise.all(files.map((name) => import(`./rows/${name}`) as Promise<{ rows: readonly Row[] }>));
  return modules.flatMap((module) => module.rows).sort((a, b) => a.id - b.id);
}

async function runRow(row: Row): Promise<Line[]> {
  const base = { row: row.id, title: row.title };
  try {
    const measured = await row.run({ quick: values.quick });
    return row.goals.map((goal) => {
      const found = measured[goal.name];
      if (!found) return { ...base, goal, verdict: 'SKIP' };
      return { ...base, goal, measured: found, verdict: found.median <= goal.goal ? 'PASS' : 'MISS' };
    });
  } catch (error) {
    // One row that cannot run here must not hide the others; the exit code tells.
    return row.goals.map((goal) => ({ ...base, goal, verdict: 'FAIL', error: String(error) }));
  }
}

function format({ goal, measured, verdict, error }: Line): string {
  const unit = goal.unit ?? 'x';
  const head = `   ${verdict}  ${goal.name.padEnd(26)}`;
  if (!measured) return `${head} ${error ?? 'not on this machine'}`;
  const number = (value: number): string => (value >= 100 ? value.toFixed(0) : value.toPrecision(3)).padStart(6);
  const sides = measured.ours ? `   ${measured.ours}${measured.theirs ? ` : ${measured.theirs}` : ''}` : '';
  const floor = goal.floor === undefined ? '' : `, floor ${goal.floor}`;
  return `${head} ${number(measured.median)} ${unit}  [${number(measured.q1)} ..${number(measured.q3)}]  goal <= ${goal.goal}${floor}${sides}`;
}

function report(): void {
  const count = (verdict: Line['verdict']): number => lines.filter((line) => line.verdict === verdict).length;
  mkdirSync(join(results, '..'), { recursive: true });
  const machine = { node: process.version, cpu: cpus()[0]?.model, cores: cpus().length };
  writeFileSync(results, `${JSON.stringify({ at: new Date().toISOString(), ...values, machine, lines }, null, 2)}\n`);
  process.stdout.write(
    `\n${count('PASS')} met, ${count('MISS')} missed, ${count('SKIP')} skipped, ${count('FAIL')} failed; written to .device/bench/latest.json\n`,
  );
  if (count('FAIL') > 0) process.exitCode = 1;
}
