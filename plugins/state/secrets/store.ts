/** Every secret of the device, in any vault: bounds, one change at a time, a record of reads, and listeners for changes. */
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { Serial } from '@device-core/plugin-api/inside/serial';
import {
  checkName,
  checkScope,
  checkText,
  keyOf,
  notFound,
  nothingToDelete,
  partsOf,
  type SecretKey,
  SHARED,
  warningOf,
} from './names.ts';
import { OwedPurges } from './pending-purges.ts';
import { ChangeRate } from './rate.ts';
import type { Vault, VaultState } from './vault.ts';

export const LIMITS = {
  /** Secrets of one scope. */
  perScope: 256,
  /** Bytes of all of them. */
  bytes: 4 << 20,
  /** Share of one scope. */
  bytesPerScope: 512 << 10,
  /** Share for `shared` and `core`: plugins and apps do not get it. */
  reserved: 1 << 20,
  /** Changes by one plugin or app. */
  perMinute: 30,
  /** Changes that wait for the disk, of one scope and of all. */
  waitingOfOne: 16,
  waiting: 64,
  /** Milliseconds between two looks whether a vault that is locked can be opened. */
  retryMs: 1_000,
} as const;

/** Milliseconds of work on the texts of a vault, after which others have their turn. */
const SLICE_MS = 4;
/** Scopes whose space is kept free of the others. */
const RESERVED: ReadonlySet<string> = new Set([SHARED, 'core']);

/** Gets to know texts that must not stand in a log. */
export interface SecretTexts {
  /** Before anybody gets it; undefined: it was deleted. A text that was replaced may still be on its way to a log. */
  changed(key: SecretKey, text: string | undefined): void;
  /** Everybody may read it, as a name: it is not looked for. */
  isName(key: SecretKey, text: string): boolean;
}

export interface Kept {
  readonly scope: string;
  readonly name: string;
  readonly setAt: number;
  readonly setBy: string;
  readonly readAt?: number;
  readonly reads: number;
}

interface Reads {
  at: number;
  count: number;
}

export class SecretStore {
  readonly #vault: Vault;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #texts: SecretTexts;
  readonly #listeners = new Set<(key: SecretKey) => void>();
  readonly #reads = new Map<SecretKey, Reads>();
  readonly #waiting = new Map<string, number>();
  #waits = 0;
  readonly #rate: ChangeRate;
  /** Scopes that were to be emptied, and could not be yet. */
  readonly owed: OwedPurges;
  #told = false;
  readonly #turns = new Serial();
  #tried = Number.NEGATIVE_INFINITY;
  /** After each look at a vault that was not open. */
  onState: () => void = () => undefined;
  /** Before a text is taken. */
  onSet: () => Promise<void> = async () => undefined;

  constructor(vault: Vault, { scope, log }: { readonly scope: Scope; readonly log: Logger }, texts: SecretTexts) {
    this.#vault = vault;
    this.#scope = scope;
    this.#log = log;
    this.#texts = texts;
    this.#rate = new ChangeRate(LIMITS.perMinute, () => scope.clock.monotonic());
    this.owed = new OwedPurges(
      { scope, log },
      {
        purges: vault.purges,
        isEmpty: (one) => vault.state.state === 'open' && this.list(one).length === 0,
        empty: (one, by) => this.#empty(one, by),
      },
    );
  }

  get state(): VaultState['state'] {
    return this.#vault.state.state;
  }

