/**
 * The tests of every plugin, with the plugin in a process, or in a worker where it refuses that: what they say of it does not depend on where it runs.
 * Both borders speak the same protocol, so one plugin at both is enough for a run. A plugin that no manifest isolates
 * runs its smaller suites; DEVICE_SOAK=1 runs each whole and at both (docs/adr/0038, 0165, 0194).
 * `npm test` runs those of one plugin at each level, `npm run test:rest` those of all.
 * Costs processes: the suites of each plugin once more.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describe, it } from 'node:test';
import type { PluginManifest } from '@device-core/plugin-api';
import { treeManifests } from '@device-core/plugin-api/inside/tree';
import { ISOLATED_VARIABLE, ISOLATION_VARIABLE, refusal } from '@device-core/plugin-api/testing';
import { parse } from 'yaml';
import { FULL, FULL_COUNTS } from '../fixtures/runs.ts';

const ROOT = join(import.meta.dirname, '../..');
const TREE = treeManifests(ROOT);
const TESTS = join(ROOT, 'test/plugins');
/** It has a service, events, a contract of others and timers, and is quick. */
const SLICE = 'bme280';
/** Every plugin at both levels. */
const BOTH = process.env.DEVICE_SOAK === '1';
/** Bytes of suites of a plugin that runs in the Core unless an OEM says otherwise: the calls that cross the border repeat. */
const MOST_BYTES = 20_000;
/** The suites of one plugin hang beyond it. */
const LONGEST_MS = 400_000;

/** Test files of a plugin that start it through createTestHost(), themselves or by a helper of the tests. */
function suites(id: string): readonly string[] {
  const folder = join(TESTS, id);
  const starts = (file: string, seen: Set<string> = new Set()): boolean => {
    if (seen.has(file) || !file.startsWith(join(ROOT, 'test/'))) return false;
    seen.add(file);
    const source = readFileSync(file, 'utf8');
    if (source.includes('createTestHost(')) return true;
    const others = [...source.matchAll(/from '(\.[^']+)'/g)].map(([, path]) => join(dirname(file), path!));
    return others.some((other) => starts(other, seen));
  };
  return readdirSync(folder)
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(folder, name))
    .filter((file) => starts(file));
}

/** The smallest of these files that fit MOST_BYTES, one at least. */
function smaller(files: readonly string[]): readonly string[] {
  const sized = files.map((file) => ({ file, size: statSync(file).size })).sort((a, b) => a.size - b.size);
  const upTo = (index: number) => sized.slice(0, index + 1).reduce((sum, { size }) => sum + size, 0);
  return sized.filter((_, index) => index === 0 || upTo(index) <= MOST_BYTES).map(({ file }) => file);
}

async function run(
  id: string,
  files: readonly string[],
  level: string,
): Promise<{ code: number | null; said: string }> {
  // Counts of random tests do not depend on the level: the small ones do.
  const { NODE_TEST_CONTEXT: _, [FULL_COUNTS]: __, ...env } = process.env;
  const child = spawn(
    process.execPath,
    // A suite that fails may leave what would keep it for ever; what the leak check says of it has been said by then.
    ['--test', '--test-force-exit', '--test-reporter=dot', '--test-concurrency=1', '--test-timeout=120000', ...files],
    {
      cwd: ROOT,
      env: { ...env, [ISOLATION_VARIABLE]: level, [ISOLATED_VARIABLE]: id },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
    },
  );
  const ended = new Promise<number | null>((done) => child.on('close', done));
  const said = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, said: said.join('\n').slice(-8_000) };
}

for (const level of ['worker', 'process'] as const) {
  describe(`in a ${level}`, { concurrency: 2 }, () => {
    for (const id of FULL ? readdirSync(TESTS).sort() : [SLICE]) {
      const file = TREE.get(id)!;
      const manifest = parse(readFileSync(file, 'utf8')) as PluginManifest;
      const other = level === 'worker' && !BOTH && id !== SLICE && refusal(manifest, 'process') === undefined;
      const reason = refusal(manifest, level) ?? (other ? 'a process runs them' : undefined);
      const files = BOTH || manifest.isolation !== undefined ? suites(id) : smaller(suites(id));
      if (reason !== undefined || files.length === 0) {
        it(`${id} is not run: ${reason ?? 'its tests start it as a part of a whole Core'}`, () => {
          assert.ok(reason !== undefined || files.length === 0);
        });
        continue;
      }
      it(`${id} passes its tests`, { timeout: 2 * LONGEST_MS + 100_000 }, async (t) => {
        const first = await run(id, files, level);
        if (first.code === 0) return;
        t.diagnostic(first.said); // as test/run.ts does with files: once more, and named
        const second = await run(id, files, level);
        assert.equal(second.code, 0, second.said);
        console.log(`::warning file=test/plugins/${id}::passed only at the second try in a ${level}`);
      });
    }
  });
}
