/** Reachable hosts of one app: those in its grants, as long as the kernel says that it holds them. */
import { type Capabilities, type CapabilityId, CoreError } from '@device-core/plugin-api';
import type { NamedHost } from '@device-core/plugin-api/inside/app-spec';
import type { Target } from './target.ts';

export class HostGrants {
  readonly #app: string;
  readonly #capabilities: Capabilities;
  #hosts: ReadonlyMap<string, ReadonlySet<number>>;

  constructor(app: string, hosts: readonly NamedHost[], capabilities: Capabilities) {
    this.#app = app;
    this.#capabilities = capabilities;
    this.#hosts = tableOf(hosts);
  }

  set hosts(hosts: readonly NamedHost[]) {
    this.#hosts = tableOf(hosts);
  }

  holds({ host, port }: Target): boolean {
    return this.#hosts.get(host)?.has(port) === true && this.#capabilities.holds(this.#caller, hostCapability(host));
  }

  /** Throws EGRESS_DENIED, which names the line of the manifest; `note`: it stands in `devicectl why`. */
  require(target: Target, note: boolean): void {
    if (this.holds(target)) return;
    const { host, port } = target;
    const held = this.#capabilities.holds(this.#caller, hostCapability(host));
    const wanted = held ? (`${hostCapability(host)}:${port}` as const) : hostCapability(host);
    const reason = held ? `it was not granted port ${port} there` : `it does not hold ${wanted}`;
    const line = port === 443 ? '' : `, ports: [${port}]`;
    const hint = `capabilities: [{ id: "${hostCapability(host)}"${line}, reason: ... }] in app.yaml`;
    if (note) this.#note(wanted);
    throw new CoreError('EGRESS_DENIED', { app: this.#app, host: `${host}:${port}`, reason, hint });
  }

  #note(wanted: CapabilityId): void {
    try {
      this.#capabilities.require(this.#caller, wanted);
    } catch (thrown) {
      // It was to be refused; the app is told in words that say more of hosts and ports.
      if (!(thrown instanceof CoreError && thrown.code === 'CAPABILITY_DENIED')) throw thrown;
    }
  }

  get #caller() {
    return { kind: 'app', id: this.#app } as const;
  }
}

const hostCapability = (host: string): CapabilityId => `network.outbound:${host}`;

function tableOf(hosts: readonly NamedHost[]): ReadonlyMap<string, ReadonlySet<number>> {
  return new Map(hosts.map(({ host, ports }) => [host, new Set(ports)]));
}