  /** Adds all texts of an open vault to the scan, so that none reaches a log, also of a secret without a reader. Runs once. */
  async tellTexts(): Promise<void> {
    if (this.#told || this.#vault.state.state !== 'open') return;
    this.#told = true;
    let since = performance.now();
    for (const key of [...this.#vault.records.keys()]) {
      const text = await this.#vault.read(key).catch(() => undefined); // its health says that it is damaged
      if (text !== undefined) this.#texts.changed(key, text);
      if (performance.now() - since < SLICE_MS) continue;
      await new Promise((resolve) => setImmediate(resolve));
      since = performance.now();
    }
  }

  has(scope: string, name: string): boolean {
    return this.#vault.records.has(keyOf(scope, name));
  }

  /** Secrets of one scope, or of all; names in their order. */
  list(scope?: string): readonly Kept[] {
    const all = [...this.#vault.records].map(([key, { at, by }]) => {
      const reads = this.#reads.get(key);
      const read = reads ? { readAt: reads.at, reads: reads.count } : { reads: 0 };
      return { ...partsOf(key), setAt: at, setBy: by, ...read };
    });
    const own = scope === undefined ? all : all.filter((one) => one.scope === scope);
    return own.sort((a, b) => (keyOf(a.scope, a.name) < keyOf(b.scope, b.name) ? -1 : 1));
  }

  /** Throws SECRETS_LOCKED unless the vault is open by now. */
  async open(): Promise<void> {
    const { clock } = this.#scope;
    if (this.#vault.state.state !== 'open' && clock.monotonic() - this.#tried >= LIMITS.retryMs) {
      this.#tried = clock.monotonic();
      await this.#turns.run(async () => {
        await this.#vault.retry();
        await this.tellTexts();
      });
      this.onState();
    }
    const { state, reason } = this.#vault.state;
    if (state !== 'open') throw new CoreError('SECRETS_LOCKED', { state, reason: reason ?? state });
  }

  /** The text, counted as read. Throws SECRET_NOT_FOUND, SECRETS_LOCKED, STATE_CORRUPT. */
  async reveal(scope: string, name: string): Promise<string> {
    await this.open();
    await this.owed.paid(scope);
    const key = keyOf(scope, name);
    const text = await this.#vault.read(key);
    if (text === undefined) throw notFound(scope, name);
    const reads = this.#reads.get(key) ?? { at: 0, count: 0 };
    reads.at = this.#scope.clock.now();
    reads.count += 1;
    this.#reads.set(key, reads);
    this.#texts.changed(key, text);
    return text;
  }

  /** Resolves with a warning, if any, when it is durable. Throws PARAMS_INVALID, QUEUE_FULL, SECRETS_LOCKED, the codes of a disk. */
  async set(scope: string, name: string, text: string, by: string): Promise<string | undefined> {
    checkScope(scope);
    checkName(name);
    checkText(text, scope);
    const key = keyOf(scope, name);
    await this.onSet();
    const isName = this.#texts.isName(key, text);
    const warning = warningOf(text, isName);
    await this.owed.paid(scope);
    await this.#change(scope, by, async () => {
      this.#fits(scope, key, Buffer.byteLength(text));
      // First: it has no reader yet, and a failed write may be on the disk all the same.
      this.#texts.changed(key, text);
      await this.#vault.write(key, text, by);
    });
    this.#log.info({ scope, by, ...(warning && { warning }) }, `secret ${name} was set`);
    this.#changed(key);
    // An app that tries texts must not learn from it which apps and plugins are here.
    return by.startsWith('app.') ? warningOf(text, isName && scope.includes(text)) : warning;
  }

  /** Throws PARAMS_INVALID, SECRET_NOT_FOUND, QUEUE_FULL, SECRETS_LOCKED, the codes of a disk. */
  async delete(scope: string, name: string, by: string): Promise<void> {
    checkScope(scope);
    checkName(name);
    await this.#delete(scope, name, by, by);
  }

  /** `from`: who is held to the rate. */
  async #delete(scope: string, name: string, by: string, from?: string): Promise<void> {
    const key = keyOf(scope, name);
    await this.#change(scope, from, async () => {
      if (!this.#vault.records.has(key)) throw nothingToDelete(scope, name);
      await this.#vault.write(key, undefined, by);
    });
    this.#reads.delete(key);
    this.#texts.changed(key, undefined);
    this.#log.info({ scope, by }, `secret ${name} was deleted`);
    this.#changed(key);
  }

  /** Everything of a scope goes. What cannot go now is owed, and the scope is of no use until it is gone; throws what was in the way. */
  clear(scope: string, by: string): Promise<void> {
    return this.owed.clear(scope, by);
  }

  async #empty(scope: string, by: string): Promise<void> {
    await this.open();
    let refusal: unknown;
    for (const { name } of this.list(scope)) {
      try {
        await this.#delete(scope, name, by);
      } catch (error) {
        if (this.has(scope, name)) refusal ??= error; // else it is gone all the same
      }
    }
    if (refusal !== undefined) throw refusal;
  }

  async rotate(by: string): Promise<number> {
    await this.#change('operator', by, () => this.#vault.rotate());
    const secrets = this.#vault.records.size;
    this.#log.info({ by, secrets }, 'the vault was sealed anew');
    return secrets;
  }

  onChange(listener: (key: SecretKey) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #fits(scope: string, key: SecretKey, bytes: number): void {
    const { records } = this.#vault;
    let [count, own, all] = [0, bytes, bytes];
    for (const [other, record] of records) {
      if (other === key) continue;
      const { scope: its } = partsOf(other);
      if (its === scope) {
        count += 1;
        own += record.bytes;
      }
      if (RESERVED.has(scope) || !RESERVED.has(its)) all += record.bytes;
    }
    const limit = (reason: string) => new CoreError('PARAMS_INVALID', { where: 'another secret', reason });
    if (count >= LIMITS.perScope) throw limit(`${scope} has ${count} already, ${LIMITS.perScope} are the limit`);
    // One of a vault that has more already may be replaced by one that is no longer.
    if (bytes <= (records.get(key)?.bytes ?? 0)) return;
    if (own > LIMITS.bytesPerScope) throw limit(`${scope} would have more than ${LIMITS.bytesPerScope} bytes`);
    const most = RESERVED.has(scope) ? LIMITS.bytes : LIMITS.bytes - LIMITS.reserved;
    if (all > most) throw limit(`all of them would have more than ${most} bytes`);
  }

  async #change<T>(scope: string, from: string | undefined, work: () => Promise<T>): Promise<T> {
    const mine = this.#waiting.get(scope) ?? 0;
    if (mine >= LIMITS.waitingOfOne || this.#waits >= LIMITS.waiting) {
      const reason = `${mine} changes of ${scope} wait for the disk, ${this.#waits} in all`;
      throw new CoreError('QUEUE_FULL', { what: 'the change of a secret', reason, retryAfterMs: 100 });
    }
    if (from !== undefined && from !== 'operator') this.#rate.take(from);
    this.#waits += 1;
    this.#waiting.set(scope, mine + 1);
    try {
      await this.open();
      return await this.#turns.run(work);
    } catch (error) {
      this.onState(); // a vault that came later may be one that cannot be opened
      throw error;
    } finally {
      this.#waits -= 1;
      const left = this.#waiting.get(scope)! - 1;
      if (left > 0) this.#waiting.set(scope, left);
      else this.#waiting.delete(scope);
    }
  }

  #changed(key: SecretKey): void {
    for (const listener of [...this.#listeners]) {
      try {
        listener(key);
      } catch (error) {
        this.#log.error({ reason: reasonOf(error) }, 'a listener of secrets failed');
      }
    }
  }
}
