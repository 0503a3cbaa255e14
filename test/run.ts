/**
 * Every test file, and once more, alone, each file in which a test failed.
 *
 * The suites start real processes and sockets and wait for them; on a machine that does something else as well, one in some
 * thousand waits runs out. A file that passes only alone is named at the end and in a GitHub-style warning: it is a test to
 * mend, not to get used to. A file that fails twice fails the run.
 */
import { globSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';

const ROOT = resolve(import.meta.dirname, '..');
/** Beyond so many the machine or the change is wrong, not the luck of a test. */
const MOST_AGAIN = 5;

async function pass(files: readonly string[], concurrency: number | boolean): Promise<readonly string[]> {
  const passed = new Set<string>();
  const stream = run({ files, concurrency, timeout: 120_000, cwd: ROOT });
  stream.on('test:summary', ({ file, success }) => {
    if (file !== undefined && success) passed.add(file);
  });
  const told = stream.compose(new spec());
  told.pipe(process.stdout);
  await new Promise((done, failed) => told.on('end', done).on('error', failed));
  return files.filter((file) => !passed.has(file));
}

const patterns = process.argv.slice(2);
const files = globSync(patterns.length > 0 ? patterns : ['test/**/*.test.ts'], { cwd: ROOT })
  .map((file) => resolve(ROOT, file))
  .sort();
if (files.length === 0) {
  console.error(`no test file is like ${patterns.join(' ')}`);
  process.exit(2);
}
const failed = await pass(files, true);
if (failed.length > 0) {
  const named = failed.map((file) => relative(ROOT, file)).join(', ');
  if (failed.length > MOST_AGAIN) {
    console.error(`${failed.length} files with failures, too many to try again: ${named}`);
    process.exit(1);
  }
  console.log(`\nonce more, alone: ${named}\n`);
  const still = await pass(failed, 1);
  for (const file of failed.filter((name) => !still.includes(name)))
    console.log(`::warning file=${relative(ROOT, file)}::passed only at the second try, alone`);
  process.exitCode = still.length > 0 ? 1 : 0;
}
