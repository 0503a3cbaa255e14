/** A slot that the boot loader left: told until a good update comes, or a person says that it was seen. */
import { join } from 'node:path';
import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { SlotName } from '@device-core/plugin-api/inside/boot-record';
import type { BootReport } from '@device-core/plugin-api/inside/boot-report';

export interface Left {
  readonly slot: SlotName;
  readonly version?: string;
  readonly reason: string;
}

/** The fall that a person has seen; another one is told again. */
interface Seen {
  readonly fall?: string;
}

const FORM: KeptForm<Seen> = {
  form: 1,
  initial: {},
  consequence: 'an acknowledged fall to the other slot is reported again after the next start',
  parse: ({ fall }) => (typeof fall === 'string' ? { fall } : {}),
  format: (seen) => seen,
};

/** Undefined where the device is where it wants to be. */
function leftBy({ slot, safe, rung, cause, slots, version }: BootReport): Left | undefined {
  if (slot === undefined) return undefined;
  const name = slot === 'a' ? 'b' : 'a';
  const { state, reason, version: left } = slots[name];
  // A slot comes to be bad only by being left: by the loader, or by its own probation.
  if (state === 'bad')
    return { slot: name, ...(left && { version: left }), reason: reason ?? 'the record has no reason' };
  if (safe || cause === undefined) return undefined;
  return rung === 'other'
    ? { slot: name, ...(left && { version: left }), reason: cause }
    : { slot, ...(version && { version }), reason: cause };
}

export class FellBack {
  readonly #left: Left | undefined;
  readonly #fall: string;
  readonly #kept: KeptFile<Seen>;
  readonly #text: string;

  private constructor(report: BootReport, kept: KeptFile<Seen>) {
    const { slot, version, boot } = report;
    this.#left = leftBy(report);
    this.#kept = kept;
    const { slot: name, version: left, reason } = this.#left ?? { slot, reason: '' };
    const bad = name !== undefined && report.slots[name].state === 'bad';
    // A slot that is bad stays so until something is written there. What a crash caused is of this boot alone.
    this.#fall = JSON.stringify([name, name && report.slots[name].image, reason, ...(bad ? [] : [boot])]);
    const what = bad ? `slot ${name}${left ? ` ${left}` : ''}: ${reason}` : reason;
    const now = `slot ${slot}${version ? ` ${version}` : ''} runs now`;
    this.#text = `${what}; ${now}. Install an update that is good, or say that it was seen: devicectl boot seen`;
  }

  static async open(report: BootReport, state: string, scope: Scope, log: Logger): Promise<FellBack> {
    return new FellBack(report, await KeptFile.open(join(state, 'boot/seen.json'), FORM, scope, log));
  }

  /** A fall back that is still to be seen. */
  get open(): Left | undefined {
    return this.#kept.value.fall === this.#fall ? undefined : this.#left;
  }

  get kept(): KeptFile<Seen> {
    return this.#kept;
  }

  /** With the cause and the remedy. */
  get text(): string {
    return this.#text;
  }

  /** False where there was nothing to be seen. Throws the codes of a disk. */
  async see(): Promise<boolean> {
    if (this.open === undefined) return false;
    await this.#kept.set({ fall: this.#fall });
    return true;
  }
}
