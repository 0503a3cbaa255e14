/**
 * The file of the boot record: two places of 4 KiB, the one that counts is never written over. The boot loader and the
 * root helper of the slots write it.
 */
import {
  closeSync,
  constants as fs,
  fstatSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  readSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import {
  type BootRecord,
  type Decoded,
  encodeRecord,
  isLater,
  newest,
  newRecord,
  RECORD_BYTES,
} from './boot-record.ts';

/** Milliseconds after which the holder of the lock counts as killed: it needs a few. */
const LOCK_MS = 2_000;
const LOOK_MS = 5;

interface Look {
  readonly path: string;
  readonly found: Decoded | { readonly kind: 'none' };
  readonly next: 0 | 1;
  /** Sequence number of the next record. */
  readonly sequence: number;
  readonly problem?: string;
}

export interface FoundRecord {
  readonly record: BootRecord;
  /** `none`, `damaged`: the record is a new one, that says nothing of the slots. */
  readonly kind: 'record' | 'damaged' | 'none';
  /** Fault of the file, also where there is a record. */
  readonly problem?: string;
}

export class RecordFile {
  readonly #path: string;
  readonly #standIn: string | undefined;
  #main: Look;
  #stand: Look | undefined;

  /** `standIn` is used while the file itself cannot be written: in /run, so that starts are counted within a boot at least. */
  constructor(path: string, standIn?: string) {
    this.#path = path;
    this.#standIn = standIn;
    this.#main = lookAt(path);
  }

  /** The record that counts. Without one a new one is made up. One of a newer form is left as it is: ours lies beside it. */
  read(): FoundRecord {
    this.#main = lookAt(this.#path);
    let { problem } = this.#main;
    if (this.#main.found.kind === 'newer') {
      problem = `form ${this.#main.found.form} of the boot record is not known here; it is left alone`;
      this.#main = lookAt(`${this.#path}.1`);
    }
    this.#stand = this.#standIn === undefined ? undefined : lookAt(this.#standIn);
    const counts = this.#counts();
    const found = { ...(problem !== undefined && { problem }) };
    if (counts.found.kind === 'record') return { record: counts.found.record, kind: 'record', ...found };
    const kind = counts.found.kind === 'none' ? 'none' : 'damaged';
    return { record: newRecord({}), kind, problem: problem ?? 'there is no boot record that is whole' };
  }

  /** On the disk when it returns, and read back. Throws what the file system says. Call `read` first. */
  write(record: BootRecord): void {
    put(this.#main, record, this.#counts().sequence);
    this.#main = lookAt(this.#main.path);
    if (this.#stand === undefined || this.#stand.found.kind === 'none') return;
    rmSync(this.#stand.path, { force: true });
    this.#stand = lookAt(this.#stand.path);
  }

  /** As `write`; where the disk takes none, the stand-in does. What went wrong is the answer. */
  keep(record: BootRecord): string | undefined {
    try {
      this.write(record);
      return undefined;
    } catch (error) {
      const problem = `the boot record cannot be written: ${(error as Error).message}`;
      if (this.#stand === undefined) return problem;
      try {
        put(this.#stand, record, this.#counts().sequence);
        this.#stand = lookAt(this.#stand.path);
        return problem;
      } catch (worse) {
        return `${problem}; nor its stand-in: ${(worse as Error).message}`;
      }
    }
  }

  /**
   * Reads, changes and writes under the lock: the loader and the helper never write over each other's record. Waits two seconds at most.
   * Throws Error where there is no record that counts, and the errors of `update` or the file system; then nothing was written.
   */
  change(update: (record: BootRecord) => BootRecord): BootRecord {
    return this.locked(() => {
      const { record, kind, problem = 'there is no boot record' } = this.read();
      if (kind !== 'record') throw new Error(problem);
      const changed = update(record);
      this.write(changed);
      return changed;
    });
  }

  /** Runs `work` on the record as one step among all that take the lock. A lock of another boot, or of a killed process, is void. */
  locked<T>(work: () => T): T {
    const lock = `${this.#path}.lock`;
    const boot = bootId();
    const cell = new Int32Array(new SharedArrayBuffer(4));
    for (let waited = 0; !taken(lock, boot); waited += LOOK_MS) {
      if (waited > LOCK_MS || ownerOf(lock) !== boot) rmSync(lock, { force: true });
      else Atomics.wait(cell, 0, 0, LOOK_MS);
    }
    try {
      return work();
    } finally {
      rmSync(lock, { force: true });
    }
  }

  /**
   * As `change`, for who can neither wait for long nor fail: without a lock, and to the stand-in, if need be.
   * `otherwise` where no record counts. What went wrong is the answer.
   */
  note(update: (record: BootRecord) => BootRecord, otherwise?: BootRecord): string | undefined {
    const work = (): string | undefined => {
      const { record, kind, problem } = this.read();
      const before = kind === 'record' ? record : otherwise;
      return before === undefined ? problem : this.keep(update(before));
    };
    try {
      return this.locked(work);
    } catch (error) {
      return work() ?? `the boot record could not be locked: ${(error as Error).message}`;
    }
  }

  #counts(): Look {
    const { found } = this.#main;
    if (this.#stand?.found.kind !== 'record') return this.#main;
    return found.kind !== 'record' || isLater(this.#stand.found.sequence, found.sequence) ? this.#stand : this.#main;
  }
}

/** A link is made with its text at once: a lock never stands there without its owner. */
function taken(lock: string, boot: string): boolean {
  try {
    symlinkSync(boot, lock);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}

function ownerOf(lock: string): string | undefined {
  try {
    return readlinkSync(lock);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    // Gone meanwhile: its holder is done, and the next look takes it.
    if (code === 'ENOENT') return bootId();
    if (code === 'EINVAL') return undefined;
    throw error;
  }
}

function bootId(): string {
  return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
}

function lookAt(path: string): Look {
  let handle: number;
  try {
    handle = openSync(path, fs.O_RDONLY | fs.O_NOFOLLOW | fs.O_NONBLOCK);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT') return { path, found: { kind: 'none' }, next: 0, sequence: 1 };
    return { path, found: { kind: 'damaged' }, next: 0, sequence: 1, problem: `the boot record: ${message}` };
  }
  try {
    if (!fstatSync(handle).isFile()) throw new Error('it is no file');
    const bytes = Buffer.alloc(2 * RECORD_BYTES);
    readSync(handle, bytes, 0, bytes.length, 0);
    return { path, ...newest(bytes.subarray(0, RECORD_BYTES), bytes.subarray(RECORD_BYTES)) };
  } catch (error) {
    const problem = `the boot record: ${(error as Error).message}`;
    return { path, found: { kind: 'damaged' }, next: 0, sequence: 1, problem };
  } finally {
    closeSync(handle);
  }
}

function put({ path, next }: Look, record: BootRecord, sequence: number): void {
  const bytes = encodeRecord(record, sequence);
  mkdirSync(dirname(path), { recursive: true });
  const flags = fs.O_RDWR | fs.O_CREAT | fs.O_DSYNC | fs.O_NOFOLLOW | fs.O_NONBLOCK;
  const handle = openSync(path, flags, 0o644);
  try {
    const stat = fstatSync(handle);
    if (!stat.isFile()) throw new Error('it is no file');
    const at = next * RECORD_BYTES;
    writeSync(handle, bytes, 0, RECORD_BYTES, at);
    const back = Buffer.alloc(RECORD_BYTES);
    readSync(handle, back, 0, RECORD_BYTES, at);
    if (!back.equals(bytes)) throw new Error('the bytes read back differ from those written');
    // Its name is new: without this the power takes the file away.
    if (stat.size === 0) syncFolder(dirname(path));
  } finally {
    closeSync(handle);
  }
}

/** The names in a folder are on the disk when it returns. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, fs.O_RDONLY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The file is gone from the disk when it returns. A folder stays, and that is thrown: root takes no tree away where others write. */
export function removeDurably(path: string): void {
  unlinkSync(path);
  syncFolder(dirname(path));
}
