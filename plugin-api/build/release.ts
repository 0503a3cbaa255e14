/**
 * Makes a release of what stands in `.changes/`: versions, changelog, the base for the next API report, and the packed
 * file for authors. It commits and publishes nothing.
 *
 *   npm run release -- [--dry-run] [--out FOLDER] [--date YYYY-MM-DD]
 */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { readNotes } from './notes.ts';
import { packPluginApi } from './pack.ts';
import { API_FOLDER, OWN_NAME, ROOT, readPackageJson } from './package-json.ts';
import { planRelease, type ReleasePlan, withRelease } from './plan.ts';
import { hashOf, RELEASED_FILE, RELEASED_REPORT, type Released, readReleased, releasedReport } from './released.ts';
import { makeReport, printReport, REPORT_FILE } from './report.ts';

const CHANGELOG = join(ROOT, 'CHANGELOG.md');

/** Places of the versions, with their patterns. Each place must be found: a version left unchanged would be wrong. */
const PLACES: readonly (readonly [file: string, of: keyof ReleasePlan, before: RegExp])[] = [
  ['package.json', 'core', /(^ {2}"version": ")[^"]+/m],
  ['package.json', 'plugin-api', new RegExp(`("${OWN_NAME}": ")[^"]+`)],
  ['package-lock.json', 'core', /(^ {2}"version": ")[^"]+/m],
  ['package-lock.json', 'core', /(^ {6}"name": "device-core",\n {6}"version": ")[^"]+/m],
  ['package-lock.json', 'plugin-api', new RegExp(`(^ {8}"${OWN_NAME}": ")[^"]+`, 'm')],
  ['package-lock.json', 'plugin-api', new RegExp(`("name": "${OWN_NAME}",\\n {6}"version": ")[^"]+`)],
  ['plugin-api/package.json', 'plugin-api', /(^ {2}"version": ")[^"]+/m],
  ['plugin-api/contract/version.ts', 'plugin-api', /(API_VERSION = ')[^']+/],
  ['kernel/composition.ts', 'core', /(CORE_VERSION = ')[^']+/],
];

function setVersions(plan: ReleasePlan): void {
  for (const [name, of, pattern] of PLACES) {
    const file = join(ROOT, name);
    const text = readFileSync(file, 'utf8');
    if (!pattern.test(text)) throw new Error(`cannot set the version of ${of}: ${name} has no ${pattern}`);
    writeFileSync(file, text.replace(pattern, `$1${plan[of]}`));
  }
}

function release({ dryRun, out, date }: { dryRun: boolean; out: string; date: string }): void {
  const notes = readNotes(ROOT);
  const last = readReleased(ROOT);
  const report = makeReport();
  const plan = planRelease({
    notes,
    packages: {
      core: { current: readPackageJson(ROOT).version, released: last.core ?? undefined },
      'plugin-api': { current: readPackageJson(API_FOLDER).version, released: last['plugin-api']?.version },
    },
    report,
    releasedReport: releasedReport(ROOT)?.report,
  });
  const changelog = withRelease(readFileSync(CHANGELOG, 'utf8'), plan, notes, date);
  console.log(`device-core ${plan.core}, plugin-api ${plan['plugin-api']}, of ${notes.length} change notes`);
  for (const { file, kind, packages } of notes) console.log(`  ${kind} ${packages.join(', ')}: ${file}`);
  if (dryRun) {
    console.log('nothing was written');
    return;
  }

  setVersions(plan);
  writeFileSync(CHANGELOG, changelog);
  const page = printReport(report);
  writeFileSync(REPORT_FILE, page);
  writeFileSync(join(ROOT, RELEASED_REPORT), page);
  const released: Released = {
    core: plan.core,
    'plugin-api': { version: plan['plugin-api'], report: hashOf(page) },
  };
  writeFileSync(join(ROOT, RELEASED_FILE), `${JSON.stringify(released, null, 2)}\n`);
  for (const { file } of notes) rmSync(join(ROOT, file));
  console.log(packPluginApi(out));
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      'dry-run': { type: 'boolean', default: false },
      out: { type: 'string', default: '.' },
      date: { type: 'string', default: new Date().toISOString().slice(0, 10) },
    },
  });
  try {
    release({ dryRun: values['dry-run'], out: resolve(values.out), date: values.date });
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
