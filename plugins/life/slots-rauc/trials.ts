import { isNewer } from '@device-core/plugin-api';
import type { KeptFile, KeptForm } from '@device-core/plugin-api/durable';
import type { SlotName } from '@device-core/plugin-api/inside/boot-record';

export interface Trial {
  readonly state: 'trial' | 'empty';
  /** Install of the trial: another one in that slot does not match. */
  readonly install: string;
}

type BySlot = Partial<Readonly<Record<SlotName, Trial>>>;

export const FORM: KeptForm<BySlot> = {
  form: 1,
  initial: {},
  consequence: 'what RAUC installed counts as good after a restart of the Core',
  parse({ slots }) {
    const good = Object.values(Object(slots)).every((one) => {
      const { state, install } = Object(one) as Partial<Trial>;
      return (state === 'trial' || state === 'empty') && typeof install === 'string';
    });
    return good && typeof slots === 'object' && slots !== null ? slots : undefined;
  },
  format: (slots) => ({ slots }),
};

/** Which installs were not yet found good: RAUC itself remembers good and bad alone. Lost, they count as RAUC says. */
export class Trials {
  readonly #kept: KeptFile<BySlot>;

  constructor(kept: KeptFile<BySlot>) {
    this.#kept = kept;
  }

  of(slot: SlotName, install: string): Trial['state'] | undefined {
    const trial = this.#kept.value[slot];
    return trial?.install === install ? trial.state : undefined;
  }

  /** Undefined: it is judged. Rejects with the codes of a disk. */
  async set(slot: SlotName, trial: Trial | undefined): Promise<void> {
    const { [slot]: _, ...rest } = this.#kept.value;
    try {
      await this.#kept.set({ ...rest, ...(trial && { [slot]: trial }) });
    } catch (error) {
      // A newer Core's file stays as it is. That is told in the health, and no reason to have no updates.
      if (!isNewer(error)) throw error;
    }
  }
}
