import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { DeparturesLedger } from '@device-core/plugin-api/inside/services/ledger';

const PART = 'egress';
/** Bytes are told to the ledger so long after the first, milliseconds. */
const COUNT_MS = 5_000;

interface Line {
  readonly id: Promise<string>;
  readonly until: number;
}

/**
 * Ledger entries of the data that one app sends, written before it goes. One line stands for all connections to a
 * host and port within `lineMs`: an app that connects in a loop neither waits for the disk each time nor wears it
 * out.
 */
export class Book {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #app: string;
  readonly #lineMs: number;
  readonly #ledger: () => DeparturesLedger | undefined;
  readonly #lines = new Map<string, Line>();
  readonly #uncounted = new Map<string, number>();
  #timer: Disposable | undefined;

  constructor(
    app: string,
    options: {
      readonly scope: Scope;
      readonly log: Logger;
      readonly lineMs: number;
      readonly ledger: () => DeparturesLedger | undefined;
    },
  ) {
    this.#app = app;
    this.#scope = options.scope;
    this.#log = options.log;
    this.#lineMs = options.lineMs;
    this.#ledger = options.ledger;
  }

  /**
   * Resolves with the id of its line when that is on the disk: only then may anything leave. Throws SERVICE_MISSING and
   * the codes of a disk.
   */
  async write(to: string): Promise<string> {
    const now = this.#scope.clock.monotonic();
    const known = this.#lines.get(to);
    if (known && now < known.until) return known.id;
    const ledger = this.#ledger();
    if (!ledger) {
      const reason = 'nothing leaves that cannot be written down before';
      throw new CoreError('SERVICE_MISSING', { service: 'ledger', range: '^1.0.0', reason });
    }
    const id = ledger.write({ part: PART, for: `app.${this.#app}`, to, what: 'connection', bytes: 0 });
    const line = { id, until: now + this.#lineMs };
    this.#lines.set(to, line);
    id.catch(() => this.#lines.get(to) === line && this.#lines.delete(to)); // whoever waits for it is told
    return id;
  }

  count(id: string, bytes: number): void {
    this.#uncounted.set(id, (this.#uncounted.get(id) ?? 0) + bytes);
    this.#timer ??= this.#scope.timeout(`bytes of ${this.#app}`, COUNT_MS, () => this.flush());
  }

  async flush(): Promise<void> {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const counted = [...this.#uncounted];
    this.#uncounted.clear();
    const ledger = this.#ledger();
    const told = await Promise.allSettled(counted.map(async ([id, bytes]) => ledger?.count(id, bytes)));
    for (const one of told)
      if (one.status === 'rejected')
        this.#log.warn({ app: this.#app, reason: reasonOf(one.reason) }, 'bytes that left were not counted');
  }
}
