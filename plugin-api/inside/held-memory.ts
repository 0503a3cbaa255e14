/** Memory that a guest keeps and no process of it has resident: files in memory, and what lies behind open memfds. */
import { readdirSync, readFileSync, readlinkSync, statfsSync, statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** File systems in memory of a guest with a separate root. */
const PLACES = ['/tmp', '/dev/shm'];
const TMPFS = 0x0102_1994;
/** A file in memory takes this beside its pages: inode and name. */
const INODE_BYTES = 1_024;
const BLOCK = 512;
const PAGE = 4_096;
const KIB = 1_024;
/** Most descriptors that one look follows; the next look goes on there. */
const MOST_LINKS = 2_048;

interface Held {
  /** Devices of its file systems, as /proc/<pid>/smaps names them, and `device inode` of its memfds, each with its bytes. */
  readonly devices: ReadonlyMap<string, number>;
  readonly files: ReadonlyMap<string, number>;
}

/** Looks at one guest, again and again. */
export class HeldMemory {
  #complete = new Map<string, number>();
  #found = new Map<string, number>();
  /** Process and place among its descriptors where the last look ended. */
  #next: { readonly pid: number; readonly at: number } | undefined;

  /**
   * Bytes that are kept beside what the processes have resident. Below zero where shared pages are resident in more than
   * one of them. `root`: a process whose root is that of the guest; `sharing`: processes with shared pages resident.
   */
  beside(root: number | undefined, pids: readonly number[], sharing: readonly number[]): number {
    const held = {
      devices: root === undefined ? new Map<string, number>() : fileSystems(root),
      files: this.#memfds(pids),
    };
    const bytes = sum(held.devices) + sum(held.files);
    return bytes === 0 ? 0 : sharing.reduce((left, pid) => left - mappedOf(pid, held), bytes);
  }

  /** Bytes of one process with a separate root: all that is resident, and what is held beside it; undefined when it has ended. */
  async withResident(pid: number): Promise<number | undefined> {
    try {
      const bytes = Number((await readFile(`/proc/${pid}/statm`, 'utf8')).split(' ')[1]) * PAGE;
      return bytes + this.beside(pid, [pid], [pid]);
    } catch {
      return undefined; // the caller hears of its end elsewhere
    }
  }

  #memfds(pids: readonly number[]): ReadonlyMap<string, number> {
    let left = MOST_LINKS;
    const from = this.#next;
    const first = Math.max(0, pids.indexOf(from?.pid ?? 0));
    this.#next = undefined;
    for (const pid of pids.slice(first)) {
      const skipped = pid === from?.pid ? from.at : 0;
      const names = descriptorsOf(pid).slice(skipped);
      for (const name of names.slice(0, left)) note(this.#found, `/proc/${pid}/fd/${name}`);
      if (names.length > left) {
        this.#next = { pid, at: skipped + left };
        return sum(this.#found) > sum(this.#complete) ? this.#found : this.#complete;
      }
      left -= names.length;
    }
    this.#complete = this.#found;
    this.#found = new Map();
    return this.#complete;
  }
}

function note(found: Map<string, number>, path: string): void {
  try {
    if (!readlinkSync(path).startsWith('/memfd:')) return;
    const { dev, ino, blocks } = statSync(path);
    found.set(`${deviceName(dev)} ${ino}`, blocks * BLOCK);
  } catch {
    // It was closed meanwhile.
  }
}

function fileSystems(root: number): ReadonlyMap<string, number> {
  const found = new Map<string, number>();
  for (const place of PLACES)
    try {
      const path = `/proc/${root}/root${place}`;
      const { dev } = statSync(path);
      if (dev === statSync(place, { throwIfNoEntry: false })?.dev) continue; // that of the device
      const { type, bsize, blocks, bfree, files, ffree } = statfsSync(path);
      if (type === TMPFS)
        found.set(deviceName(dev), (blocks - bfree) * bsize + Math.max(0, files - ffree - 1) * INODE_BYTES);
    } catch {
      // It has ended, or has no such folder.
    }
  return found;
}

/** Bytes of held files that are resident in a process: they were counted there. */
function mappedOf(pid: number, { devices, files }: Held): number {
  let [bytes, ours] = [0, false];
  for (const line of readProc(pid, 'smaps').split('\n')) {
    const [, device, inode] = /^[\da-f]+-[\da-f]+ \S+ \S+ (\S+) (\d+)/.exec(line) ?? [];
    if (device !== undefined) ours = devices.has(device) || files.has(`${device} ${inode}`);
    else if (ours) bytes += KIB * (kibOf(line, 'Rss') - kibOf(line, 'Anonymous'));
  }
  return bytes;
}

function kibOf(line: string, field: string): number {
  return line.startsWith(`${field}:`) ? Number.parseInt(line.slice(field.length + 1), 10) : 0;
}

function descriptorsOf(pid: number): readonly string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return []; // it has ended
  }
}

function readProc(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return ''; // it has ended
  }
}

/** `00:1d`: major and minor number in hexadecimal, as the kernel prints them. */
function deviceName(dev: number): string {
  const hex = (number: number) => number.toString(16).padStart(2, '0');
  return `${hex((dev >>> 8) & 0xfff)}:${hex((dev & 0xff) | ((dev >>> 12) & 0xfff00))}`;
}

function sum(bytes: ReadonlyMap<string, number>): number {
  return [...bytes.values()].reduce((all, one) => all + one, 0);
}
