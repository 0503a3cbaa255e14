/**
 * The tests of every plugin, with the plugin in a process, or in a worker where it refuses that: what they say of it does not depend on where it runs.
 * Both borders speak the same protocol, so one plugin at both is enough for a run. A plugin that no manifest isolates
 * runs its smallest suites that cross the border; DEVICE_SOAK=1 runs each whole and at both (docs/adr/0038, 0165, 0208).
 * `npm test` runs those of one plugin at each level, `npm run test:rest` those of all.
 * Costs processes: the suites of each plugin once more.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
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
const MOST_BYTES = 6_000;
/** Guests of these suites: those hosts that follow run in the Core, where the unit lane has shown all of them already. */
const MOST_GUESTS = '6';
/** The suites of one plugin hang beyond it. */
const LONGEST_MS = 400_000;

/** Plugins whose suites have no host on the other side of a border, and why. */
const STAYING: Readonly<Record<string, string>> = {
  alarms: 'its suites move its clock',
  home: 'its suites move its clock',
  nfc: 'its suites move its clock',
  splash: 'its suites move its clock',
  'host-can': 'its suites give it a clock and a bus of this process',
  'host-gpio': 'its suites give it a clock and a bus of this process',
  'host-i2c': 'its suites give it a clock and a bus of this process',
  'host-spi': 'its suites give it a clock and a bus of this process',
};

/** A test file and what it imports of the tests, as texts. */
function texts(file: string, seen: Map<string, string> = new Map()): ReadonlyMap<string, string> {
  // Some write programs that import what is not there.
  if (seen.has(file) || !file.startsWith(join(ROOT, 'test/')) || !existsSync(file)) return seen;
  const source = readFileSync(file, 'utf8');
  seen.set(file, source);
  for (const [, path] of source.matchAll(/from '(\.[^']+)'/g)) texts(join(dirname(file), path!), seen);
  return seen;
}

/** Test files of a plugin that start it through createTestHost(), themselves or by a helper of the tests. */
function suites(id: string): readonly string[] {
  return readdirSync(join(TESTS, id))
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => join(TESTS, id, name))
    .filter((file) =>
      texts(file)
        .values()
        .some((source) => source.includes('createTestHost(')),
    );
}

/** The kit keeps a plugin with a virtual clock in the Core. */
const CLOCK = /\bvirtualClock\b|\bclock:/;
/** A disk with faults is this process's, and a whole Core has the levels of its SKU. */
const CORE = /\bFaultyDisk\b|\bstartCore\(|\bdevicectl\(/;
/** Its Cores have the level of the test kit. */
const BUS_CORE = join(ROOT, 'test/fixtures/bus-core.ts');

/**
 * How likely the plugin of a suite stays in the Core: 0 where nothing says so, 1 and 2 for a clock that a helper or itself may give it, 3 for a
 * helper of several plugins, 4 for a Core.
 */
function staying(file: string): number {
  const helped = texts(file, new Map([[BUS_CORE, '']]));
  if (helped.values().some((source) => CORE.test(source))) return 4;
  if (CLOCK.test(helped.get(file)!)) return 2;
  const near = [...helped].filter(
    ([path, source]) => dirname(path) === dirname(file) && /\b(createTestHost|startBuses)\(/.test(source),
  );
  if (near.length === 0) return 3;
  return helped.values().some((source) => CLOCK.test(source)) ? 1 : 0;
}

/**
 * The files in the order in which they are tried: of those that are the surest to cross the border, the smallest that fit MOST_BYTES, one at
 * least; then each other alone, while no guest came.
 */
function tries(files: readonly string[]): readonly (readonly string[])[] {
  const sized = files
    .map((file) => ({ file, stays: staying(file), size: statSync(file).size }))
    .sort((a, b) => a.stays - b.stays || a.size - b.size);
  let left = MOST_BYTES;
  const first = sized.filter(({ stays, size }, index) => {
    left -= size;
    return index === 0 || (stays === sized[0]!.stays && left >= 0);
  });
  return [first, ...sized.slice(first.length).map((one) => [one])].map((group) => group.map(({ file }) => file));
}

interface Suites {
  readonly files: readonly string[];
  /** Each host is at the level, however many there are. */
  readonly whole: boolean;
}

interface Ran {
  readonly code: number | null;
  readonly said: string;
  /** Workers or processes of the plugin. */
  readonly guests: number;
}

async function run(id: string, { files, whole }: Suites, level: string): Promise<Ran> {
  // Counts of random tests do not depend on the level: the small ones do.
  const { NODE_TEST_CONTEXT: _, [FULL_COUNTS]: __, ...env } = process.env;
  const folder = mkdtempSync(join(tmpdir(), 'levels-'));
  const counted = join(folder, 'guests');
  const counting = { DEVICE_TEST_GUESTS: counted, ...(whole ? {} : { DEVICE_TEST_MOST_GUESTS: MOST_GUESTS }) };
  const child = spawn(
    process.execPath,
    [
      ...['--import', join(import.meta.dirname, 'guests.ts')],
      // A suite that fails may leave what would keep it for ever; what the leak check says of it has been said by then.
      ...['--test', '--test-force-exit', '--test-reporter=dot', '--test-concurrency=1', '--test-timeout=120000'],
      // A process for each file costs as much to load as some tests.
      ...(whole ? [] : ['--test-isolation=none']),
      ...files,
    ],
    {
      cwd: ROOT,
      env: { ...env, [ISOLATION_VARIABLE]: level, [ISOLATED_VARIABLE]: id, ...counting },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LONGEST_MS,
    },
  );
  const ended = new Promise<number | null>((done) => child.on('close', done));
  const said = await Promise.all([text(child.stdout), text(child.stderr)]);
  const code = await ended;
  const lines = existsSync(counted) ? readFileSync(counted, 'utf8').split('\n') : [];
  const guests = lines.reduce((sum, line) => sum + Number(line), 0);
  rmSync(folder, { recursive: true });
  return { code, said: said.join('\n').slice(-8_000), guests };
}

for (const level of ['worker', 'process'] as const) {
  describe(`in a ${level}`, { concurrency: 2 }, () => {
    for (const id of FULL ? readdirSync(TESTS).sort() : [SLICE]) {
      const file = TREE.get(id)!;
      const manifest = parse(readFileSync(file, 'utf8')) as PluginManifest;
      const other = level === 'worker' && !BOTH && id !== SLICE && refusal(manifest, 'process') === undefined;
      const reason = refusal(manifest, level) ?? (other ? 'a process runs them' : STAYING[id]);
      const whole = BOTH || manifest.isolation !== undefined;
      const files = suites(id);
      if (reason !== undefined || files.length === 0) {
        it(`${id} is not run: ${reason ?? 'its tests start it as a part of a whole Core'}`, () => {
          assert.ok(reason !== undefined || files.length === 0);
        });
        continue;
      }
      it(`${id} passes its tests`, { timeout: 2 * LONGEST_MS + 100_000 }, async (t) => {
        for (const some of whole ? [files] : tries(files)) {
          let ran = await run(id, { files: some, whole }, level);
          if (ran.code !== 0) {
            t.diagnostic(ran.said); // as test/run.ts does with files: once more, and named
            ran = await run(id, { files: some, whole }, level);
            assert.equal(ran.code, 0, ran.said);
            console.log(`::warning file=test/plugins/${id}::passed only at the second try in a ${level}`);
          }
          if (ran.guests > 0) return;
        }
        assert.fail(`no suite of ${id} ran it in a ${level}`);
      });
    }
  });
}
