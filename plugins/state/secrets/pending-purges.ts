/**
 * Scopes that are to be emptied and could not be yet: told, tried again until they are, and known after a restart as
 * far as a disk takes it.
 */
import { CoreError, isNewer, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Vault } from './vault.ts';

/** Milliseconds to the next try: twice as many after each that failed. */
const FIRST_MS = 5_000;
const LONGEST_MS = 300_000;
const MOST_TOLD = 32;

export interface Emptying {
  readonly purges: Vault['purges'];
  /** The vault is open, and has nothing of this scope. */
  isEmpty(scope: string): boolean;
  /** Throws what was in the way. */
  empty(scope: string, by: string): Promise<void>;
}

export class OwedPurges {
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #with: Emptying;
  /** Pending scopes, each with its requester and the obstacle of the last try. */
  readonly #owed = new Map<string, { readonly by: string; why?: string }>();
  readonly #clearing = new Map<string, Promise<void>>();
  /** List as it was written; undefined: not known, as a write failed. */
  #kept: string | undefined = '';
  #unkept: unknown;
  /** Why it is not known what was owed before this start. */
  #problem: unknown;
  #turn: Promise<void> = Promise.resolve();
  #again: Disposable | undefined;
  #wait = FIRST_MS;

  constructor({ scope, log }: { readonly scope: Scope; readonly log: Logger }, emptying: Emptying) {
    this.#scope = scope;
    this.#log = log;
    this.#with = emptying;
  }

  /** Takes up the purges from before this start. They are deleted in the name of `by`. */
  async recall(by: string): Promise<void> {
    const { scopes = [], problem, durable = true } = (await this.#with.purges?.read()) ?? {};
    for (const scope of scopes) this.#owed.set(scope, { by });
    this.#kept = durable ? listOf(scopes) : undefined;
    this.#problem = problem;
    if (problem !== undefined)
      this.#log.error({ reason: reasonOf(problem) }, 'cannot read which secrets are still to be deleted');
    await this.pay();
  }

  /** Empties what is still owed, as far as it can now. */
  async pay(): Promise<void> {
    for (const [scope, { by }] of this.#owed) await this.clear(scope, by).catch(() => undefined); // it stays owed
    await this.#keep();
    this.#later();
  }

  /** Everything of a scope goes. What cannot go now is owed; throws what was in the way. */
  clear(scope: string, by: string): Promise<void> {
    this.#owed.set(scope, { by, ...this.#owed.get(scope) });
    // Once at a time: a second one must not delete what was set after the first.
    const clearing =
      this.#clearing.get(scope) ??
      this.#clear(scope, by).finally(() => {
        this.#clearing.delete(scope);
        this.#later();
      });
    this.#clearing.set(scope, clearing);
    return clearing;
  }

  /** Throws SECRETS_LOCKED while a scope is still to be emptied: what is in it is that of a former one. */
  async paid(scope: string): Promise<void> {
    const owed = this.#owed.get(scope);
    if (owed === undefined) return;
    await this.clear(scope, owed.by).catch((error: unknown) => {
      const reason = `the secrets of a former ${scope} are still to be deleted: ${reasonOf(error)}`;
      throw new CoreError('SECRETS_LOCKED', { reason });
    });
  }

  tell(report: HealthReport): void {
    if (this.#problem !== undefined) {
      const code = isNewer(this.#problem) ? 'STATE_NEWER' : 'STATE_CORRUPT';
      report.warn(code, `secrets of removed apps may be left: ${reasonOf(this.#problem)}`);
    }
    for (const [scope, { why }] of [...this.#owed].slice(0, MOST_TOLD)) {
      const reason = why === undefined ? '' : `: ${why}`;
      report.warn('SECRETS_OWED', `secrets of ${scope}, which was removed, could not be deleted yet${reason}`);
    }
    if (this.#unkept === undefined) return;
    const lost = 'the device may forget it when it starts again; it is tried again';
    const what = `the disk does not take which secrets are still to be deleted: ${reasonOf(this.#unkept)}`;
    report.warn('SECRETS_OWED', `${what}; ${lost}`);
  }

  async #clear(scope: string, by: string): Promise<void> {
    try {
      if (!this.#with.isEmpty(scope)) {
        await this.#keep();
        await this.#with.empty(scope, by);
      }
    } catch (error) {
      this.#owed.set(scope, { by, why: reasonOf(error) });
      throw error;
    }
    this.#owed.delete(scope);
    await this.#keep();
  }

  /** Only what is not written yet. Never rejects. */
  #keep(): Promise<void> {
    const { purges } = this.#with;
    this.#turn = this.#turn.then(async () => {
      const scopes = [...this.#owed.keys()];
      const now = listOf(scopes);
      // The list of a newer Core stays as it is.
      if (!purges || isNewer(this.#problem) || now === this.#kept) return;
      this.#kept = undefined;
      try {
        await purges.write(scopes);
        this.#kept = now;
        this.#unkept = undefined;
      } catch (error) {
        if (this.#unkept === undefined) this.#log.warn({ reason: reasonOf(error) }, NOT_KEPT);
        this.#unkept = error;
      }
    });
    return this.#turn;
  }

  #later(): void {
    if (this.#owed.size === 0 && this.#unkept === undefined) {
      this.#again?.[Symbol.dispose]();
      this.#again = undefined;
      this.#wait = FIRST_MS;
      return;
    }
    if (this.#scope.signal.aborted) return;
    this.#again ??= this.#scope.timeout('secrets that are still to be deleted', this.#wait, () => {
      this.#again = undefined;
      this.#wait = Math.min(this.#wait * 2, LONGEST_MS);
      return this.pay();
    });
  }
}

const NOT_KEPT = 'cannot keep which secrets are still to be deleted: tried again';

const listOf = (scopes: readonly string[]): string => scopes.toSorted().join();
