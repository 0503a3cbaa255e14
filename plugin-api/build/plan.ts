/** Plan of a release: versions from change notes and from the API report, and the section of the changelog. */
import semver from 'semver';
import { changesOf, leastVersion } from './compare.ts';
import { type ChangeNote, KINDS, type NoteKind, PACKAGES, type PackageId } from './notes.ts';
import type { ApiReport } from './report.ts';

/** A package as it stands in the checkout, and as it was released last. */
export interface PackageState {
  readonly current: string;
  /** Undefined before the first release: the current version is the first one. */
  readonly released: string | undefined;
}

export interface ReleaseInput {
  readonly notes: readonly ChangeNote[];
  readonly packages: Readonly<Record<PackageId, PackageState>>;
  readonly report: ApiReport;
  /** Report of the last release of plugin-api. */
  readonly releasedReport: ApiReport | undefined;
}

/** Version of each package after the release. */
export type ReleasePlan = Readonly<Record<PackageId, string>>;

const TITLES: Readonly<Record<NoteKind, string>> = { major: 'Changed', minor: 'Added', patch: 'Fixed' };

/** Throws where there is nothing to release, and where the notes say less than the API report. */
export function planRelease({ notes, packages, report, releasedReport }: ReleaseInput): ReleasePlan {
  if (notes.length === 0) throw new Error('cannot release: there are no change notes in .changes');
  const next = Object.fromEntries(PACKAGES.map((id) => [id, nextVersion(packages[id], kindOf(notes, id))]));
  const plan = next as ReleasePlan;
  const { released } = packages['plugin-api'];
  if (released !== undefined && releasedReport !== undefined) {
    const changes = changesOf(releasedReport, report);
    const least = leastVersion(released, changes);
    if (semver.lt(plan['plugin-api'], least)) {
      const told = changes.map(({ what }) => what).join(', ');
      throw new Error(`cannot release plugin-api ${plan['plugin-api']}: its API asks for ${least} (${told})`);
    }
  }
  return plan;
}

/** The changelog with a section for this release on top, or with its unreleased section closed. */
export function withRelease(changelog: string, plan: ReleasePlan, notes: readonly ChangeNote[], date: string): string {
  const heading = `## ${plan.core}, plugin-api ${plan['plugin-api']} (${date})`;
  const groups = KINDS.toReversed().flatMap((kind) => {
    const lines = notes.filter((note) => note.kind === kind).map(lineOf);
    return lines.length === 0 ? [] : [`### ${TITLES[kind]}\n\n${lines.join('\n')}`];
  });
  const section = `${groups.join('\n\n')}\n`;
  const open = `## ${plan.core} (unreleased)\n`;
  if (changelog.includes(open))
    return changelog.replace(open, `${heading}\n\n${section}\n### Before there were notes\n`);
  return changelog.replace(/^# Changelog\n/, `# Changelog\n\n${heading}\n\n${section}`);
}

function lineOf({ packages, text }: ChangeNote): string {
  const [first = '', ...rest] = text.split('\n');
  return [`- ${packages.join(', ')}: ${first}`, ...rest.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
}

function kindOf(notes: readonly ChangeNote[], id: PackageId): NoteKind | undefined {
  const kinds = notes.filter(({ packages }) => packages.includes(id)).map(({ kind }) => KINDS.indexOf(kind));
  return kinds.length === 0 ? undefined : KINDS[Math.max(...kinds)];
}

/** Before 1.0.0 a major change makes a minor version. */
function nextVersion({ current, released }: PackageState, kind: NoteKind | undefined): string {
  if (released === undefined) return current;
  if (kind === undefined) return released;
  const step = kind === 'major' && semver.major(released) === 0 ? 'minor' : kind;
  const next = semver.inc(released, step);
  if (next === null) throw new Error(`cannot release: ${released} is no version`);
  return next;
}
