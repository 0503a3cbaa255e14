/** Versions as they run: one that was written is started, and is taken back where it does not become active. */
import { type Clock, CoreError, type Logger, maybe, reasonOf } from '@device-core/plugin-api';
import { formerOf, type InstalledPlugin, type RolledBack } from '@device-core/plugin-api/inside/installed';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { stateText } from '@device-core/plugin-api/services/apps';
import { without } from '../shared/package-store/list-file.ts';
import type { Running } from './outcome.ts';
import type { InstalledState } from './state.ts';

/** A plugin that a start of the Core is about to start is looked at so often, for so long. */
const LOOK_MS = 100;
const SETTLED_MS = 120_000;

export interface RunsParts {
  readonly state: InstalledState;
  readonly manager: PluginManager;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly safeMode: boolean;
}

export class PluginRuns {
  readonly #parts: RunsParts;
  readonly #sweep: () => Promise<void>;

  constructor(parts: RunsParts, sweep: () => Promise<void>) {
    this.#parts = parts;
    this.#sweep = sweep;
  }

  /** Runs what the list says. */
  async apply(): Promise<void> {
    await this.#parts.manager.apply({ installed: true });
  }

  async status(id: string): Promise<PluginStatus | undefined> {
    return (await this.#parts.manager.list()).find((one) => one.id === id);
  }

  /** Starts what was written, and resolves with what runs then. Throws PLUGIN_ROLLED_BACK when it does not become active. */
  async prove(id: string, entry: InstalledPlugin, resumed: boolean): Promise<Running | undefined> {
    let reason: string;
    try {
      await this.apply();
      const status = resumed ? await this.#settled(id) : await this.running(id);
      // In safe mode nothing that was installed runs: the next normal start tells.
      if (status?.state === 'active' || !entry.probation || (this.#parts.safeMode && !status)) return status;
      reason = status ? `it ${stateText(status.state)}${status.reason ? `: ${status.reason}` : ''}` : 'it does not run';
    } catch (error) {
      if (!entry.probation) throw error;
      const undone = error instanceof CoreError && error.code === 'CHANGE_UNDONE';
      reason = undone ? String(error.details.reason) : reasonOf(error);
    }
    const outcome = await this.undo(id, entry, reason);
    const { version } = entry;
    const running = await this.running(id);
    throw new CoreError('PLUGIN_ROLLED_BACK', { plugin: id, version, reason, outcome, ...maybe({ running }) });
  }

  /** Fate of a plugin that a start of the Core is about to start. */
  async #settled(id: string): Promise<Running | undefined> {
    const { clock, signal } = this.#parts;
    for (let left = SETTLED_MS; left > 0; left -= LOOK_MS) {
      const status = await this.running(id);
      if (status?.state !== 'waiting' && status?.state !== 'starting') return status;
      await clock.sleep(LOOK_MS, signal);
    }
    return this.running(id);
  }

  /** Puts the former version in the place of one that is not proven. Resolves with a sentence about what runs then. */
  async undo(id: string, plugin: InstalledPlugin, reason: string): Promise<string> {
    const { state, log } = this.#parts;
    const former = formerOf(plugin);
    const { plugins, rolledBack } = state.value;
    const back = former?.probation ? { ...former, probation: { starts: 0 } } : former;
    const failure = failureOf(plugin, former, reason);
    await state.write({ plugins: without(plugins, id, back), rolledBack: { ...rolledBack, [id]: failure } });
    await this.apply().catch((err) => log.error({ err, plugin: id }, 'cannot apply what was rolled back'));
    const outcome = inItsPlace(former, await this.running(id));
    log.error({ plugin: id, version: plugin.version }, `failed its probation: ${reason}; ${outcome}`);
    await this.#sweep();
    return outcome;
  }

  /** Version that the kernel runs now, which may differ from the request; undefined where it is not in the set. */
  async running(id: string): Promise<Running | undefined> {
    const status = await this.status(id);
    if (!status) return undefined;
    const { version, state, reason } = status;
    return { version, state, ...maybe({ reason }) };
  }
}

export function failureOf(plugin: InstalledPlugin, former: InstalledPlugin | undefined, reason: string): RolledBack {
  const { version, config } = plugin;
  return { version, reason, at: Date.now(), ...(former ? {} : { config }) };
}

/** Says what runs in the place of a version that was rolled back: what the kernel says, not what was meant. */
export function inItsPlace(former: { readonly version: string } | undefined, running: Running | undefined): string {
  if (running?.state === 'active') return `${running.version} runs again`;
  if (running) return `${running.version} ${stateText(running.state)}${running.reason ? `: ${running.reason}` : ''}`;
  return former ? `${former.version} is back, but does not run now` : 'it was removed, its settings are kept';
}
