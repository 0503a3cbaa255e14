/** The bench: measures rows and keeps what they say. Needs the peers, which it installs once. */
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, totalmem } from 'node:os';
import { join } from 'node:path';
import { readUsage } from '../runner/usage.ts';
import { CACHE, checkoutOf, HERE, thisCheckout } from './checkout.ts';
import { confine } from './confine.ts';
import type { Row, RunOptions } from './harness.ts';
import { profile } from './profile.ts';
import { type Circumstances, type Kept, keyOf, markdown, ResultsFolder, withFigures } from './results.ts';
import { runRow } from './run-row.ts';
import { HELP, readWanted, type Wanted } from './selection.ts';
import { format, summary } from './verdict.ts';

const here = import.meta.dirname;
const results = new ResultsFolder(CACHE);
const say = (text: string): void => void process.stdout.write(`${text}\n`);

function installPeers(): void {
  const installed = join(here, 'node_modules/.package-lock.json');
  if (existsSync(installed) && statSync(installed).mtimeMs >= statSync(join(here, 'package-lock.json')).mtimeMs) return;
  say('installing the peers into test/bench/node_modules ...');
  const npm = spawnSync('npm', ['ci', '--prefix', here, '--ignore-scripts', '--no-audit', '--no-fund'], {
    stdio: 'inherit',
  });
  if (npm.status !== 0)
    throw new Error(`cannot install the peers: npm ci ended with ${npm.status ?? npm.error?.message}`);
}

async function loadRows(): Promise<Row[]> {
  const files = readdirSync(join(here, 'rows')).filter((name) => name.endsWith('.ts'));
  const modules = await Promise.all(files.map((name) => import(`./rows/${name}`) as Promise<{ rows: readonly Row[] }>));
  return modules.flatMap((module) => module.rows).sort((a, b) => a.id - b.id);
}

function circumstances(wanted: Wanted, options: RunOptions): Circumstances {
  const [one = 0, five = 0] = loadavg();
  return {
    at: new Date().toISOString(),
    commit: thisCheckout().commit,
    ...(options.against && { against: options.against.commit }),
    quick: wanted.quick,
    board: wanted.board,
    load: [one, five],
    ...(options.confinement && { confined: options.confinement.told }),
    machine: {
      node: process.version,
      cpu: cpus()[0]?.model ?? 'unknown',
      cores: cpus().length,
      memoryMb: Math.round(totalmem() / 1e6),
    },
  };
}

async function run(wanted: Wanted): Promise<void> {
  installPeers();
  using confinement = wanted.board ? confine() : undefined;
  for (const told of confinement?.told ?? []) say(told);
  const against = wanted.against === undefined ? undefined : checkoutOf(wanted.against);
  const options = { quick: wanted.quick, ...(against && { against }), ...(confinement && { confinement }) };
  const name = new Date().toISOString().replaceAll(':', '-');
  const kept: Record<string, Kept> = {};
  for (const row of await loadRows()) {
    if (wanted.rows && !wanted.rows.has(row.id)) continue;
    say(`\n${row.id}. ${row.title}`);
    const about = circumstances(wanted, options);
    const lines = await runRow(row, options);
    for (const line of lines) say(format(line));
    kept[keyOf(row.id, wanted.board)] = { ...about, lines };
    results.keep(name, kept);
  }
  const lines = Object.values(kept).flatMap((one) => one.lines);
  say(`\n${summary(lines)}\n\nwritten to .device/bench/latest.json and .device/bench/runs/${name}.json`);
  if (lines.some(({ verdict }) => verdict === 'FAIL')) process.exitCode = 1;
}

/** Prints what is kept as tables, and puts them into the page. */
function writeFigures(): void {
  const tables = markdown(results.latest);
  const page = join(HERE, 'docs/performance.md');
  writeFileSync(page, withFigures(readFileSync(page, 'utf8'), tables));
  say(tables);
}

const wanted = readUsage('test/bench/run.ts', HELP, process.argv.slice(2), readWanted);
if (wanted.markdown) writeFigures();
else if (wanted.profile) say(`made ${(await profile(wanted.profile, wanted.sku, say)).join(' and ')}`);
else await run(wanted);
