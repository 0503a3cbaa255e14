import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LEVELS, refusal } from '../isolation.ts';
import { idleClaims, Observations, unclaimed } from './claims.ts';
import { type Surroundings, startStopAt, testsAt } from './levels.ts';
import { type ManifestFile, readManifestFile } from './manifest-file.ts';
import type { Place } from './place.ts';
import type { CheckRow } from './report.ts';
import { checkTypes } from './types.ts';

/** Everything that can be said of a plugin without a running Core, row by row as it is found out. */
export async function* checkPlugin(place: Place): AsyncGenerator<CheckRow> {
  const file = readManifestFile(place);
  yield* file.rows;
  const { manifest, main } = file;
  if (!manifest || file.rows.some(({ outcome }) => outcome === 'FAIL')) return;
  yield await checkTypes(place);
  const folder = mkdtempSync(join(tmpdir(), 'dc-check-'));
  try {
    const context = { place, manifest, main, notes: join(folder, 'observed.jsonl') };
    yield* checkRuns(context, file);
    // An inline run is what the claims are judged by.
    if (refusal(manifest, 'inline') === undefined) yield* checkClaims(context, file);
    else yield { check: 'minimal grants', outcome: 'SKIP', remark: 'judged by inline runs, and there is none' };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function* checkRuns(context: Surroundings, file: ManifestFile): AsyncGenerator<CheckRow> {
  let compared = false;
  let failing: string | undefined;
  const { tests } = context.place;
  if (tests.length === 0) yield { check: 'tests', outcome: 'WARN', remark: 'it has no tests' };
  for (const level of LEVELS) {
    const why = refusal(context.manifest, level);
    if (why !== undefined) {
      yield { check: `isolation ${level}`, outcome: 'SKIP', remark: why };
      continue;
    }
    const { rows, found } = await startStopAt(level, context);
    if (!compared && found) {
      compared = true;
      yield* agreement(found.disagreements, file);
    }
    yield* rows;
    if (tests.length === 0) continue;
    if (failing !== undefined) {
      yield { check: `tests ${level}`, outcome: 'SKIP', remark: `they fail at level ${failing} already` };
      continue;
    }
    const row = await testsAt(level, context);
    if (row.outcome === 'FAIL') failing = level;
    yield row;
  }
}

function* agreement(disagreements: readonly string[], file: ManifestFile): Generator<CheckRow> {
  const check = 'manifest and code';
  for (const remark of disagreements) yield { check, outcome: 'FAIL', remark, ...file.at(['requires']) };
  if (disagreements.length === 0) yield { check, outcome: 'PASS', remark: 'they require the same' };
}

function* checkClaims({ manifest, notes }: Surroundings, file: ManifestFile): Generator<CheckRow> {
  const check = 'minimal grants';
  const seen = new Observations(notes, manifest.id);
  const idle = idleClaims(manifest, seen);
  for (const { path, remark } of idle) yield { check, outcome: 'WARN', remark, ...file.at(path) };
  const missing = unclaimed(manifest, seen);
  for (const capability of missing) {
    const remark = `needed ${capability}, which it does not claim`;
    yield { check, outcome: 'WARN', remark, ...file.at(['capabilities']) };
  }
  if (idle.length + missing.length === 0) yield { check, outcome: 'PASS', remark: 'it used all that it claims' };
}
