import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import type { GuestEnd } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { PluginUnit, PluginUnitStart, PluginUnits } from '@device-core/plugin-api/inside/services/plugin-units';
import type { Processes } from '@device-core/plugin-api/inside/services/processes';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { Channel, type ChannelOptions, neverConnected } from './channel.ts';
import { channelOf, openPassage, type PluginPlace, pluginSpec, unfit } from './plugin-spec.ts';
import type { PluginUsers } from './plugin-users.ts';
import type { SystemdSupervisor } from './systemd-supervisor.ts';

/** Time for a program that runs to connect to its channel. */
const CONNECT_MS = 30_000;
/** Time for a unit that is to end, before it is killed. */
const END_MS = 2_000;
/** Last lines of a run that are searched for its last words. */
const LAST_LINES = 40;
/** Codes with which the device, and not the plugin, hinders a unit. */
const HINDERED = ['WARDEN_REFUSED', 'UNAVAILABLE', 'PARAMS_INVALID', 'BUSY', 'STATE_UNWRITABLE', 'STORAGE_FULL'];

export interface PluginUnitsOptions extends Pick<ChannelOptions, 'copy' | 'identity'> {
  readonly supervisor: SystemdSupervisor;
  readonly users: () => Promise<PluginUsers>;
  readonly processes: Pick<Processes, 'add' | 'end'>;
  readonly place: Omit<PluginPlace, 'uid'>;
  /** Units that a former Core left have been ended. */
  readonly swept: Promise<unknown>;
  /** A plugin without a unit does not start. */
  readonly required: boolean;
  /** Plugins at level process that are active. */
  readonly active: () => Promise<readonly string[]>;
  readonly scope: Scope;
  readonly log: Logger;
}

interface Run extends PluginUnit {
  readonly plugin: string;
}

/** Plugins at level process as units of systemd: each with a user, and a channel that this user alone can reach. */
export class PluginUnitMaker implements PluginUnits {
  readonly #options: PluginUnitsOptions;
  readonly #runs = new Map<string, Run>();
  readonly #starting = new Map<string, AbortController>();
  /** Why a plugin has no unit, by plugin. */
  readonly #declined = new Map<string, string>();

  constructor(options: PluginUnitsOptions) {
    this.#options = options;
  }

  async start(start: PluginUnitStart): Promise<PluginUnit | undefined> {
    const { log, place, required } = this.#options;
    const { id } = start.manifest;
    const reason = unfit(start, place) ?? (await this.#tryOut(start));
    if (typeof reason !== 'string') {
      this.#declined.delete(id);
      return reason;
    }
    this.#declined.set(id, reason);
    if (required) throw new CoreError('SANDBOX_UNAVAILABLE', { what: `plugin ${id}`, walls: 'its unit', reason });
    log.warn({ guest: id, reason }, 'a plugin runs as a process of the Core, not as a unit');
    return undefined;
  }

  async ended(run: string): Promise<string> {
    const { supervisor } = this.#options;
    const end = await supervisor.ended(run);
    const known = this.#runs.get(run);
    const said = end.signal === 'SIGABRT' && known ? await supervisor.output(known.plugin, LAST_LINES, run) : [];
    this.#runs.delete(run);
    if (said.some(({ text }) => /heap out of memory/i.test(text))) return 'its heap grew past its budget';
    return reasonOfEnd(end);
  }

  async stop(plugin: string): Promise<void> {
    this.#starting.get(plugin)?.abort(stopped(plugin));
    await this.#end(plugin);
  }

  async list(): Promise<Readonly<Record<string, string>>> {
    return Object.fromEntries([...this.#runs.values()].map(({ plugin, unit }) => [plugin, unit]));
  }

  /** Plugins that run without their unit; one that was there before this supervisor was not asked about. */
  async tell(report: HealthReport): Promise<void> {
    const units = await this.list();
    for (const plugin of await this.#options.active()) {
      if (plugin in units) continue;
      const reason = this.#declined.get(plugin) ?? 'it started before supervisor-systemd did; restart the plugin';
      report.warn('PLUGIN_UNIT_MISSING', `plugin ${plugin} runs as a process of the Core, not as a unit: ${reason}`);
    }
  }

  /** A reason, where the device hinders it. */
  async #tryOut(start: PluginUnitStart): Promise<PluginUnit | string> {
    const { id } = start.manifest;
    const wanted = new AbortController();
    this.#starting.set(id, wanted);
    try {
      return await this.#start(start, wanted.signal);
    } catch (thrown) {
      if (!wanted.signal.aborted && thrown instanceof CoreError && HINDERED.includes(thrown.code))
        return reasonOf(thrown);
      throw thrown;
    } finally {
      if (this.#starting.get(id) === wanted) this.#starting.delete(id);
    }
  }

  async #start(start: PluginUnitStart, wanted: AbortSignal): Promise<PluginUnit | string> {
    const { copy, identity, log, place, processes, scope, supervisor, swept, users } = this.#options;
    const { id } = start.manifest;
    await swept;
    const uid = await (await users()).uidOf(id);
    await openPassage(start, place);
    const spec = pluginSpec(start, { ...place, uid });
    await using channel = await Channel.open({ path: channelOf(place.run, id), uid, identity, copy, log });
    wanted.throwIfAborted();
    // Known by its user before it could reach anybody.
    await processes.add({ kind: 'plugin', id }, { uid });
    const { run, pid } = await supervisor.start(spec, { token: '' });
    const unit = `${spec.name}.service`;
    const over = new AbortController();
    let end: GuestEnd | undefined;
    void supervisor.ended(run).then((told) => {
      end = told;
      over.abort(neverConnected(id, reasonOfEnd(told)));
    });
    try {
      const signal = AbortSignal.any([wanted, over.signal]);
      const what = `the channel of plugin ${id}`;
      const descriptor = await scope.within(what, CONNECT_MS, () => channel.of(pid ?? 0), { signal });
      const made: Run = { run, unit, pid: pid ?? 0, channel: descriptor, plugin: id };
      this.#runs.set(run, made);
      return { run, unit, pid: made.pid, channel: descriptor };
    } catch (thrown) {
      channel.takeBack();
      await this.#end(id);
      await processes.end({ kind: 'plugin', id });
      if (end?.cause === 'start' && !wanted.aborted) return `systemd cannot start its unit: ${reasonOfEnd(end)}`;
      throw thrown instanceof CoreError && thrown.code === 'TIMEOUT'
        ? neverConnected(id, 'its unit runs, and does not connect to its channel')
        : thrown;
    }
  }

  async #end(guest: string): Promise<void> {
    try {
      const left = await this.#options.supervisor.end(guest, END_MS);
      if (left.length > 0) this.#options.log.error({ guest, left }, 'a unit of a plugin cannot be ended');
    } catch (thrown) {
      this.#options.log.error({ guest, reason: reasonOf(thrown) }, 'cannot end the unit of a plugin');
    }
  }
}

function stopped(plugin: string): CoreError {
  return new CoreError('CANCELLED', { what: `plugin ${plugin}`, reason: 'it was stopped' });
}

function reasonOfEnd({ cause, code, signal, reason }: GuestEnd): string {
  if (reason !== undefined) return reason;
  if (signal !== undefined) return `it was ended by ${signal}`;
  return code === undefined ? `its unit ended: ${cause}` : `it ended by itself with exit code ${code}`;
}
