/** Ledger of the data that leaves the device by the voice: noted in the ledger of the device before it leaves. */
import { CoreError, type Scope } from '@device-core/plugin-api';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';
import type { LedgerEntry } from '@device-core/plugin-api/services/voice';

const PART = 'voice';

export class Ledger {
  readonly #most: number;
  #service: DeparturesLedger | undefined;

  /** `most` entries are shown. */
  constructor(most: number) {
    this.#most = most;
  }

  /** While the service is there. */
  use(service: DeparturesLedger, scope: Scope): void {
    this.#service = service;
    scope.defer('ledger', () => {
      if (this.#service === service) this.#service = undefined;
    });
  }

  /** Resolves when it is on the disk: only then may anything leave. Rejects with SERVICE_MISSING and the codes of a disk. */
  async append({ turn, to, what, bytes, rule }: Omit<LedgerEntry, 'at'>): Promise<void> {
    if (!this.#service) {
      const reason = 'nothing is sent that cannot be written down before';
      throw new CoreError('SERVICE_MISSING', { service: 'ledger', range: '^1.0.0', reason });
    }
    await this.#service.write({ part: PART, for: PART, to, what, bytes, details: { turn, rule } });
  }

  /** Newest first. */
  async newest(limit: number): Promise<readonly LedgerEntry[]> {
    const lines = (await this.#service?.list({ part: PART, limit: Math.min(limit, this.#most) })) ?? [];
    return lines.map(({ at, to, what, bytes = 0, details = {} }) => ({
      at,
      turn: String(details.turn),
      to,
      what: what === 'text' ? 'text' : 'audio',
      bytes,
      rule: String(details.rule),
    }));
  }
}
