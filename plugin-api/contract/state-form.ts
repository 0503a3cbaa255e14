/**
 * Files that the Core keeps carry the number of their form. A newer Core may have written one, and comes back to it
 * after a rollback: a form above the known one is no damage. Such a file is left alone, nothing that belongs to it is
 * removed, and the health says STATE_NEWER. Pure.
 */
import { CoreError } from './errors.ts';
import type { PluginManifest, StateForms } from './manifest.ts';

/** The error for a file of a newer form, undefined for any other. A file without a number has form 1. */
export function newerForm(file: string, format: unknown, known: number): CoreError | undefined {
  if (typeof format !== 'number' || !(format > known)) return undefined;
  return new CoreError('STATE_NEWER', { file, format, known });
}

export function isNewer(thrown: unknown): thrown is CoreError {
  return thrown instanceof CoreError && thrown.code === 'STATE_NEWER';
}

/** Store -> forms, of all these plugins: member `state` of an image. */
export function stateOf(manifests: Iterable<Pick<PluginManifest, 'state'>>): Readonly<Record<string, StateForms>> {
  const stores = [...manifests].flatMap(({ state = {} }) => Object.entries(state));
  return Object.fromEntries(stores.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** A store whose form another image changes. */
export interface StateChange {
  readonly store: string;
  readonly from: number;
  readonly to: number;
  /** True where the next image reads today's files. */
  readonly forth: boolean;
  /** True where today's image reads the next one's files. If not, it finds its former file again as it was left. */
  readonly back: boolean;
}

/** Stores whose form changes with another image. */
export function stateChanges(
  now: Readonly<Record<string, StateForms>>,
  next: Readonly<Record<string, StateForms>>,
): readonly StateChange[] {
  return Object.entries(now).flatMap(([store, one]) => {
    const two = next[store];
    if (!two || (one.writes === two.writes && two.reads.includes(one.writes))) return []; // files of a plugin that goes stay where they are
    const [forth, back] = [two.reads.includes(one.writes), one.reads.includes(two.writes)];
    return [{ store, from: one.writes, to: two.writes, forth, back }];
  });
}
