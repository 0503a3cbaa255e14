import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';
import type { LogLimits } from '@device-core/plugin-api/inside/services/log-control';
import { LogArchive } from './log-archive.ts';

/** The owner writes, the group reads: what a device did is not for everybody on it. */
const MODE = 0o640;
/** A pipe without a reader is an error at once: a log never waits. */
const FLAGS = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
/** A disk that refused is asked again after so long: each attempt costs a call into the system. */
const AGAIN_MS = 1_000;
/** So often it is looked whether the file is still there, and which day it is. */
const LOOK_MS = 1_000;
/** So often old files are looked at, and so long after one was put aside. */
const SWEEP_MS = 60_000;
const SETTLED_MS = 3_000;
const DAY_MS = 86_400_000;

export const LOG_LIMITS: LogLimits = { fileBytes: 5 << 20, totalBytes: 50 << 20, days: 14, freeBytes: 100 << 20 };

/** Loss of lines that the disk did not take. */
export interface LogTrouble {
  /** The system's text: `ENOSPC: no space left on device`. */
  readonly reason: string;
  /** Lines that were lost since the first failure. */
  readonly lost: number;
}

export interface LogFileOptions {
  /** In milliseconds, never goes back. */
  readonly now?: () => number;
  /** Milliseconds since the Unix epoch. */
  readonly date?: () => number;
}

/**
 * The file of the log. A large one, or one of another day, is put aside as `core.<n>.log` and packed as `core.<n>.zst`,
 * within bounds. It never throws: a device boots and runs with a disk that is full, read-only or gone, reports it in
 * its health, and logs the number of lost lines once the disk takes lines again. There is no timer, because an idle log
 * needs no care. A target that is no file of a disk, as `/dev/null`, is only written: its mode and its place belong to
 * the system.
 */
export class LogFile {
  readonly #file: string;
  readonly #archive: LogArchive;
  readonly #now: () => number;
  readonly #date: () => number;
  #limits: LogLimits;
  #fd: number | undefined;
  #ours = true;
  #inode = 0;
  #day = 0;
  #bytes = 0;
  #torn = false;
  #trouble: LogTrouble | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;
  #lookAt = Number.NEGATIVE_INFINITY;
  #sweepAt = Number.NEGATIVE_INFINITY;
  #free: number | undefined;
  #removed = 0;

  constructor(
    file: string,
    limits: LogLimits = LOG_LIMITS,
    { now = () => performance.now(), date = Date.now }: LogFileOptions = {},
  ) {
    this.#file = file;
    this.#limits = limits;
    this.#now = now;
    this.#date = date;
    this.#archive = new LogArchive(file);
  }

  /** Undefined while every line is written. */
  get trouble(): LogTrouble | undefined {
    return this.#trouble;
  }

  /** The disk has less room than it should, or had until old files went for it. */
  get shortage(): { readonly free: number; readonly removed: number } | undefined {
    if (this.#free === undefined || (this.#free >= this.#limits.freeBytes && this.#removed === 0)) return undefined;
    return { free: this.#free, removed: this.#removed };
  }

  limit(limits: LogLimits): void {
    this.#limits = limits;
    this.#sweepAt = Number.NEGATIVE_INFINITY;
  }

  /** One line with its end. */
  write(line: string): void {
    const now = this.#now();
    if (this.#trouble && now - this.#askedAt < AGAIN_MS) {
      this.#lose(this.#trouble.reason);
      return;
    }
    try {
      if (now >= this.#lookAt) this.#look(now);
      if (this.#trouble) this.#append(lostLine(this.#trouble, this.#date()));
      this.#append(line);
      this.#trouble = undefined;
    } catch (error) {
      this.#askedAt = now;
      this.#close();
      this.#lose(reasonOf(error));
      this.#prune(); // what is old may make room
    }
  }

  #append(line: string): void {
    // A line that a full disk cut ends before the next one begins.
    const bytes = Buffer.from(this.#torn ? `\n${line}` : line, 'utf8');
    const fd = this.#open(bytes.length);
    const before = this.#bytes;
    this.#torn = true;
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(fd, bytes, at);
      at += written;
      this.#bytes = before + at;
    }
    this.#torn = false;
  }

  /** Opens the file, and begins a new one where `more` bytes would not fit. */
  #open(more: number): number {
    if (this.#fd !== undefined && this.#ours && this.#bytes > 0 && this.#bytes + more > this.#limits.fileBytes)
      this.#putAside();
    if (this.#fd === undefined) {
      makeFolder(dirname(this.#file));
      this.#fd = openSync(this.#file, FLAGS, MODE);
      const info = fstatSync(this.#fd);
      const { size, mode, ino, mtimeMs } = info;
      this.#ours = info.isFile();
      this.#bytes = size;
      this.#inode = ino;
      this.#day = size > 0 ? dayOf(mtimeMs) : dayOf(this.#date());
      // One that an older Core left may be readable by everybody.
      if (this.#ours && (mode & 0o777 & ~MODE) !== 0) fchmodSync(this.#fd, MODE);
      return this.#open(more);
    }
    return this.#fd;
  }

  /** Another Core on this folder may have done it meanwhile: then its new file is opened, and nothing of it is replaced. */
  #putAside(): void {
    this.#close();
    if (statSync(this.#file, { throwIfNoEntry: false })?.ino === this.#inode) move(this.#file, this.#archive.next());
    this.#prune();
    this.#sweepAt = Math.min(this.#sweepAt, this.#now() + SETTLED_MS);
  }

  /** Was the file moved or removed, and is it another day? A clock that was set back begins no new file. */
  #look(now: number): void {
    this.#lookAt = now + LOOK_MS;
    if (this.#fd === undefined) this.#open(0);
    else if (statSync(this.#file, { throwIfNoEntry: false })?.ino !== this.#inode) this.#close();
    else this.#bytes = fstatSync(this.#fd).size;
    if (!this.#ours) return;
    if (this.#fd !== undefined && this.#bytes > 0 && dayOf(this.#date()) > this.#day) this.#putAside();
    if (now < this.#sweepAt) return;
    this.#sweepAt = now + SWEEP_MS;
    this.#prune();
    void this.#archive.pack(this.#date());
  }

  #prune(): void {
    if (!this.#ours) return;
    const { free, removed } = this.#archive.prune(this.#limits, this.#date());
    this.#free = free;
    const short = free !== undefined && free < this.#limits.freeBytes;
    this.#removed = short || removed > 0 ? this.#removed + removed : 0;
  }

  #close(): void {
    const fd = this.#fd;
    this.#fd = undefined;
    if (fd !== undefined) closeSync(fd);
  }

  #lose(reason: string): void {
    this.#trouble = { reason, lost: (this.#trouble?.lost ?? 0) + 1 };
  }
}

/** Never over a file that is there: a link is refused then. Some disks know no links. */
function move(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw error;
    renameSync(from, to);
    return;
  }
  unlinkSync(from);
}

function dayOf(time: number): number {
  return Math.floor(time / DAY_MS);
}

function lostLine({ lost, reason }: LogTrouble, time: number): string {
  return `${JSON.stringify({ level: 40, time, lost, reason, msg: `${lost} lines of the log were lost: ${reason}` })}\n`;
}

/** One by one: the system's answer for a disk that is read-only is `no such file` where more than one folder is missing. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' && dirname(path) !== path) {
      makeFolder(dirname(path));
      mkdirSync(path);
    } else if (!existsSync(path)) throw error;
  }
}
