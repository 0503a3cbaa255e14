/** The light behind a panel: a folder of sysfs, below /sys/class/backlight. */
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const FOLDER = '/sys/class/backlight';

export interface BacklightOptions {
  /** Name of the light; without one it is the only light there is. */
  readonly name?: string | undefined;
  readonly folder?: string;
}

export class Backlight {
  readonly name: string;
  readonly #folder: string;
  readonly #most: number;

  private constructor(name: string, folder: string, most: number) {
    this.name = name;
    this.#folder = folder;
    this.#most = most;
  }

  /**
   * Undefined where no light was named and there is none, there are several, or it may not be changed. Rejects for a
   * named one that cannot be used.
   */
  static async find({ name, folder = FOLDER }: BacklightOptions = {}): Promise<Backlight | undefined> {
    if (name !== undefined) return await Backlight.#open(folder, name);
    const names = await readdir(folder).catch(() => []);
    if (names.length !== 1) return undefined;
    return await Backlight.#open(folder, names[0]!).catch(() => undefined);
  }

  static async #open(folder: string, name: string): Promise<Backlight> {
    const own = join(folder, name);
    const most = Number(await readFile(join(own, 'max_brightness'), 'utf8'));
    if (!Number.isInteger(most) || most < 1) throw new Error(`backlight ${name} has no levels`);
    const light = new Backlight(name, own, most);
    // Only the kernel knows whether it may be written: its own value does no harm.
    await light.#write('brightness', (await readFile(join(own, 'brightness'), 'utf8')).trim());
    return light;
  }

  /** 0..1; a light that is not meant to be dark has a step at least. */
  async level(level: number): Promise<void> {
    await this.#write('brightness', String(level === 0 ? 0 : Math.max(1, Math.round(level * this.#most))));
  }

  /** FB_BLANK_UNBLANK, FB_BLANK_POWERDOWN */
  async power(on: boolean): Promise<void> {
    await this.#write('bl_power', on ? '0' : '4');
  }

  async #write(file: string, value: string): Promise<void> {
    try {
      await writeFile(join(this.#folder, file), value, { flag: 'r+' });
    } catch (cause) {
      const code = (cause as NodeJS.ErrnoException).code ?? 'it failed';
      throw new Error(`backlight ${this.name} cannot be written (${code})`, { cause });
    }
  }
}
