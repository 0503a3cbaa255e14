import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import type { SlotName } from '@device-core/plugin-api/inside/boot-record';
import { DBusError } from '@device-core/plugin-api/inside/dbus';
import type { SlotInfo, Slots, SlotsStatus, StageProgress } from '@device-core/plugin-api/inside/services/slots';
import { type Members, type Rauc, unavailable } from './rauc.ts';
import type { Trials } from './trials.ts';

/** In the folder of an image: all of it, for RAUC. */
export const BUNDLE = 'bundle.raucb';
const NAMES: readonly SlotName[] = ['a', 'b'];

export interface RaucSlotsOptions {
  readonly rauc: Rauc;
  readonly trials: Trials;
  readonly slotClass: string;
  readonly installMs: number;
}

interface Found extends SlotInfo {
  /** As RAUC calls it, `rootfs.0`. */
  readonly rauc: string;
  /** Names what was installed there last. */
  readonly install: string;
}

/** Slots of RAUC: the first two of a class, in the order of their names. Bundles have signatures of their own, and RAUC knows no floor. */
export class RaucSlots implements Slots {
  readonly #options: RaucSlotsOptions;
  #staging = false;

  constructor(options: RaucSlotsOptions) {
    this.#options = options;
  }

  async status(): Promise<SlotsStatus> {
    const rest = { provider: 'rauc', rung: 'normal', floor: { time: 0 }, writer: 'helper' } as const;
    try {
      const { slots, cause } = await this.#found();
      const booted = slots.find((one) => one.booted)?.name;
      const primary = slots.find((one) => one.primary)?.name;
      const told = slots.map(({ rauc: _, install: __, ...slot }): SlotInfo => slot);
      return { ...rest, slots: told, ...maybe({ booted, primary }), ...(cause && { cause }) };
    } catch (error) {
      // A state of the device, and no error of who asks: RAUC is not there, or was started from no slot.
      return { ...rest, slots: [], cause: reasonOf(error) };
    }
  }

