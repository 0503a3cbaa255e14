import { chmodSync, closeSync, fstatSync, mkdirSync, openSync, renameSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';

/** The owner writes, the group reads: what a device did is not for everybody on it. */
const MODE = 0o640;
/** A disk that refused is asked again after so long: each attempt costs a call into the system. */
const AGAIN_MS = 1_000;

/** What became of lines that the disk did not take. */
export interface LogTrouble {
  /** Of the system: `ENOSPC: no space left on device`. */
  readonly reason: string;
  /** Lines that were lost since the first failure. */
  readonly lost: number;
}

/**
 * The file of the log, put aside as `<file>.1` when it has grown large. It never throws: a device boots and runs with a disk that is full,
 * read-only or gone, says so in its health, and writes how many lines were lost as soon as the disk takes lines again.
 */
export class LogFile {
  readonly #file: string;
  readonly #limit: number;
  readonly #now: () => number;
  #fd: number | undefined;
  #bytes = 0;
  #trouble: LogTrouble | undefined;
  #askedAt = Number.NEGATIVE_INFINITY;

  /** `now` is a clock in milliseconds that never goes back. */
  constructor(file: string, limit: number, now: () => number = () => performance.now()) {
    this.#file = file;
    this.#limit = limit;
    this.#now = now;
  }

  /** Undefined while every line is written. */
  get trouble(): LogTrouble | undefined {
    return this.#trouble;
  }

  /** One line with its end. */
  write(line: string): void {
    if (this.#trouble && this.#now() - this.#askedAt < AGAIN_MS) {
      this.#lose(this.#trouble.reason);
      return;
    }
    try {
      if (this.#trouble) this.#append(lostLine(this.#trouble));
      this.#append(line);
      this.#trouble = undefined;
    } catch (error) {
      this.#askedAt = this.#now();
      this.#close();
      this.#lose(reasonOf(error));
    }
  }

  #append(line: string): void {
    const bytes = Buffer.from(line, 'utf8');
    const fd = this.#open(bytes.length);
    const before = this.#bytes;
    for (let at = 0; at < bytes.length; ) {
      const written = writeSync(fd, bytes, at);
      at += written;
      this.#bytes = before + at;
    }
  }

  /** Opens the file, and begins a new one where `more` bytes would not fit. */
  #open(more: number): number {
    if (this.#fd !== undefined && this.#bytes > 0 && this.#bytes + more > this.#limit) {
      this.#close();
      renameSync(this.#file, `${this.#file}.1`);
    }
    if (this.#fd === undefined) {
      mkdirSync(dirname(this.#file), { recursive: true });
      this.#fd = openSync(this.#file, 'a', MODE);
      const { size, mode } = fstatSync(this.#fd);
      this.#bytes = size;
      // One that an older Core left may be readable by everybody.
      if ((mode & 0o777 & ~MODE) !== 0) chmodSync(this.#file, MODE);
      return this.#open(more);
    }
    return this.#fd;
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

function lostLine({ lost, reason }: LogTrouble): string {
  return `${JSON.stringify({ level: 40, time: Date.now(), lost, reason, msg: `${lost} lines of the log were lost: ${reason}` })}\n`;
}
