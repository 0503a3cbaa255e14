import { afterQuiet, CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { listenNetlink, type NativeCalls } from '@device-core/plugin-api/inside/netlink';
import type { NetworkState } from '@device-core/plugin-api/services/network';
import { linksOf, type Places, stateOf, waysOut } from './links.ts';
import type { Known, Provider } from './provider.ts';

export interface KernelOptions extends Places {
  readonly scope: Scope;
  /** A pipe in the place of the kernel's socket. */
  readonly events?: string;
  readonly changed: () => void;
  /** Why NetworkManager is not asked. */
  readonly without: string;
}

/** A change comes as several messages. */
const QUIET_MS = 100;
/** Interval of looks where the kernel reports no changes. */
const LOOK_MS = 60_000;
const AGAIN_MS = 1_000;

/** State by the kernel: it reports changes of links, addresses and routes, and files hold the values. */
export class KernelNetwork implements Provider {
  readonly name = 'rtnetlink';
  readonly #options: KernelOptions;
  /** Why nothing is told of changes. */
  deaf: string | undefined;

  private constructor(options: KernelOptions) {
    this.#options = options;
  }

  static async open(options: KernelOptions): Promise<KernelNetwork> {
    const network = new KernelNetwork(options);
    await network.#listen();
    return network;
  }

  async state(): Promise<NetworkState> {
    const [links, ways] = await Promise.all([linksOf(this.#options), waysOut(this.#options)]);
    return stateOf(links, ways);
  }

  async look(): Promise<Known> {
    const [links, ways] = await Promise.all([linksOf(this.#options), waysOut(this.#options)]);
    return { ...stateOf(links, ways), links, wifi: false, reason: this.#options.without };
  }

  async networks(): Promise<never> {
    throw this.#noWifi();
  }

  async join(): Promise<never> {
    throw this.#noWifi();
  }

  async forget(): Promise<never> {
    throw this.#noWifi();
  }

  #noWifi(): CoreError {
    return new CoreError('UNAVAILABLE', { what: 'the Wi-Fi', reason: this.#options.without });
  }

  async #listen(): Promise<void> {
    const { scope, events, changed } = this.#options;
    if (scope.signal.aborted) return;
    const heard = afterQuiet({ scope, label: () => 'change of the network', ms: QUIET_MS, run: changed });
    const over = (reason: string): void => {
      // More came at once than the kernel keeps, or somebody ended cat: what is so is read, and it is listened to again.
      this.deaf = reason;
      changed();
      scope.timeout('listen to the kernel again', AGAIN_MS, () => this.#listen());
    };
    try {
      const native = async () => (await import('koffi')).default as unknown as NativeCalls;
      await listenNetlink({
        scope,
        native,
        over,
        hear: () => heard(),
        from: events === undefined ? 'route' : { pipe: events },
      });
      this.deaf = undefined;
    } catch (error) {
      this.deaf = reasonOf(error);
      scope.interval('look at the network', LOOK_MS, changed);
    }
  }
}
