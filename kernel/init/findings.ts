import { lstatSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BootRecord, SlotName } from '../../plugin-api/inside/boot-record.ts';
import type { BootReport } from '../../plugin-api/inside/boot-report.ts';
import { type Image, ImageError, type ImageKeys, platformHere } from '../../plugin-api/inside/image.ts';
import { mendImage, openImage, ReadNote } from '../../plugin-api/inside/image-folder.ts';
import { recordOf } from './heard.ts';
import type { Here } from './here.ts';

/** `boot/config.json`, of the OEM. */
interface Config {
  readonly verify?: BootReport['verify'];
  /** A file, or a program that prints a level; safe mode is asked for where it is `level`. */
  readonly gpio?: { readonly read: string | readonly string[]; readonly level: string | number };
}

export interface Checked {
  readonly image?: Image;
  /** `sha256:<hex>` of the list. */
  readonly hash?: string;
  /** Why it cannot be started. */
  readonly problem?: string;
  readonly how: BootReport['verify'];
}

/** Findings of the loader. An error during a look is reported and stops nothing. */
export class Findings {
  readonly problems: string[] = [];
  /** Files that were put right from the other slot, `a/kernel/main.js`. */
  readonly repaired: string[] = [];
  /** Milliseconds of each step. */
  readonly ms: Record<string, number> = { node: Math.round(performance.now()) };
  readonly file: ReturnType<typeof recordOf>;
  readonly found: ReturnType<Findings['file']['read']>;
  readonly config: Config;
  readonly #here: Here;
  readonly #keys: ImageKeys;
  readonly #seen = new Map<SlotName, Checked>();

  constructor(here: Here) {
    this.#here = here;
    this.file = recordOf(here);
    this.found = this.lap('record', () => this.file.read());
    if (this.found.problem !== undefined) this.problems.push(this.found.problem);
    const json = <T>(name: string) => JSON.parse(readFileSync(join(here.system, 'boot', name), 'utf8')) as T;
    this.#keys = this.attempt('keys.json', () => json<ImageKeys>('keys.json')) ?? { keys: [], threshold: 1 };
    const isThere = lstatSync(join(here.system, 'boot/config.json'), { throwIfNoEntry: false }) !== undefined;
    this.config = (isThere && this.attempt('config.json', () => json<Config>('config.json'))) || {};
  }

  /** Each slot is checked once, at the first call. */
  at(slot: SlotName, { slots, floor }: BootRecord = this.found.record, verify = this.config.verify ?? 'full'): Checked {
    const known = this.#seen.get(slot);
    if (known !== undefined) return known;
    // The clock may say anything. A key that ended since does not take back what was found good.
    const time = (hash: string) => (slots[slot].state === 'good' && slots[slot].image === hash ? 0 : floor.time);
    let checked: Checked;
    try {
      checked = this.lap('verify', () => this.#look(slot, time, verify));
    } catch (error) {
      checked = { problem: (error as Error).message, how: verify };
    }
    this.#seen.set(slot, checked);
    return checked;
  }

  #look(slot: SlotName, time: (hash: string) => number, verify: Checked['how']): Checked {
    const { system, run, boot } = this.#here;
    const folder = join(system, 'slots', slot);
    const { image, hash } = openImage(folder, { keys: this.#keys, platform: platformHere(), time });
    // It becomes a path and a word of a command line.
    if (!/^[a-z0-9][a-z0-9-]*$/.test(image.sku)) throw new ImageError('list', `"${image.sku}" is no name of a SKU`);
    if (verify === 'measured') return { image, hash, how: verify };
    const [place, of] = verify === 'quick' ? [join(system, 'boot'), 'any'] : [run, boot];
    const note = new ReadNote(join(place, `checked-${slot}`), of);
    const text = note.textFor(folder, image, hash);
    if (note.says(text)) return { image, hash, how: 'quick' };
    const twin = join(system, 'slots', slot === 'a' ? 'b' : 'a');
    const mended = mendImage(folder, image, twin, join(system, `slots/.mend-${slot}`));
    this.repaired.push(...mended.map((path) => `${slot}/${path}`));
    // Repaired files have new times, so the slot is read once more.
    const remark = mended.length === 0 ? note.write(text) : undefined;
    if (remark !== undefined) this.problems.push(remark);
    return { image, hash, how: 'full' };
  }

  attempt<T>(what: string, does: () => T): T | undefined {
    try {
      return does();
    } catch (error) {
      this.problems.push(`${what}: ${(error as Error).message}`);
      return undefined;
    }
  }

  lap<T>(step: string, does: () => T): T {
    const began = performance.now();
    const result = does();
    this.ms[step] = (this.ms[step] ?? 0) + Math.round((performance.now() - began) * 10) / 10;
    return result;
  }
}
