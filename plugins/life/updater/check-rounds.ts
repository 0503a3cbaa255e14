/** Rounds in which a device looks at its repository by itself. */
import type { Parts } from './parts.ts';
import { firstNo } from './policy.ts';
import type { UpdateFacts } from './update-facts.ts';

const HOUR = 3_600_000;
const SOONEST_MS = 60_000;

export class CheckRounds {
  readonly #parts: Parts;
  readonly #facts: UpdateFacts;
  readonly #busy: () => boolean;
  readonly #check: () => Promise<void>;
  #round: Disposable | undefined;

  constructor(parts: Parts, facts: UpdateFacts, busy: () => boolean, check: () => Promise<void>) {
    this.#parts = parts;
    this.#facts = facts;
    this.#busy = busy;
    this.#check = check;
  }

  /** When it is looked at the repository next; a device without one has no timer for it. */
  plan(): void {
    const { config, scope, journal, clock } = this.#parts;
    this.#round?.[Symbol.dispose]();
    this.#round = undefined;
    if (config.url === undefined || config.automatic === 'off' || scope.signal.aborted) return;
    const every = config.checkHours * HOUR;
    const due = (journal.record.checkedAt ?? 0) + every - clock.now();
    this.#round = scope.timeout('look for an update', Math.min(every, Math.max(SOONEST_MS, due)), () => this.#look());
  }

  async #look(): Promise<void> {
    const { log } = this.#parts;
    const no = firstNo('check', await this.#facts.read(), { by: 'device' });
    if (no) log.debug({ rule: no.rule.name }, 'it is not looked for an update now');
    else if (!this.#busy()) await this.#check().catch((err) => log.warn({ err }, 'cannot look for an update'));
    this.plan();
  }
}
