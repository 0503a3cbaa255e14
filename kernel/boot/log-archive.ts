/** Files of a log that were put aside: which there are, which have to go, and how they get small. Nothing here throws. */
import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream, readdirSync, statfsSync, statSync, unlinkSync } from 'node:fs';
import { rename, stat, unlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { constants, createZstdCompress } from 'node:zlib';
import type { LogLimits } from '@device-core/plugin-api/inside/services/log-control';

const MODE = 0o640;
const DAY_MS = 86_400_000;
/** A file from before was written by a device that did not know the time: its age says nothing. */
const CLOCK_KNOWN = Date.UTC(2024);
const LEVEL = 3;
/** Another Core on this folder, or the present line, may still be on its way into a file that was put aside. */
const SETTLE_MS = 2_000;
/** Age of a half packed file from which it counts as left by a killed Core. */
const STALE_MS = 3_600_000;

interface Aside {
  readonly path: string;
  /** The higher one is the newer one. */
  readonly number: number;
  readonly packed: boolean;
  readonly bytes: number;
  readonly changed: number;
}

export interface Pruned {
  /** Free bytes; undefined if unknown. */
  readonly free: number | undefined;
  /** Files that went for the sake of the disk. */
  readonly removed: number;
}

/** Old files of `core.log`: `core.7.log` was put aside, `core.6.zst` is packed, `core.log.1` is from an older Core. */
export class LogArchive {
  readonly #file: string;
  readonly #folder: string;
  readonly #stem: string;
  #packing = false;
  #wanted: number | undefined;

  constructor(file: string) {
    this.#file = file;
    this.#folder = dirname(file);
    this.#stem = basename(file).replace(/\.log$/, '');
  }

  /** The path of the next file that is put aside. */
  next(): string {
    const newest = this.#files()[0]?.number ?? 0;
    return join(this.#folder, `${this.#stem}.${newest + 1}.log`);
  }

  /**
   * Takes away what is too much, too old, or more than the disk has room for: the oldest first. The log itself stays,
   * and has its part of the total.
   */
  prune(limits: LogLimits, now: number): Pruned {
    const files = this.#files();
    let total = files.reduce((sum, { bytes }) => sum + bytes, limits.fileBytes);
    let free = this.#free();
    let removed = 0;
    for (let at = files.length - 1; at >= 0; at--) {
      const { path, bytes, changed } = files[at]!;
      const full = free !== undefined && free < limits.freeBytes;
      // A clock that was set to another year makes all of them old at once: the newest one stays.
      const old = at > 0 && changed > CLOCK_KNOWN && now - changed > limits.days * DAY_MS;
      const over = total > limits.totalBytes;
      if (!(over || old || full) || !remove(path)) continue;
      total -= bytes;
      if (!(over || old)) removed++;
      if (full) free = this.#free();
    }
    return { free, removed };
  }

  /** Packs what was put aside some seconds ago, one file after the other, in threads of zlib. A call meanwhile makes it look once more. */
  async pack(now: number): Promise<void> {
    this.#wanted = now;
    if (this.#packing) return;
    this.#packing = true;
    while (this.#wanted !== undefined) {
      const at = this.#wanted;
      this.#wanted = undefined;
      await this.#packAll(at);
    }
    this.#packing = false;
  }

  async #packAll(now: number): Promise<void> {
    for (const name of list(this.#folder)) {
      if (!name.startsWith(`${this.#stem}.`) || !name.endsWith('.zst.part')) continue;
      const path = join(this.#folder, name);
      if (Math.abs(now - (statOf(path)?.mtimeMs ?? now)) > STALE_MS) remove(path);
    }
    for (const { path, number, packed, changed } of this.#files().toReversed()) {
      if (packed || Math.abs(now - changed) < SETTLE_MS) continue;
      const target = join(this.#folder, `${this.#stem}.${number}.zst`);
      const part = join(this.#folder, `${this.#stem}.${number}.${randomUUID()}.zst.part`);
      try {
        const before = await stat(path);
        const params = { [constants.ZSTD_c_compressionLevel]: LEVEL, [constants.ZSTD_c_checksumFlag]: 1 };
        await pipeline(
          createReadStream(path),
          createZstdCompress({ params }),
          createWriteStream(part, { mode: MODE, flush: true }),
        );
        // Another Core on this folder may have written on: the next turn packs all of it.
        const after = await stat(path);
        if (after.size !== before.size || after.ino !== before.ino) throw new Error('it grew');
        await rename(part, target);
        await unlink(path);
      } catch {
        await unlink(part).catch(() => undefined); // it stays as it is; the next turn tries again
      }
    }
  }

  /** The newest first. */
  #files(): readonly Aside[] {
    const legacy = `${basename(this.#file)}.1`;
    const found: Aside[] = [];
    for (const name of list(this.#folder)) {
      const rest = name.startsWith(`${this.#stem}.`) ? name.slice(this.#stem.length + 1) : '';
      const [, digits, form] = /^(\d{1,12})\.(log|zst)$/.exec(rest) ?? [];
      if (digits === undefined && name !== legacy) continue;
      const path = join(this.#folder, name);
      const known = statOf(path);
      if (!known?.isFile()) continue;
      const number = digits === undefined ? 0 : Number(digits);
      found.push({ path, number, packed: form === 'zst', bytes: known.size, changed: known.mtimeMs });
    }
    return found.sort((a, b) => b.number - a.number || Number(b.packed) - Number(a.packed));
  }

  #free(): number | undefined {
    try {
      const { bavail, bsize } = statfsSync(this.#folder);
      return bavail * bsize;
    } catch {
      return undefined; // a folder that is gone comes again with the next line
    }
  }
}

function list(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // not there yet
  }
}

function statOf(path: string) {
  try {
    return statSync(path);
  } catch {
    return undefined; // it went meanwhile
  }
}

function remove(path: string): boolean {
  try {
    unlinkSync(path);
    return true;
  } catch {
    return false; // a read-only disk keeps it
  }
}
