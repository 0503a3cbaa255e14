import { readdir, readFile, rm } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import type { Clock } from '@device-core/plugin-api';
import { replaceFileSync } from '@device-core/plugin-api/durable';
import { killSession, membersOf, type SessionLeader } from './process-session.ts';

const BOOT_ID = '/proc/sys/kernel/random/boot_id';
const END_MS = 2_000;

/** A guest that a Core before this one started. */
export interface FormerRecord {
  readonly name: string;
  readonly leader: SessionLeader;
  readonly home: string;
}

/**
 * Running guests, on record below `<run>/apps/<name>/pid`: a Core that was killed could not end its guests, so the
 * next one does. Ids and start times count from the boot, hence its id.
 */
export class ProcessRecords {
  readonly #directory: string;
  readonly #boot: string;
  readonly #clock: Clock;

  private constructor(directory: string, boot: string, clock: Clock) {
    this.#directory = directory;
    this.#boot = boot;
    this.#clock = clock;
  }

  static async open(directory: string, clock: Clock): Promise<ProcessRecords> {
    return new ProcessRecords(directory, (await readFile(BOOT_ID, 'utf8')).trim(), clock);
  }

  /** Synchronous, so that there is no moment in which a process runs without being on record. */
  write(name: string, leader: SessionLeader, home: string): void {
    const file = this.#file(name);
    const text = JSON.stringify({ ...leader, home, boot: this.#boot });
    // Always a new file: the folder may be the app's own, and a link in its place would be written through.
    replaceFileSync(file, text, { sync: false });
  }

  async remove(name: string): Promise<void> {
    await rm(this.#file(name), { force: true });
  }

  /** Guests that a former Core left running; records of guests that have gone are removed. */
  async former(): Promise<readonly FormerRecord[]> {
    const names = await readdir(this.#directory).catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ENOENT') return [];
      throw error;
    });
    const found = await Promise.all(names.map((name) => this.#formerOf(name)));
    return found.filter((one) => one !== undefined);
  }

  /** Resolves with processes that could not be ended. */
  async end({ name, leader, home }: FormerRecord): Promise<readonly number[]> {
    const left = await killSession(this.#clock, leader, END_MS, home, 'old');
    await this.remove(name);
    return left;
  }

  /** The run folder of a guest. */
  folder(name: string): string {
    return join(this.#directory, name);
  }

  async #formerOf(name: string): Promise<FormerRecord | undefined> {
    const record = parse(await readFile(this.#file(name), 'utf8').catch(() => ''));
    if (!record) return undefined;
    const { pid, startTime, home, boot } = record;
    if (boot === this.#boot && membersOf(record, home, 'old').length > 0)
      return { name, leader: { pid, startTime }, home };
    await this.remove(name);
    return undefined;
  }

  #file(name: string): string {
    return join(this.#directory, name, 'pid');
  }
}

/** Undefined for a file that is absent or was cut short: then nothing is known, and nothing is ended. */
function parse(text: string): (SessionLeader & { readonly boot: string; readonly home: string }) | undefined {
  let record: Partial<Record<string, unknown>>;
  try {
    record = JSON.parse(text);
  } catch {
    return undefined;
  }
  const { pid, startTime, boot, home } = record;
  if (!Number.isInteger(pid) || Number(pid) <= 1) return undefined;
  if (typeof startTime !== 'string' || startTime === '' || typeof boot !== 'string') return undefined;
  if (typeof home !== 'string' || !isAbsolute(home)) return undefined;
  return { pid: Number(pid), startTime, boot, home };
}
