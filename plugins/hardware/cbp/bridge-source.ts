/** The bridge as a source of endpoints: those of its table while the link is up. */
import type {
  EndpointEvent,
  EndpointRequestOptions,
  EndpointSource,
  SourceState,
} from '@device-core/plugin-api/services/endpoints';
import { endpointOf } from './endpoint-table.ts';
import type { Host } from './host.ts';
import type { Requests } from './requests.ts';

export class BridgeSource implements EndpointSource {
  readonly name = 'bridge';
  readonly where = 'bridge';
  readonly #host: Host;
  readonly #requests: Requests;

  constructor(host: Host, requests: Requests) {
    this.#host = host;
    this.#requests = requests;
  }

  request(endpoint: string, op: number, body: Uint8Array, options: EndpointRequestOptions = {}): Promise<Uint8Array> {
    return this.#requests.send(endpoint, op, body, options);
  }

  onEvent(endpoint: string, listener: (event: EndpointEvent) => void): Disposable {
    return this.#host.events.add(endpoint, listener);
  }

  onState(listener: (state: SourceState) => void): Disposable {
    let told: unknown;
    const tell = (reason?: string) => {
      const { rows } = this.#host;
      // A link that became bad or good again has the same endpoints.
      if (rows && rows === told) return;
      told = rows;
      listener(rows ? { state: 'up', endpoints: this.#endpoints() } : { state: 'down', reason: this.#absence(reason) });
    };
    const link = this.#host.onLink((_, reason) => tell(reason));
    const news = this.#host.onEndpoints(() => {
      told = undefined;
      tell();
    });
    tell();
    return {
      [Symbol.dispose]() {
        link[Symbol.dispose]();
        news[Symbol.dispose]();
      },
    };
  }

  #endpoints() {
    const { byteUs } = this.#host;
    return (this.#host.rows ?? []).map((row) => endpointOf(row, this.#host.bootOf(row.name), byteUs));
  }

  #absence(reason = this.#host.link.reason ?? 'reading the endpoint table'): string {
    return `the link to the IO bridge is ${this.#host.state} (${reason})`;
  }
}
