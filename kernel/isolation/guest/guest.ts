import type { Caller, PluginDefinition } from '@device-core/plugin-api';
import { CoreError, keepSteady, reasonOf } from '@device-core/plugin-api';
import type { GuestUsage } from '../../usage/guest-watch.ts';
import { Peer, type Port } from '../remote/index.ts';
import { GuestHost } from './host.ts';
import { grant, guestLog } from './log.ts';
import type { GuestRoot, GuestStart, RunningGuest } from './protocol.ts';
import { turns } from './turns.ts';

/** Longest wait of the start for unobserved calls, so that a refusal fails it as it does inline. */
const QUIET_MS = 2_000;

export interface GuestOptions {
  load(): Promise<PluginDefinition>;
  usage(): GuestUsage;
  /** Ends the guest and the plugins that share its worker. */
  exit(): void;
}

/** Serves one plugin at its end of the border. */
export class Guest implements GuestRoot {
  readonly turns = turns;
  readonly #peer: Peer;
  readonly #options: GuestOptions;
  #running: GuestHost | undefined;
  /** Failures of unobserved calls while the plugin starts. */
  #unheard: unknown[] | undefined;

  constructor(port: Port, options: GuestOptions) {
    this.#options = options;
    this.#peer = new Peer(port, {
      name: 'the Core',
      root: this,
      log: guestLog(() => this.#peer),
      onBreach: (error) => {
        this.crash(error);
        options.exit();
      },
      onUnheard: (error) => this.#onUnheard(error),
    });
  }

  async start(start: GuestStart, services: Readonly<Record<string, object>>): Promise<RunningGuest> {
    this.#unheard = [];
    keepSteady(start.steady);
    this.ping(); // from its first step on, the Core can tell a guest that is slow from one that gets no processor
    const guest = new GuestHost(this.#peer, start);
    this.#running = guest;
    const { manifest } = start;
    try {
      const plugin = await this.#options.load();
      const resolved: Record<string, object> = {};
      for (const [name, ref] of Object.entries(plugin.requires ?? {})) {
        const service = services[ref.id];
        if (!service) throw new CoreError('SERVICE_UNDECLARED', { plugin: manifest.id, service: ref.id });
        resolved[name] = service;
      }
      await plugin.setup(guest.host, resolved as never);
      await Promise.all(guest.whens);
      await this.#peer.quiet(QUIET_MS);
      await new Promise((resolve) => setImmediate(resolve)); // failures are told a tick later
      if (this.#unheard.length > 0) throw this.#unheard[0];
      for (const service of Object.keys(manifest.provides ?? {})) {
        if (guest.provided.has(service)) continue;
        throw new CoreError('PLUGIN_START_FAILED', { plugin: manifest.id, reason: `it did not provide ${service}` });
      }
    } catch (error) {
      await guest.scope.end(manifest.stopTimeoutMs);
      throw error;
    } finally {
      this.#unheard = undefined;
    }
    return {
      stop: (ms) => guest.scope.end(ms),
      [Symbol.asyncDispose]: () => guest.scope[Symbol.asyncDispose](),
    };
  }

  ping(debug = false): void {
    if (this.#running) grant(this.#running.debug, debug);
    this.#peer.notify('alive', this.#options.usage());
  }

  granted(caller: Caller, capabilities: readonly string[] | undefined): void {
    this.#running?.capabilities.granted(caller, capabilities);
  }

  congested(retryAfterMs: number): void {
    this.#running?.bus.congested(retryAfterMs);
  }

  /** Reports an uncaught error to the host. `sure`: it is this plugin's own. */
  crash(error: unknown, sure = true): void {
    this.#peer.notify('crashed', error instanceof Error ? error : new Error(String(error)), sure);
    this.close();
  }

  /** It is over; what is still asked of the Core fails. */
  close(): void {
    this.#peer.close(new CoreError('UNAVAILABLE', { what: 'the Core', reason: 'the plugin has ended' }));
  }

  #onUnheard(error: unknown): void {
    if (this.#unheard) this.#unheard.push(error);
    else this.#running?.host.log.warn({ err: error }, `a call that nobody waited for failed: ${reasonOf(error)}`);
  }
}
