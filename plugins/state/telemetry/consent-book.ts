/** The owner's decision on the disk, with its time, its author and the text that was shown. */
import { randomUUID } from 'node:crypto';
import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import { CONSENT_LEVELS, type ConsentLevel, type ConsentTold } from '@device-core/plugin-api/inside/services/telemetry';
import type { HealthReport } from '@device-core/plugin-api/services/health';

export interface Consent extends ConsentTold {
  /** The random name of the device in its telemetry; absent while telemetry is off. */
  readonly device?: string;
  /** Messages in the queues have still to be removed. */
  readonly owed?: true;
}

const FORM: KeptForm<Consent> = {
  form: 1,
  initial: { level: 'off' },
  consequence: 'what the owner decides about telemetry holds until the Core ends, and is lost then',
  format: (consent) => consent,
  parse({ level, at, by, text, device, owed }) {
    const known = CONSENT_LEVELS.find((one) => one === level);
    if (known === undefined) return undefined;
    return {
      level: known,
      ...(typeof at === 'number' && { at }),
      ...(typeof by === 'string' && { by }),
      ...(typeof text === 'string' && { text }),
      ...(typeof device === 'string' && { device }),
      ...(owed === true && { owed }),
    };
  },
};

/** A file that cannot be read, and one of a newer Core, count as no consent. */
export class ConsentBook {
  readonly #file: KeptFile<Consent>;

  private constructor(file: KeptFile<Consent>) {
    this.#file = file;
  }

  static async open(path: string, scope: Scope, log: Logger): Promise<ConsentBook> {
    return new ConsentBook(await KeptFile.open(path, FORM, scope, log));
  }

  get value(): Consent {
    return this.#file.value;
  }

  get told(): ConsentTold {
    const { device: _, owed: __, ...told } = this.#file.value;
    return told;
  }

  /** In force at once; durable when it resolves. Rejects with the codes of a disk. */
  async decide(decided: Required<ConsentTold>, owed: boolean): Promise<void> {
    const { device = randomUUID(), owed: before = false } = this.#file.value;
    const named = decided.level === 'off' ? {} : { device };
    await this.#file.set({ ...decided, ...named, ...((owed || before) && { owed: true as const }) });
  }

  async paid(): Promise<void> {
    const { owed, ...rest } = this.#file.value;
    if (owed) await this.#file.set(rest);
  }

  /** Gives the device another name, so that it cannot be recognised. Messages under the former one have to be removed. */
  async renew(): Promise<void> {
    const { device, ...rest } = this.#file.value;
    await this.#file.set({ ...rest, ...(device !== undefined && { device: randomUUID() }), owed: true });
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'telemetry.consent');
  }
}

const CRASH =
  'The device tells its maker when something in it fails: which part, the error, restarts, memory and its version. It uses a random name.';
const USAGE =
  'It also tells how busy it is: processor time, numbers of events, and warnings of its log. It never sends what is said, shown or written.';
const FULL = 'It also tells what each plugin and each app takes, by name, with warnings that apps print.';

/** Full meaning of each level, for the owner's decision. A SKU may have other words. */
export const TEXTS: Readonly<Record<ConsentLevel, string>> = {
  off: 'The device sends nothing about itself.',
  crash: CRASH,
  usage: `${CRASH} ${USAGE}`,
  full: `${CRASH} ${USAGE} ${FULL}`,
};
