/** Operations that have just left the table: while their plugin may be restarting, callers get a retry instead of an unknown name. */
import { CoreError, type Scope } from '../../index.ts';
import type { OperationInfo } from '../../services/operations.ts';
import type { Entry } from './entry.ts';

/** Longer than the longest pause before the start of a plugin that failed. */
const KEEP_MS = 40_000;
export const RETRY_AFTER_MS = 500;

export interface DepartedEntry extends Entry {
  /** Absent for streams, which no front end lists. */
  readonly info?: OperationInfo;
  readonly route?: string;
}

export class Departed {
  readonly #scope: Scope;
  readonly #forgotten: (entry: DepartedEntry) => void;
  readonly #entries = new Map<string, { readonly entry: DepartedEntry; readonly timer: Disposable }>();

  constructor(scope: Scope, forgotten: (entry: DepartedEntry) => void) {
    this.#scope = scope;
    this.#forgotten = forgotten;
  }

  get(name: string): DepartedEntry | undefined {
    return this.#entries.get(name)?.entry;
  }

  /** Operations, for those who route to them. */
  infos(): readonly OperationInfo[] {
    return [...this.#entries.values()].flatMap(({ entry }) => entry.info ?? []);
  }

  add(entry: DepartedEntry): void {
    if (this.#scope.signal.aborted) return;
    const timer = this.#scope.timeout(`operation ${entry.name}, gone`, KEEP_MS, () => {
      this.#entries.delete(entry.name);
      this.#forgotten(entry);
    });
    this.#entries.set(entry.name, { entry, timer });
  }

  /** It is back, or another has taken its route: what it was. */
  take(name: string, route?: string): DepartedEntry | undefined {
    let found: DepartedEntry | undefined;
    for (const [other, { entry, timer }] of this.#entries) {
      if (other !== name && (route === undefined || entry.route !== route)) continue;
      timer[Symbol.dispose]();
      this.#entries.delete(other);
      if (other === name) found = entry;
      else this.#forgotten(entry);
    }
    return found;
  }

  /** Why a call by this name cannot be served now; undefined where it never could be. */
  missing(name: string): CoreError | undefined {
    const entry = this.get(name);
    if (!entry) return undefined;
    const reason = `${entry.info?.plugin ? `plugin ${entry.info.plugin}` : 'its plugin'} has stopped, perhaps to start again`;
    return new CoreError('UNAVAILABLE', { what: name, reason, retryAfterMs: RETRY_AFTER_MS });
  }
}
