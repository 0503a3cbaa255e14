/** Listeners of events, by endpoint. They stay over sessions: an endpoint is known by its label. */

import { type Logger, reasonOf } from '@device-core/plugin-api';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';

type Listener = (event: EndpointEvent) => void;

export class EventListeners {
  readonly #byEndpoint = new Map<string, Set<Listener>>();
  readonly #log: Logger;
  readonly #began: (endpoint: string) => void;

  /** `began` is called for the first listener of an endpoint. */
  constructor(log: Logger, began: (endpoint: string) => void) {
    this.#log = log;
    this.#began = began;
  }

  has(endpoint: string): boolean {
    return this.#byEndpoint.has(endpoint);
  }

  add(endpoint: string, listener: Listener): Disposable {
    const listeners = this.#byEndpoint.get(endpoint) ?? new Set();
    const own: Listener = (event) => listener(event);
    this.#byEndpoint.set(endpoint, listeners.add(own));
    if (listeners.size === 1) this.#began(endpoint);
    return {
      [Symbol.dispose]: () => {
        listeners.delete(own);
        if (listeners.size === 0 && this.#byEndpoint.get(endpoint) === listeners) this.#byEndpoint.delete(endpoint);
      },
    };
  }

  tell(endpoint: string, event: EndpointEvent): void {
    for (const listener of [...(this.#byEndpoint.get(endpoint) ?? [])]) {
      try {
        listener(event);
      } catch (error) {
        this.#log.error({ endpoint, error: reasonOf(error) }, 'a listener of bridge events failed');
      }
    }
  }
}
