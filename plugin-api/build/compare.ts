/** Effect of a change of the API report on the version (VERSIONING.md). */
import semver from 'semver';
import type { ApiReport } from './report.ts';

export type ChangeKind = 'major' | 'minor';

export interface ApiChange {
  readonly kind: ChangeKind;
  /** "removed door ./audio", "changed CoreError". */
  readonly what: string;
}

/**
 * Removals and changes are major, additions are minor. A declaration with all its former lines and some more counts
 * as an addition: an author who adds members that others have to implement knows better, and says so in a change
 * note.
 */
export function changesOf(before: ApiReport, after: ApiReport): readonly ApiChange[] {
  const changes: ApiChange[] = [];
  const compare = <T>(was: ReadonlyMap<string, T>, is: ReadonlyMap<string, T>, thing: string) => {
    for (const key of was.keys()) if (!is.has(key)) changes.push({ kind: 'major', what: `removed ${thing}${key}` });
    for (const key of is.keys()) if (!was.has(key)) changes.push({ kind: 'minor', what: `added ${thing}${key}` });
  };
  compare(before.doors, after.doors, 'door ');
  for (const [door, names] of before.doors) {
    const now = after.doors.get(door);
    if (now) compare(entries(names), entries(now), `${door} `);
  }
  const exported = new Set([...before.doors.values()].flat());
  for (const [name, was] of before.declarations) {
    const is = after.declarations.get(name);
    // A removed declaration that was never exported shows in those that used it.
    if (is === undefined || is === was) continue;
    const grown = linesLeft(was, is);
    changes.push({ kind: grown ? 'minor' : 'major', what: `${grown ? 'added to' : 'changed'} ${name}` });
  }
  for (const name of exported) {
    const gone = before.declarations.has(name) && !after.declarations.has(name);
    const told = changes.some(({ what }) => what.endsWith(` ${name}`));
    if (gone && !told) changes.push({ kind: 'major', what: `removed ${name}` });
  }
  return changes;
}

/** The least version that may follow `released` with these changes. */
export function leastVersion(released: string, changes: readonly ApiChange[]): string {
  if (changes.length === 0) return released;
  const kind = changes.some((change) => change.kind === 'major') ? 'major' : 'minor';
  const next = semver.inc(released, kind);
  if (next === null) throw new Error(`cannot compare with ${released}: it is no version`);
  return next;
}

function entries(names: readonly string[]): ReadonlyMap<string, true> {
  return new Map(names.map((name) => [name, true]));
}

/** Has the new text every line of the old one? */
function linesLeft(was: string, is: string): boolean {
  const counts = new Map<string, number>();
  for (const line of is.split('\n')) counts.set(line, (counts.get(line) ?? 0) + 1);
  return was.split('\n').every((line) => {
    const left = counts.get(line) ?? 0;
    counts.set(line, left - 1);
    return left > 0;
  });
}
