/** All acts on slots and their record, for a process with the right to write them. It trusts no request (docs/adr/0127). */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type BootRecord, SLOTS, type SlotName } from '../boot-record.ts';
import {
  IMAGE_LIST,
  IMAGE_SIGNATURE,
  type Image,
  type ImageKeys,
  imageHash,
  LONGEST_LIST,
  parseImage,
  platformHere,
} from '../image.ts';
import { RecordFile } from '../record-file.ts';
import { activated, emptied, foundBad, foundGood, otherSlot, staged } from './changes.ts';
import { diskRefusal } from './disk-refusal.ts';
import { type Judged, judge } from './judge.ts';
import { Opened } from './plain-files.ts';
import { SlotRefused } from './refused.ts';
import { askForRoom, bytesOf, clear, writeSlot } from './stage.ts';

export interface SlotPlaces {
  /** `<system>`, root's: `boot/record`, `boot/keys.json`, `slots/a`, `slots/b`. */
  readonly system: string;
  /** Folder of the loader's report: `boot.json`. */
  readonly boot: string;
}

/** Report of the loader on the start that runs. */
export interface Booted {
  readonly slot: SlotName;
  readonly safe: boolean;
}

const LONGEST_SIGNATURES = 65_536;
const LONGEST_REASON = 300;

export interface Heeding {
  /** It is waited for. */
  readonly progress?: (progress: { readonly done: number; readonly of: number }) => void | Promise<void>;
  readonly signal?: AbortSignal;
}

export class SlotWriter {
  readonly #places: SlotPlaces;
  readonly #record: RecordFile;
  readonly #mayRead: (folder: string) => boolean;
  #staging = false;

  /** `mayRead`: folders that images are taken from. */
  constructor(places: SlotPlaces, mayRead: (folder: string) => boolean = () => true) {
    this.#places = places;
    this.#mayRead = mayRead;
    this.#record = new RecordFile(join(places.system, 'boot/record'));
  }

  /** Whether a slot is being written. */
  get staging(): boolean {
    return this.#staging;
  }

  status() {
    const { record, kind, problem } = this.#record.read();
    const booted = this.#booted()?.slot;
    const slots = SLOTS.map((name) => ({
      ...record.slots[name],
      name,
      booted: name === booted,
      primary: name === record.primary,
    }));
    const cause = kind === 'record' ? record.cause : `the boot record cannot be used: ${problem}`;
    const { primary, rung, floor } = record;
    return { slots, ...(booted && { booted }), primary, rung, ...(cause && { cause }), floor };
  }

