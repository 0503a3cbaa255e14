/** Watches versions that are not proven yet: active for the whole time without failing, or rolled back. */
import { type EventEnvelope, type Logger, type PluginState, reasonOf, type Scope } from '@device-core/plugin-api';
import type { PluginManager } from '@device-core/plugin-api/inside/services/plugin-manager';
import { stateText } from '@device-core/plugin-api/services/apps';
import type { PluginStore } from './store.ts';

interface StateEvent {
  readonly plugin: string;
  readonly state: PluginState;
  readonly reason?: string;
}

interface Watch {
  readonly installedAt: number;
  readonly timer: Disposable;
  readonly endsAt: number;
  readonly generation: number;
}

export class Probation {
  readonly #watches = new Map<string, Watch>();
  readonly #store: PluginStore;
  readonly #manager: PluginManager;
  readonly #scope: Scope;
  readonly #log: Logger;
  readonly #ms: number;

  constructor(store: PluginStore, manager: PluginManager, scope: Scope, log: Logger, ms: number) {
    this.#store = store;
    this.#manager = manager;
    this.#scope = scope;
    this.#log = log;
    this.#ms = ms;
  }

  /** Milliseconds since the Unix epoch at which the plugin is proven if it goes on like this. */
  endsAt(id: string): number | undefined {
    return this.#watches.get(id)?.endsAt;
  }

  /** Handler of plugin.state. */
  readonly changed = async ({ payload }: EventEnvelope): Promise<void> => {
    const { plugin: id, state, reason } = payload as StateEvent;
    const entry = this.#store.installed.plugins[id];
    if (!entry?.probation) return;
    if (state === 'active') await this.#arm(id, entry.installedAt);
    else this.#disarm(id);
    if (state !== 'failed' && state !== 'quarantined') return;
    // Not awaited: it takes as long as plugins take to stop and start, and the next events are about that.
    this.#store
      .failed(id, entry.installedAt, reason ?? `it ${stateText(state)}`)
      .catch((thrown) => this.#cannot(id, thrown));
  };

  async #arm(id: string, installedAt: number): Promise<void> {
    const status = (await this.#manager.list()).find((one) => one.id === id);
    if (status?.state !== 'active') return;
    this.#disarm(id);
    const timer = this.#scope.timeout(`probation of ${id}`, this.#ms, () => this.#over(id));
    this.#watches.set(id, { installedAt, timer, endsAt: Date.now() + this.#ms, generation: status.generation });
  }

  #disarm(id: string): void {
    this.#watches.get(id)?.timer[Symbol.dispose]();
    this.#watches.delete(id);
  }

  /** Events may be lost when many happen: what counts is that it is the same start that still runs. */
  async #over(id: string): Promise<void> {
    const watch = this.#watches.get(id);
    this.#watches.delete(id);
    const status = (await this.#manager.list()).find((one) => one.id === id);
    if (!watch || status?.state !== 'active') return;
    if (status.generation !== watch.generation) await this.#arm(id, watch.installedAt);
    else await this.#store.passed(id, watch.installedAt).catch((thrown) => this.#cannot(id, thrown));
  }

  #cannot(plugin: string, thrown: unknown): void {
    this.#log.error({ plugin }, `cannot end a probation: ${reasonOf(thrown)}`);
  }
}
