/**
 * State that is to be thrown away or exchanged as a whole, which no running Core can do: a Core orders it, durable, and
 * the next one does it before it opens anything. It may be killed at each step and goes on where it was. What cannot be
 * removed is moved aside and told; the order ends. Imports Node alone.
 */
import {
  closeSync,
  constants,
  existsSync,
  fsyncSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
} from 'node:fs';
import { basename, join } from 'node:path';
import { replaceFileSync } from '../kits/durable/replace.ts';

export type PendingAct = 'reset' | 'restore';

interface Order {
  readonly format: 1;
  readonly act: PendingAct;
  /** `fill`: nothing is thrown away any more. */
  readonly phase: 'wipe' | 'fill';
  /**
   * Names at the top of `<var>` that are still to be removed: none is removed twice, nor one that a Core made since.
   * Absent: not looked yet.
   */
  readonly names?: readonly string[];
}

/** A file that a Core could not remove, as it belongs to another user. */
export interface Remain {
  /** Below `<var>`, where it lies now. */
  readonly path: string;
  readonly reason: string;
}

const FOLDER = 'pending';
const ORDER = 'order.json';
const STATE = 'state';
const REMAINS = 'remains';
const LEFT = 'left.json';
const MOST_REMAINS = 200;
/**
 * Kept names at the top of `<var>`: those about slots and not about this device's use, those of the file system,
 * compiled code, and folders that wait for root.
 */
export const KEPT: readonly string[] = [FOLDER, REMAINS, 'update', 'cache', 'lost+found'];

/** Folder of the files for a restore, laid out as they are to lie below `<var>`. */
export const stagedState = (state: string): string => join(state, FOLDER, STATE);

/** From now on it is done at the next start. Throws the codes of a disk. */
export function orderPending(state: string, act: PendingAct): void {
  mkdirSync(join(state, FOLDER), { recursive: true, mode: 0o700 });
  if (act === 'reset') rmSync(stagedState(state), { recursive: true, force: true });
  sync(state);
  write(state, { format: 1, act, phase: 'wipe' });
}

/** The act that is ordered and not done yet. */
export function pendingAct(state: string): PendingAct | undefined {
  return read(state)?.act;
}

/**
 * Does what was ordered. Before anything of `<var>` is opened, by the one Core that has it. Throws what the disk says;
 * then the next start goes on.
 */
export function finishPending(state: string): PendingAct | undefined {
  const act = pendingAct(state);
  for (const _ of pendingSteps(state)) void _;
  return act;
}

/** Each step, to be cut off anywhere by a test: what is left then is what a kill leaves. */
export function* pendingSteps(state: string): Generator<string> {
  const order = read(state);
  const folder = join(state, FOLDER);
  if (!order) {
    // Laid out, and never ordered: half of a restore that was refused or killed.
    if (existsSync(folder)) rmSync(folder, { recursive: true, force: true });
    return;
  }
  if (order.phase === 'wipe') {
    let names = order.names ?? readdirSync(state).filter((name) => !KEPT.includes(name));
    if (!order.names) write(state, { ...order, names });
    for (const name of names.toSorted()) {
      yield `throw ${name} away`;
      throwAway(state, name);
      names = names.filter((other) => other !== name);
      yield `${name} is gone`;
      write(state, { ...order, names });
    }
    sync(state);
    yield 'nothing is thrown away any more';
    write(state, { format: 1, act: order.act, phase: 'fill' });
  }
  const staged = stagedState(state);
  if (order.act === 'restore' && existsSync(staged))
    for (const name of readdirSync(staged).sort()) {
      yield `put ${name} in its place`;
      try {
        renameSync(join(staged, name), join(state, name));
      } catch (error) {
        note(state, [{ path: name, reason: `not put back: ${codeOf(error)}` }]);
      }
    }
  sync(state);
  yield 'it is done';
  rmSync(join(folder, ORDER), { force: true });
  sync(folder);
  yield 'sweep';
  rmSync(folder, { recursive: true, force: true });
}

