/** Who hears of the events of which endpoint. They stay over sessions: an endpoint is known by its label. */
import { type EndpointEvent, type Logger, reasonOf } from '@device-core/plugin-api';

type Listener = (event: EndpointEvent) => void;

export class EventListeners {
  readonly #byEndpoint = new Map<string, Set<Listener>>();
  readonly #log: Logger;

  constructor(log: Logger) {
    this.#log = log;
  }

  add(endpoint: string, listener: Listener): Disposable {
    const listeners = this.#byEndpoint.get(endpoint) ?? new Set();
    const own: Listener = (event) => listener(event);
    this.#byEndpoint.set(endpoint, listeners.add(own));
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
