/** The nearest to a small board that can be had here: one core by `taskset`, 512 MB by a memory group. What is absent is named. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const LIMIT_MB = 512;
const LIMIT_BYTES = LIMIT_MB * 1_000_000;

export interface Confinement extends Disposable {
  /** What stands before the command of the Core; it becomes the Core by exec, so that the process stays the same. */
  readonly command: readonly string[];
  /** What was used, and what could not be. */
  readonly told: readonly string[];
}

interface Group {
  readonly told: string;
  readonly command: readonly string[];
  remove(): void;
}

function works(program: string, ...args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0;
}

/** Where this process is in the hierarchy of a controller; the unified one has the empty name. */
function groupOf(controller: string): string | undefined {
  return readFileSync('/proc/self/cgroup', 'utf8')
    .split('\n')
    .map((line) => /^\d+:([^:]*):(.*)$/.exec(line))
    .find((found) => found?.[1]?.split(',').includes(controller))?.[2];
}

/** Mount point of the unified hierarchy, or of the first one with the memory controller. */
function mounted(type: string, option: string): string | undefined {
  return readFileSync('/proc/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .find((fields) => fields[2] === type && (option === '' || fields[3]?.split(',').includes(option)))?.[1];
}

/** A group of its own with the limit, or why there is none. Swap counts as memory, where the system counts it. */
function memoryGroup(version: 1 | 2): Group | string {
  const [type, controller, limit] =
    version === 2 ? (['cgroup2', '', 'memory.max'] as const) : (['cgroup', 'memory', 'memory.limit_in_bytes'] as const);
  const top = mounted(type, controller);
  const own = groupOf(controller);
  if (top === undefined || own === undefined) return `no cgroup v${version} with memory is mounted`;
  const folder = join(top, own, `device-bench-${process.pid}`);
  try {
    mkdirSync(folder);
    try {
      writeFileSync(join(folder, limit), String(LIMIT_BYTES));
    } catch (error) {
      rmdirSync(folder);
      throw error;
    }
  } catch (error) {
    return `cgroup v${version} cannot limit memory here: ${(error as NodeJS.ErrnoException).code ?? String(error)}`;
  }
  return {
    told: `a cgroup v${version} of ${LIMIT_MB} MB`,
    command: ['sh', '-c', `echo $$ >'${join(folder, 'cgroup.procs')}' && exec "$@"`, 'sh'],
    remove: () => rmdirSync(folder),
  };
}

function scope(): Group | string {
  const command = ['systemd-run', '--scope', '--quiet', '-p', `MemoryMax=${LIMIT_BYTES}`];
  if (!works(command[0]!, ...command.slice(1), 'true')) return 'systemd-run cannot make a scope here';
  return { told: `a scope of systemd-run of ${LIMIT_MB} MB`, command, remove: () => undefined };
}

/** `prlimit` is no way out: RLIMIT_AS counts addresses, of which V8 reserves gigabytes that it never uses. */
export function confine(): Confinement {
  const told: string[] = [];
  const found = [() => memoryGroup(2), scope, () => memoryGroup(1)].reduce<Group | undefined>((group, next) => {
    if (group) return group;
    const made = next();
    if (typeof made !== 'string') return made;
    told.push(made);
    return undefined;
  }, undefined);
  told.push(
    found
      ? `memory is limited by ${found.told}`
      : 'memory is not limited: prlimit cannot, as V8 reserves far more addresses than it uses',
  );
  const pinned = works('taskset', '-c', '0', 'true');
  told.push(pinned ? 'one core by taskset -c 0' : 'not pinned to one core: no taskset');
  return {
    command: [...(found?.command ?? []), ...(pinned ? ['taskset', '-c', '0'] : [])],
    told,
    [Symbol.dispose]: () => found?.remove(),
  };
}
