/** Control groups that limit the tasks of guests (cgroups(7), controller pids), where the system lets the Core make some. */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { treeOf } from './process-usage.ts';

const ROOT = '/sys/fs/cgroup';
const PREFIX = 'device-guest-';

/** Group of one run. */
export interface TaskGroup {
  /** Puts a process and all below it inside. */
  add(leader: number): void;
  /** When nothing of the run is left. */
  remove(): void;
}

/** A folder in which the Core may make groups. */
export class TaskGroups {
  readonly #folder: string;

  /** Undefined where no group can be made; a trial finds out. */
  static open(): TaskGroups | undefined {
    for (const folder of groupPlaces()) {
      const groups = new TaskGroups(folder);
      if (!groups.#tries()) continue;
      groups.#sweep();
      return groups;
    }
    return undefined;
  }

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** A group with at most so many tasks; undefined where the system refuses it now. */
  make(run: string, most: number): TaskGroup | undefined {
    const folder = join(this.#folder, `${PREFIX}${process.pid}-${run.replace(/[^\w.-]/g, '_')}`);
    try {
      mkdirSync(folder);
      writeFileSync(join(folder, 'pids.max'), String(most));
    } catch {
      removeEmpty(folder);
      return undefined; // the watch counts its tasks
    }
    const put = (pid: number) => attempt(() => writeFileSync(join(folder, 'cgroup.procs'), String(pid)));
    return {
      add(leader) {
        put(leader);
        // It may have begun to make its walls meanwhile.
        for (const pid of treeOf(leader).slice(1)) put(pid);
      },
      remove: () => void removeEmpty(folder),
    };
  }

  #tries(): boolean {
    const folder = join(this.#folder, `${PREFIX}${process.pid}-trial`);
    const made = attempt(() => mkdirSync(folder)) && existsSync(join(folder, 'pids.max'));
    return removeEmpty(folder) && made;
  }

  /** Removes those of a Core that has gone. */
  #sweep(): void {
    for (const name of readdirSync(this.#folder)) {
      const core = new RegExp(`^${PREFIX}(\\d+)-`).exec(name)?.[1];
      if (core !== undefined && !existsSync(`/proc/${core}`)) removeEmpty(join(this.#folder, name));
    }
  }
}

/**
 * With version 1 the Core's own group. With version 2 a group with processes can give its children no limits, unless it
 * is the root: there the unit's group, where systemd put the Core into a part of it (Delegate=, DelegateSubgroup=).
 */
export function groupPlaces(root = ROOT, self = '/proc/self/cgroup'): readonly string[] {
  const places: string[] = [];
  for (const line of readText(self).split('\n')) {
    const [id, controllers = '', path = ''] = line.split(':');
    if (controllers.split(',').includes('pids')) places.push(join(root, 'pids', path));
    if (id !== '0' || controllers !== '') continue;
    const own = join(root, path);
    const above = dirname(own);
    const delegated = /\.(service|scope)$/.test(basename(above)) && readText(join(above, 'cgroup.procs')).trim() === '';
    const place = path === '/' ? own : delegated ? above : undefined;
    if (place === undefined || !readText(join(place, 'cgroup.controllers')).split(/\s/).includes('pids')) continue;
    attempt(() => writeFileSync(join(place, 'cgroup.subtree_control'), '+pids'));
    places.push(place);
  }
  return places;
}

function removeEmpty(folder: string): boolean {
  return attempt(() => rmdirSync(folder));
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // no such version, or none at all
  }
}

/** False where the system refuses. */
function attempt(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