/** Folder that `rm -rf` of root removes. */
export const remainsFolder = (state: string): string => join(state, REMAINS);

/** The file in it that names them. */
export const remainsNoted = (state: string): string => join(remainsFolder(state), LEFT);

/** Remains of former orders that are not removed yet; at most 200. */
export function remainsOf(state: string): readonly Remain[] {
  let noted: readonly Remain[];
  try {
    noted = JSON.parse(readFileSync(remainsNoted(state), 'utf8')) as readonly Remain[];
  } catch {
    return []; // there are none: the file is whole or absent
  }
  return noted.filter(({ path }) => lstatSync(join(state, path), { throwIfNoEntry: false }) !== undefined);
}

function note(state: string, remains: readonly Remain[]): void {
  mkdirSync(join(state, REMAINS), { recursive: true, mode: 0o700 });
  const all = [...remainsOf(state), ...remains].slice(0, MOST_REMAINS);
  replaceFileSync(remainsNoted(state), `${JSON.stringify(all)}\n`);
  sync(state);
}

/**
 * Moves files that cannot be removed out of the way: the top of `<var>` is the Core's, whatever the owner of deeper
 * files.
 */
function throwAway(state: string, name: string): void {
  const left: Remain[] = [];
  remove(join(state, name), name, left);
  if (left.length === 0) return;
  try {
    moveAside(state, name, left);
  } catch {
    note(state, left); // a mount point, say: it stays where it is, and is told there
  }
}

/**
 * Moves a folder of the Core's own, in which something is of another user, to `<var>/remains`, where it waits for the
 * warden or for root. `name` and the paths of what cannot be removed are below `<var>`. Durable when it returns where
 * it lies, below `<var>`, too. Throws the codes of a disk.
 */
export function moveAside(state: string, name: string, left: readonly Remain[]): string {
  const remains = remainsFolder(state);
  mkdirSync(remains, { recursive: true, mode: 0o700 });
  const place = join(REMAINS, basename(mkdtempSync(join(remains, 'of-'))), basename(name));
  // Noted before it is moved, so that a kill between the two hides nothing.
  note(
    state,
    left.map(({ path, reason }) => ({ path: place + path.slice(name.length), reason })),
  );
  renameSync(join(state, name), join(state, place));
  for (const path of [name, place]) sync(join(state, path, '..'));
  return place;
}

/** Goes on behind what fails. Follows no link: what it finds was written by apps, and another process of theirs may still run. */
function remove(path: string, shown: string, left: Remain[]): void {
  try {
    rmSync(path, { recursive: true, force: true });
    return;
  } catch (error) {
    let fd: number;
    try {
      fd = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
    } catch {
      if (left.length < MOST_REMAINS) left.push({ path: shown, reason: codeOf(error) });
      return;
    }
    const before = left.length;
    try {
      const inside = `/proc/self/fd/${fd}`;
      for (const child of readdirSync(inside)) remove(`${inside}/${child}`, `${shown}/${child}`, left);
    } finally {
      closeSync(fd);
    }
    if (left.length > before) return;
    try {
      rmdirSync(path);
    } catch (again) {
      if (left.length < MOST_REMAINS) left.push({ path: shown, reason: codeOf(again) });
    }
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? String(error);
}

function read(state: string): Order | undefined {
  try {
    const order = JSON.parse(readFileSync(join(state, FOLDER, ORDER), 'utf8')) as Order;
    return order.format === 1 && ['reset', 'restore'].includes(order.act) ? order : undefined;
  } catch {
    return undefined; // nothing was ordered: the file is whole or absent
  }
}

function write(state: string, order: Order): void {
  replaceFileSync(join(state, FOLDER, ORDER), `${JSON.stringify(order)}\n`);
  sync(join(state, FOLDER));
}

function sync(folder: string): void {
  const fd = openSync(folder, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
