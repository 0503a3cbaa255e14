/** The saves of an author, one after the other: each is told once it is over, however many files it was made of. */
import { type Dirent, lstatSync, readdirSync, realpathSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pause } from '@device-core/plugin-api/inside/program';
import { type FSWatcher, watch } from 'chokidar';

/** Files that no program of the app reads, or that it writes itself. */
const IGNORED = /(^|\/)(\.git|\.device|node_modules|__pycache__|\.[^/]*\.sw.|[^/]*~|[^/]*\.app)(\/|$)/;
/** An editor writes a file in several steps, a formatter a moment later. */
const QUIET_MS = 80;
/** A folder that is written to without a pause is a save after so long. */
const LONGEST_SAVE_MS = 3_000;
/** A look without an event: file systems of other machines send none, and the watches of a system may run out. */
const LOOK_MS = 2_000;
/** Looks at a folder of many files take at most a twentieth of a processor. */
const LOOK_SHARE = 20;
const MOST_NAMED = 4;

/** Paths relative to the folder -> inode, size and time of the last change. */
type Stamps = ReadonlyMap<string, string>;

/** Events only say when to look; the comparison of two looks says what changed. A temporary file that is gone again changed nothing. */
export class Saves implements Disposable {
  readonly #folder: string;
  readonly #watcher: FSWatcher;
  #known: Stamps;
  #stirred = new AbortController();
  #pauseMs = LOOK_MS;

  constructor(folder: string) {
    this.#folder = folder;
    this.#known = this.#look() ?? new Map();
    const real = realpathSync(folder);
    this.#watcher = watch(real, {
      ignoreInitial: true,
      followSymlinks: false,
      ignored: (path) => IGNORED.test(relative(real, path)),
    });
    // Ready: a save from before it had no event. Error: the looks by the clock go on without the watcher.
    for (const event of ['all', 'ready', 'error'] as const) this.#watcher.on(event, () => this.#stirred.abort());
  }

  /** Names of the files of the next save, relative to the folder; of all that came since the last call. Undefined: it was aborted. */
  async next(signal: AbortSignal): Promise<readonly string[] | undefined> {
    while (!signal.aborted) {
      await rest(this.#pauseMs, AbortSignal.any([signal, this.#stirred.signal]));
      this.#stirred = new AbortController();
      const settled = await this.#settled(signal);
      const names = settled ? changes(this.#known, settled) : [];
      if (signal.aborted || !settled || names.length === 0) continue;
      this.#known = settled;
      return names;
    }
    return undefined;
  }

  /** The files once two looks agree. Undefined: the folder is not there. */
  async #settled(signal: AbortSignal): Promise<Stamps | undefined> {
    const end = performance.now() + LONGEST_SAVE_MS;
    let before = this.#known;
    let now = this.#look();
    while (now && changes(before, now).length > 0 && performance.now() < end && !signal.aborted) {
      await rest(QUIET_MS, signal);
      before = now;
      now = this.#look();
    }
    return now;
  }

  #look(): Stamps | undefined {
    const began = performance.now();
    const stamps = stampsOf(this.#folder);
    this.#pauseMs = Math.max(LOOK_MS, LOOK_SHARE * (performance.now() - began));
    return stamps;
  }

  [Symbol.dispose](): void {
    void this.#watcher.close();
  }
}

/** A few names, and how many more there are. */
export function savedNames(names: readonly string[]): string {
  const more = names.length - MOST_NAMED;
  return `${names.slice(0, MOST_NAMED).join(' ')}${more > 0 ? ` and ${more} more` : ''}`;
}

function changes(before: Stamps, now: Stamps): readonly string[] {
  const gone = [...before.keys()].filter((name) => !now.has(name));
  const other = [...now].filter(([name, stamp]) => before.get(name) !== stamp).map(([name]) => name);
  return [...gone, ...other].sort();
}

/** Undefined: there is no such folder. */
function stampsOf(folder: string): Stamps | undefined {
  if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory()) return undefined;
  const stamps = new Map<string, string>();
  const walk = (inside: string): void => {
    for (const entry of entriesOf(join(folder, inside))) {
      const name = join(inside, entry.name);
      if (IGNORED.test(name)) continue;
      const path = join(folder, name);
      if (entry.isDirectory()) walk(name);
      else if (entry.isSymbolicLink()) stamps.set(name, `${stampOf(path, lstatSync)} ${stampOf(path, statSync)}`);
      else stamps.set(name, stampOf(path, lstatSync));
    }
  };
  walk('');
  return stamps;
}

function entriesOf(folder: string): readonly Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch {
    return []; // it went away during the look, or may not be read: then no program of the app reads it either
  }
}

/** By the time of change of the inode: tools that set the time of a file to an older one cannot set this. */
function stampOf(path: string, stat: typeof statSync): string {
  try {
    const found = stat(path, { throwIfNoEntry: false });
    return found ? `${found.ino}:${found.size}:${found.ctimeMs}` : '-';
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code); // a link in a circle, for example
  }
}

/** Ends early, without an error, when the signal is aborted. */
function rest(ms: number, signal: AbortSignal): Promise<void> {
  return pause(ms, signal).catch(() => undefined);
}