  /** Throws SYSTEM_IMAGE_INVALID, SIGNATURE_INVALID. */
  inspect(folder: string) {
    using source = this.#open(folder);
    const { image, hash } = this.#taken(source, this.#known()).judged;
    const has = new Set(this.#running()?.image.files.map(({ sha256 }) => sha256));
    const missing = new Map<string, number>();
    for (const { sha256, size } of image.files) if (!has.has(sha256)) missing.set(sha256, size);
    return { image: hash, version: image.version, missing: [...missing].map(([sha256, size]) => ({ sha256, size })) };
  }

  /** The slot that does not run becomes a copy of the image. Throws the codes of SlotRefused; it is empty then. */
  async stage(folder: string, { progress, signal }: Heeding = {}) {
    if (this.#staging) throw new SlotRefused('BUSY', 'a slot is being written');
    this.#staging = true;
    try {
      using source = this.#open(folder);
      const record = this.#known();
      const taken = this.#taken(source, record);
      const target = otherSlot(this.#booted()?.slot ?? record.primary);
      const { image, hash } = taken.judged;
      const of = bytesOf(image);
      await this.#write(target, { ...taken, source, signal, progress: (done) => progress?.({ done, of }) });
      const after = this.#change((now) => staged(now, target, { version: image.version, image: hash }));
      return { ...after.slots[target], name: target, booted: false, primary: after.primary === target };
    } finally {
      this.#staging = false;
    }
  }

  activate(slot: SlotName): void {
    this.#change((record) => activated(record, slot));
  }

  /** Throws SLOTS_UNAVAILABLE in safe mode, too: that it comes up says nothing. */
  markGood(): void {
    const { slot, safe } = this.#surely();
    if (safe) throw new SlotRefused('SLOTS_UNAVAILABLE', `slot ${slot} runs in safe mode: that does not make it good`);
    const running = this.#running();
    if (running === undefined) throw new SlotRefused('SLOTS_UNAVAILABLE', `the list of slot ${slot} cannot be read`);
    const { image, hash } = running;
    this.#change((record) => foundGood(record, slot, { version: image.version, image: hash, builtAt: image.builtAt }));
  }

  markBad(reason: string): void {
    const { slot } = this.#surely();
    this.#change((record) => foundBad(record, slot, reason.slice(0, LONGEST_REASON)));
  }

  async #write(
    target: SlotName,
    parts: Omit<Parameters<typeof writeSlot>[0], 'slots' | 'target' | 'running' | 'image' | 'hash'> & {
      readonly judged: Judged;
    },
  ): Promise<void> {
    const staging = { ...parts, ...parts.judged, slots: join(this.#places.system, 'slots'), target };
    try {
      askForRoom(staging);
      this.#change((record) => emptied(record, target, 'it is being written'));
      clear(staging.slots, target);
      await writeSlot({ ...staging, running: this.#running() });
    } catch (error) {
      throw this.#leftEmpty(target, staging.slots, diskRefusal(error));
    }
  }

  /** Clears a half-written slot, and the record says why; if the disk takes neither, the slot is empty all the same. */
  #leftEmpty(target: SlotName, slots: string, refusal: Error): Error {
    const { state, reason } = this.#record.read().record.slots[target];
    if (state !== 'empty' || reason !== 'it is being written') return refusal;
    try {
      clear(slots, target);
      this.#change((record) => emptied(record, target, refusal.message));
    } catch (error) {
      refusal.message += ` (and it could not be cleared away: ${(error as Error).message})`;
    }
    return refusal;
  }

  #open(folder: string): Opened {
    if (!folder.startsWith('/') || /(^|\/)\.\.?(\/|$)|\0/.test(folder) || !this.#mayRead(folder))
      throw new SlotRefused('SYSTEM_IMAGE_INVALID', 'images are not taken from there');
    try {
      return Opened.folder(folder);
    } catch (error) {
      throw new SlotRefused('SYSTEM_IMAGE_INVALID', `its folder cannot be opened: ${codeOf(error)}`);
    }
  }

  /** Reads list and signatures once: what is judged is what is written. */
  #taken(source: Opened, { floor }: BootRecord) {
    let list: Buffer;
    let signatures: Buffer;
    try {
      list = source.read(IMAGE_LIST, LONGEST_LIST);
      signatures = source.read(IMAGE_SIGNATURE, LONGEST_SIGNATURES);
    } catch (error) {
      throw new SlotRefused('SYSTEM_IMAGE_INVALID', `its list or its signatures cannot be read: ${codeOf(error)}`);
    }
    const sku = this.#running()?.image.sku;
    const judged = judge(list, signatures.toString('latin1'), {
      keys: this.#keys(),
      floor,
      platform: platformHere(),
      sku,
    });
    return { list, signatures, judged };
  }

  #keys(): ImageKeys {
    const path = join(this.#places.system, 'boot/keys.json');
    try {
      return JSON.parse(readFileSync(path, 'utf8')) as ImageKeys;
    } catch (error) {
      throw new SlotRefused('SIGNATURE_INVALID', `the keys of this device cannot be read: ${(error as Error).message}`);
    }
  }

  /** The list of the slot that runs; the loader has looked at its signatures. */
  #running(): { readonly folder: string; readonly image: Image; readonly hash: string } | undefined {
    const { slot } = this.#booted() ?? {};
    const folder = join(this.#places.system, 'slots', slot ?? '');
    if (slot === undefined || !existsSync(join(folder, IMAGE_LIST))) return undefined;
    try {
      const list = readFileSync(join(folder, IMAGE_LIST));
      return { folder, image: parseImage(list), hash: imageHash(list) };
    } catch (error) {
      const reason = `the list of slot ${slot}, which runs, cannot be read: ${(error as Error).message}`;
      throw new SlotRefused('SLOTS_UNAVAILABLE', reason);
    }
  }

  #booted(): Booted | undefined {
    try {
      const { slot, safe } = JSON.parse(readFileSync(join(this.#places.boot, 'boot.json'), 'utf8')) as Partial<Booted>;
      return slot === 'a' || slot === 'b' ? { slot, safe: safe === true } : undefined;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw new SlotRefused(
        'SLOTS_UNAVAILABLE',
        `what the boot loader says cannot be read: ${(error as Error).message}`,
      );
    }
  }

  #surely(): Booted {
    const booted = this.#booted();
    if (booted) return booted;
    throw new SlotRefused('SLOTS_UNAVAILABLE', 'no boot loader started this Core: no slot runs');
  }

  /** The record as it counts. Throws SLOTS_UNAVAILABLE where there is none: the loader makes it anew at the next start. */
  #known(): BootRecord {
    const { record, kind, problem } = this.#record.read();
    if (kind === 'record') return record;
    throw new SlotRefused('SLOTS_UNAVAILABLE', `the boot record cannot be used: ${problem}`);
  }

  #change(update: (record: BootRecord) => BootRecord): BootRecord {
    this.#known();
    try {
      return this.#record.change(update);
    } catch (error) {
      throw diskRefusal(error);
    }
  }
}

/** Error code only: the requester may not learn what else lies on the disk. */
const codeOf = (error: unknown): string => (error as NodeJS.ErrnoException).code ?? (error as Error).message;
