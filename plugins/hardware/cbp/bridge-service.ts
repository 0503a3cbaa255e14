/** The service `bridge`: the link, the bridge's own counters, resets. */

import { CoreError } from '@device-core/plugin-api';
import type {
  Bridge,
  BridgeEndpointStatistics,
  BridgeRequestOptions,
  BridgeStatistics,
  LinkState,
} from '@device-core/plugin-api/services/bridge';
import type { BridgeHealth } from '@device-core/plugin-api/services/health';
import { bridgeHealth } from './health.ts';
import type { Host } from './host.ts';
import type { Requests } from './requests.ts';
import { REBOOT_MODE, readEndpointStatistics, readStatistics, SYS } from './sys.ts';

const SYS_DEADLINE_MS = 1_000;

export class BridgeService implements Bridge {
  readonly #host: Host;
  readonly #requests: Requests;

  constructor(host: Host, requests: Requests) {
    this.#host = host;
    this.#requests = requests;
  }

  async health(): Promise<BridgeHealth> {
    return bridgeHealth(this.#host);
  }

  async statistics(options: BridgeRequestOptions = {}): Promise<BridgeStatistics> {
    return readable(readStatistics(await this.#sys('statistics', SYS.STATS, [], options)));
  }

  async endpointStatistics(endpoint: string, options: BridgeRequestOptions = {}): Promise<BridgeEndpointStatistics> {
    const body = [this.#number(endpoint)];
    return readable(readEndpointStatistics(await this.#sys(`statistics of ${endpoint}`, SYS.EP_STATS, body, options)));
  }

  async resetEndpoint(endpoint: string, options: BridgeRequestOptions = {}): Promise<void> {
    await this.#sys(`reset of ${endpoint}`, SYS.EP_RESET, [this.#number(endpoint)], options);
    this.#host.forgot(endpoint);
  }

  async reboot(mode: 'app' | 'bootloader', options: BridgeRequestOptions = {}): Promise<void> {
    await this.#sys('reboot', SYS.REBOOT, [REBOOT_MODE[mode]], options);
  }

  onLink(listener: (state: LinkState, reason?: string) => void): Disposable {
    return this.#host.onLink(listener);
  }

  #number(endpoint: string): number {
    return this.#requests.row(endpoint).descriptor.ep;
  }

  #sys(verb: string, op: number, body: readonly number[], options: BridgeRequestOptions): Promise<Uint8Array> {
    const endpoint = this.#requests.rows().find(({ descriptor }) => descriptor.ep === 0)?.name ?? 'sys';
    const limits = { ...options, deadlineMs: options.deadlineMs || SYS_DEADLINE_MS };
    return this.#requests.send(endpoint, op, Uint8Array.from(body), limits, `${verb} of the bridge`);
  }
}

function readable<T>(statistics: T | undefined): T {
  if (!statistics) throw new CoreError('BRIDGE_FAILED', { endpoint: 'sys', status: 'INVALID' });
  return statistics;
}