  async inspect(folder: string) {
    const bundle = join(folder, BUNDLE);
    const [told] = await this.#refusing(folder, () =>
      this.#options.rauc.call('InspectBundle', 'sa{sv}', [bundle, new Map()]),
    );
    const all = told as Members;
    const update = (all.get('update') as Members | undefined) ?? new Map();
    const ours = await this.#options.rauc.property('Compatible');
    const compatible = update.get('compatible');
    if (compatible !== ours)
      throw invalid(folder, `the bundle is compatible with ${String(compatible)}, and this device is ${String(ours)}`);
    const version = String(update.get('version') ?? '');
    const hash =
      all.get('manifest-hash') ??
      createHash('sha256')
        .update(`${version}\n${checksums(all).join('\n')}`)
        .digest('hex');
    return { image: `sha256:${String(hash)}`, version, missing: [] };
  }

  async stateForms(): Promise<never> {
    throw unavailable('read the images', 'bundles of RAUC have no list of ours');
  }

  /**
   * RAUC makes what it installed the next to start, unless its `system.conf` says `activate-installed=false`; then the
   * running one is put first again.
   */
  async stage(
    folder: string,
    { progress, signal }: { readonly progress?: (progress: StageProgress) => void; readonly signal?: AbortSignal } = {},
  ): Promise<SlotInfo> {
    const { rauc, installMs } = this.#options;
    if (this.#staging || (await rauc.property('Operation')) !== 'idle')
      throw new CoreError('BUSY', { what: 'an install by RAUC', limit: 1 });
    this.#staging = true;
    try {
      await this.inspect(folder);
      const target = await this.#other();
      const { result, error } = await rauc.install(join(folder, BUNDLE), installMs, (done) =>
        progress?.({ done, of: 100 }),
      );
      await rauc.call('Mark', 'ss', ['active', 'booted']);
      const { install, ...slot } = await this.#named(target.name);
      const state = result === 0 && !signal?.aborted ? 'trial' : 'empty';
      await this.#options.trials.set(slot.name, { state, install });
      if (result !== 0) throw failed(folder, error);
      if (signal?.aborted)
        throw new CoreError('CANCELLED', {
          what: 'staging',
          reason: 'RAUC went on to its end, and the written slot is not used',
        });
      const { rauc: _, ...info } = slot;
      return { ...info, state };
    } finally {
      this.#staging = false;
    }
  }

  async activate(name: SlotName): Promise<void> {
    const slot = await this.#named(name);
    if (slot.state === 'empty' || slot.state === 'bad')
      throw unavailable('activate the slot', `slot ${name} is ${slot.state}`);
    await this.#options.rauc.call('Mark', 'ss', ['active', slot.rauc]);
  }

  async markGood(): Promise<void> {
    const { name } = await this.#booted();
    await this.#options.rauc.call('Mark', 'ss', ['good', 'booted']);
    await this.#options.trials.set(name, undefined);
  }

  async markBad(_reason: string): Promise<void> {
    await this.#booted();
    const other = await this.#other();
    if (other.state === 'empty' || other.state === 'bad')
      throw unavailable('mark the slot bad', `there is nothing to go back to: slot ${other.name} is ${other.state}`);
    await this.#options.rauc.call('Mark', 'ss', ['bad', 'booted']);
    await this.#options.rauc.call('Mark', 'ss', ['active', other.rauc]);
  }

  async #found(): Promise<{ readonly slots: readonly Found[]; readonly cause?: string }> {
    const { rauc, slotClass, trials } = this.#options;
    const [all] = (await rauc.call('GetSlotStatus')) as readonly [readonly (readonly [string, Members])[]];
    const ours = all
      .filter(([, members]) => members.get('class') === slotClass)
      .sort(([one], [two]) => (one < two ? -1 : 1))
      .slice(0, NAMES.length);
    const first = await rauc.call('GetPrimary').catch((error: unknown) => error as Error);
    const slots = ours.map(([name, members], at): Found => {
      const slot = NAMES[at]!;
      const install = `${String(members.get('sha256'))} ${String(members.get('installed.count'))}`;
      const version = members.get('bundle.version');
      const state = stateOf(members, trials.of(slot, install));
      return {
        name: slot,
        rauc: name,
        install,
        state,
        tries: 0,
        booted: members.get('state') === 'booted',
        ...(version !== undefined && { version: String(version) }),
        primary: Array.isArray(first) && first[0] === name,
      };
    });
    return { slots, ...(first instanceof Error && { cause: `RAUC does not know what starts next: ${first.message}` }) };
  }

  async #named(name: SlotName): Promise<Found> {
    return this.#one(({ name: other }) => other === name, `RAUC has no slot ${name}`);
  }

  #booted(): Promise<Found> {
    return this.#one(({ booted }) => booted, 'no slot of RAUC runs');
  }

  async #other(): Promise<Found> {
    await this.#booted();
    return this.#one(({ booted }) => !booted, 'RAUC has one slot alone');
  }

  async #one(is: (slot: Found) => boolean, reason: string): Promise<Found> {
    const { slots } = await this.#refusing('', () => this.#found());
    const found = slots.find(is);
    if (found) return found;
    throw unavailable('use the slot', reason);
  }

  /** RAUC says all that it has to say in one text. */
  async #refusing<T>(folder: string, ask: () => Promise<T>): Promise<T> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof DBusError)) throw error;
      throw folder === '' ? unavailable('ask RAUC', error.message) : failed(folder, error.message);
    }
  }
}

function stateOf(members: Members, trial: 'trial' | 'empty' | undefined): SlotInfo['state'] {
  if (trial === 'empty' || members.get('bundle.version') === undefined || members.get('status') === 'pending')
    return 'empty';
  return members.get('boot-status') === 'bad' ? 'bad' : (trial ?? 'good');
}

function checksums(told: Members): readonly string[] {
  const images = (told.get('images') as readonly Members[] | undefined) ?? [];
  return images.map((image) =>
    String((image.get('image') as Members | undefined)?.get('checksum') ?? image.get('checksum')),
  );
}

const invalid = (source: string, reason: string) => new CoreError('SYSTEM_IMAGE_INVALID', { source, reason });

function failed(folder: string, text: string): CoreError {
  if (/signature|certificate|keyring|verif/i.test(text))
    return new CoreError('SIGNATURE_INVALID', { what: folder, reason: text });
  if (/no space left/i.test(text)) return new CoreError('STORAGE_FULL', { file: 'the slot', reason: text });
  return invalid(folder, text);
}
