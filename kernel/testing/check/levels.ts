/** Runs at each level of isolation: the plugin's own tests, and start, stop, start, stop. */
import { extname, join } from 'node:path';
import type { Isolation, PluginManifest } from '@device-core/plugin-api';
import { ISOLATION_VARIABLE } from '../isolation.ts';
import { OBSERVED_CODE_VARIABLE, OBSERVED_VARIABLE } from '../observed.ts';
import type { Place } from './place.ts';
import type { CheckRow } from './report.ts';
import { runNode } from './run-node.ts';
import type { StartStop } from './start-stop.ts';
import { testFailures } from './test-failures.ts';

const TESTS_MS = 120_000;
const START_STOP_MS = 60_000;
const START_STOP = join(import.meta.dirname, `start-stop${extname(import.meta.filename)}`);
const MAX_LINES = 40;

export interface Surroundings {
  readonly place: Place;
  readonly manifest: PluginManifest;
  readonly main: string;
  /** File for the notes of what the plugin used. */
  readonly notes: string;
}

export async function testsAt(level: Isolation, context: Surroundings): Promise<CheckRow> {
  const check = `tests ${level}`;
  const { tests, checkout, folder } = context.place;
  const args = ['--test', '--test-reporter=tap', ...tests];
  const env = environment(level, context);
  const ended = await runNode(args, { cwd: checkout ?? folder, ms: TESTS_MS, env });
  const passed = /^# pass (\d+)$/m.exec(ended.stdout)?.[1] ?? '0';
  if (ended.code === 0) return { check, outcome: 'PASS', remark: `${passed} passed` };
  if (ended.timedOut) return { check, outcome: 'FAIL', remark: `they did not end within ${TESTS_MS / 1000} s` };
  return { check, outcome: 'FAIL', remark: ['they fail', ...testFailures(ended.stdout, ended.output)].join('\n') };
}

export interface StartStopRows {
  readonly rows: readonly CheckRow[];
  readonly found: StartStop | undefined;
}

export async function startStopAt(level: Isolation, context: Surroundings): Promise<StartStopRows> {
  const check = `start-stop-start ${level}`;
  const { place, main } = context;
  const args = [START_STOP, place.manifest, main, level, context.notes, place.fakes ?? ''];
  const ended = await runNode(args, { cwd: place.folder, ms: START_STOP_MS, env: environment(level, context) });
  const found = answerOf(ended.stdout);
  const fail = (remark: string): StartStopRows => ({ rows: [{ check, outcome: 'FAIL', remark }], found });
  if (ended.timedOut) return fail(`it did not start and stop twice within ${START_STOP_MS / 1000} s`);
  if (!found) return fail([`it ended the process (exit code ${ended.code})`, ...tail(ended.output)].join('\n'));
  if (found.problems.length > 0) return fail([...new Set(found.problems)].join('\n'));
  const times = found.startMs.map((ms) => `${Math.round(ms)} ms`).join(' and ');
  if (found.standIns.length === 0) return { rows: [{ check, outcome: 'PASS', remark: `started in ${times}` }], found };
  const remark = `with stand-ins that answer nothing for ${found.standIns.join(', ')}; export \`services\` from fakes.ts`;
  return { rows: [{ check, outcome: 'WARN', remark }], found };
}

function environment(level: Isolation, { notes, place }: Surroundings): Readonly<Record<string, string>> {
  // The use by a plugin is the same at every level; only an inline run can observe it.
  const observed = { [OBSERVED_VARIABLE]: notes, [OBSERVED_CODE_VARIABLE]: place.folder };
  return { [ISOLATION_VARIABLE]: level, ...(level === 'inline' ? observed : {}) };
}

function answerOf(stdout: string): StartStop | undefined {
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  return last.startsWith('{"problems":') ? (JSON.parse(last) as StartStop) : undefined;
}

function tail(output: string): readonly string[] {
  return output.trim().split('\n').slice(-MAX_LINES);
}
