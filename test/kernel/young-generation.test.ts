/** What the Core's process keeps for new objects: the kernel's start says it to V8 (ADR 0062). */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';

const START = pathToFileURL(join(import.meta.dirname, '../../kernel/start.js')).href;
const MIB = 1 << 20;

/** Objects of which many outlive two collections: V8 doubles what it keeps for such, up to its bound. */
const CHURN = `
process.argv.push('kernel', '--version');
await import(${JSON.stringify(START)});
const { getHeapSpaceStatistics } = await import('node:v8');
const sizeOf = () => getHeapSpaceStatistics().find(({ space_name }) => space_name === 'new_space').space_size;
const begins = sizeOf();
const kept = [];
for (let index = 0; index < 600_000; index++) kept[index % 20_000] = { index, list: [index, index], text: 'x' + index };
console.log(JSON.stringify([begins, sizeOf()]));
`;

/** How often the threads of V8 were woken for objects that die young, and how many collections there were. */
const WOKEN = `
process.argv.push('kernel', '--version');
await import(${JSON.stringify(START)});
const { readdirSync, readFileSync } = await import('node:fs');
const { PerformanceObserver } = await import('node:perf_hooks');
const woken = () => {
  let sum = 0;
  for (const task of readdirSync('/proc/self/task')) {
    const status = readFileSync('/proc/self/task/' + task + '/status', 'utf8');
    if (Number(task) !== process.pid) sum += Number(/\\nvoluntary_ctxt_switches:\\s+(\\d+)/.exec(status)[1]);
  }
  return sum;
};
let collections = 0;
const observer = new PerformanceObserver((list) => (collections += list.getEntries().filter(({ detail }) => detail.kind === 1).length));
observer.observe({ entryTypes: ['gc'] });
const before = woken();
const kept = [];
for (let index = 0; index < 1_000_000; index++) kept[index % 3_000] = { index, list: [index, index] };
const after = woken();
await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
console.log(JSON.stringify([after - before, collections]));
`;

async function saidBy(program: string, ...node: readonly string[]): Promise<unknown> {
  const { NODE_OPTIONS: _, ...env } = process.env;
  const args = [...node, '--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env, timeout: 60_000 });
  return JSON.parse(stdout.trim().split('\n').at(-1)!);
}

async function young(...node: readonly string[]): Promise<{ readonly begins: number; readonly churned: number }> {
  const [begins, churned] = (await saidBy(CHURN, ...node)) as [number, number];
  return { begins: begins / MIB, churned: churned / MIB };
}

describe('the young generation of the Core', () => {
  it('stays as small as at the start of the Core, for any number of survivors', async () => {
    // Now and then a collection of the old generation lets it grow all the same; without the option it is always twice this.
    const sizes = [await young(), await young(), await young()].map(({ churned }) => churned);
    assert.ok(Math.min(...sizes) <= 8, `${sizes.join(', ')} MiB`);
  });

  it('is collected by the thread that filled it', async () => {
    const [woken, collections] = (await saidBy(WOKEN)) as [number, number];
    assert.ok(collections > 20, `${collections} collections`);
    // Compilers and the marking of the old generation have threads, too.
    assert.ok(woken < collections, `${woken} wakes of other threads for ${collections} collections`);
  });

  it('is as large as an option of Node says', async () => {
    const { begins, churned } = await young('--max-semi-space-size=16');
    assert.ok(churned > begins + 2 && churned <= 32, `${begins} and then ${churned} MiB`);
  });
});
