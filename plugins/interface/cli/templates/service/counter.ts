import { CoreError } from '@device-core/plugin-api';
import type { PluginIdService } from './contract.ts';

type Listener = (name: string, count: number) => void;

/** Counts names, at most `limit` different ones: a store without a bound is a leak. */
export class Counter implements PluginIdService {
  readonly #limit: number;
  readonly #counts = new Map<string, number>();
  readonly #listeners = new Set<Listener>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  async count(name: string): Promise<number> {
    const before = this.#counts.get(name);
    if (name === '') throw new CoreError('PARAMS_INVALID', { where: 'name', reason: 'it is empty' });
    if (before === undefined && this.#counts.size >= this.#limit) {
      throw new CoreError('PARAMS_INVALID', { where: 'name', reason: `${this.#limit} names are the limit` });
    }
    const count = (before ?? 0) + 1;
    this.#counts.set(name, count);
    for (const listener of this.#listeners) listener(name, count);
    return count;
  }

  watch(listener: Listener): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }
}
