import {
  type Clock,
  CoreError,
  CrashPolicy,
  type ErrorCode,
  maybe,
  type PluginDefinition,
  type PluginState,
} from '@device-core/plugin-api';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { dependentsOf } from './graph.ts';
import type { KernelParts, PluginRun } from './host.ts';
import { graphNode, type PluginEntry } from './resolved.ts';

/** Five failures in ten minutes, and a plugin is left alone until the operator releases it. */
const CRASHES = { backoffMs: [1_000, 2_000, 4_000, 8_000, 16_000, 30_000], limit: 5, windowMs: 600_000 };

export interface PluginRecord {
  entry: PluginEntry;
  /** Kept for plugins of this process: their module is imported once. The others are loaded at each start, with the code of then. */
  definition: PluginDefinition | undefined;
  state: PluginState;
  enabled: boolean;
  code?: ErrorCode | undefined;
  reason?: string | undefined;
  since: number;
  startMs?: number;
  generation: number;
  /** Grows with each start, so that what started last is stopped first. */
  order: number;
  /** When it became ready, monotonic; undefined while it is not. */
  readyAt?: number | undefined;
  run?: PluginRun | undefined;
  /** A step of a start, this one or one that is over, that has not come back. */
  unsettled?: Promise<void> | undefined;
  readonly crashes: CrashPolicy;
  restarts: number;
  lastError?: PluginStatus['lastError'];
  /** The same as an error, with its cause. */
  failure?: CoreError;
  retry?: { readonly at: number; readonly timer: Disposable } | undefined;
}

/** Records of all plugins, and the reports about them. The lifecycle decides the next state. */
export class Records {
  all: readonly PluginRecord[] = [];
  readonly #parts: KernelParts;
  readonly #clock: Clock;
  /** Those that were removed, too: one that comes back goes on counting. */
  readonly #known = new Map<string, PluginRecord>();
  /** Those that tap plugin.verify or plugin.load: no other code is imported before they run. */
  #gatekeepers: readonly PluginRecord[] = [];

  constructor(parts: KernelParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
  }

  /** Makes this the set. `renewed` begin anew, from their entries; the others of the set stay what they are. */
  install(set: readonly PluginEntry[], renewed: readonly string[]): void {
    const { capabilities, log } = this.#parts;
    const before = new Set(this.all);
    this.all = set.map((entry) => {
      const known = this.#known.get(entry.id);
      if (known && before.has(known) && !renewed.includes(entry.id)) return known;
      const record = known ?? recordOf(entry, this.#clock.now());
      this.#known.set(entry.id, record);
      const enabled = before.has(record) && record.entry.enabled === entry.enabled ? record.enabled : entry.enabled;
      Object.assign(record, { entry, definition: entry.definition });
      const caller = { kind: 'plugin', id: entry.id } as const;
      capabilities.set(caller, entry.manifest.capabilities ?? []).catch((err) => log.warn({ err }, entry.id));
      this.put(record, enabled);
      return record;
    });
    for (const gone of before) {
      if (this.all.includes(gone)) continue;
      void capabilities.clear({ kind: 'plugin', id: gone.entry.id });
      this.set(gone, 'stopped', 'it is not in the SKU any more');
    }
    const able = this.all.filter(({ enabled, entry }) => enabled && !entry.refused);
    this.#gatekeepers = able.filter(({ entry }) => keepsGate(entry) !== undefined);
  }

  /** A new beginning: what failed before does not count any more. */
  put(record: PluginRecord, enabled: boolean): void {
    record.enabled = enabled;
    record.crashes.forgive();
    this.set(record, enabled ? 'waiting' : 'stopped', enabled ? undefined : 'it is disabled');
  }

  /** Why a plugin cannot start yet. */
  missing({ entry }: PluginRecord): string | undefined {
    // The device comes up without a gatekeeper that failed; code from outside the tree does not.
    const lost = ({ state }: PluginRecord) => entry.tree && /^(failed|quarantined|stopped)$/.test(state);
    const gate = this.#gatekeepers.find((one) => one.state !== 'active' && !lost(one));
    const exempt = (id: string) =>
      this.#gatekeepers.some((one) => one.entry.id === id || this.withDependents([id]).includes(one));
    if (gate && !exempt(entry.id)) return `it waits to be ${keepsGate(gate.entry)}: ${gate.entry.id} is ${gate.state}`;
    for (const [service, range] of Object.entries(entry.manifest.requires ?? {})) {
      if (this.#parts.services.find(service, range)) continue;
      const other = this.#parts.services.provider(service);
      const maker = this.all.find((one) => one.entry.manifest.provides?.[service] && one.entry !== entry);
      const state = maker ? `${maker.entry.id} is ${maker.state}` : 'no plugin provides it';
      return `it waits for ${service} ${range}: ${other ? `${other.plugin} provides ${other.version}` : state}`;
    }
    return undefined;
  }

  /** Does it wait only for plugins of the set that were switched off, or, where `any`, for any of the set? */
  patient({ entry }: PluginRecord, any: boolean): boolean {
    const lacks = Object.entries(entry.manifest.requires ?? {}).filter(([id, r]) => !this.#parts.services.find(id, r));
    const makers = lacks.map(([id]) =>
      this.all.find((one) => one.entry.manifest.provides?.[id] && one.entry !== entry),
    );
    const off = (one: PluginRecord) => one.state === 'stopped' || (one.state === 'waiting' && this.patient(one, any));
    return makers.length > 0 && makers.every((one) => one && (any || off(one)));
  }

  /** These and every plugin that needs one of them. */
  withDependents(ids: readonly string[]): readonly PluginRecord[] {
    const nodes = this.all.map(({ entry }) => graphNode(entry));
    const all = new Set(ids.flatMap((id) => [id, ...dependentsOf(nodes, id)]));
    return this.all.filter(({ entry }) => all.has(entry.id));
  }

  /** Remembers what a plugin failed with, and logs it. */
  tell(record: PluginRecord, error: CoreError): void {
    record.failure = error;
    record.lastError = { code: error.code, message: error.message, at: this.#clock.now() };
    this.#parts.log.error({ err: error, plugin: record.entry.id }, error.message);
  }

  /** Throws PLUGIN_NOT_FOUND. */
  find(id: string): PluginRecord {
    const record = this.all.find(({ entry }) => entry.id === id);
    if (record) return record;
    throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
  }

  /** Changes the state and says so, in the log and on the bus. */
  set(record: PluginRecord, state: PluginState, reason?: string, code?: ErrorCode): void {
    record.retry?.timer[Symbol.dispose]();
    record.retry = undefined;
    if (record.state === state && record.reason === reason) return;
    Object.assign(record, { state, reason, code, since: this.#clock.now() });
    const plugin = record.entry.id;
    this.#parts.log.info({ plugin, state, reason }, `plugin ${state}`); // at info: safe mode reads here why a start failed
    const payload = reason === undefined ? { plugin, state } : { plugin, state, reason };
    try {
      this.#parts.bus.publish({ topic: 'plugin.state', payload, source: 'core' });
    } catch (err) {
      this.#parts.log.warn({ err, plugin, state }, 'cannot tell a plugin state: the event was refused');
    }
  }

  status(record: PluginRecord): PluginStatus {
    const { entry, state, since, generation, startMs, run, restarts, retry, lastError } = record;
    const { id, version, summary, provides = {}, requires = {} } = entry.manifest;
    const waits = state === 'waiting' ? this.missing(record) : undefined;
    const reason = waits ?? record.reason;
    const code = waits === undefined ? record.code : 'SERVICE_MISSING';
    return {
      id,
      version,
      summary,
      state,
      isolation: entry.isolation,
      essential: entry.essential,
      since,
      generation,
      provides,
      requires,
      holds: run?.scope.held ?? [],
      restarts,
      directory: folderOf(entry),
      ...maybe({ reason, code, startMs }),
      ...(retry === undefined ? {} : { nextStartAt: retry.at }),
      ...maybe({ lastError, programs: entry.programs, pages: entry.manifest.pages }),
      ...(generation === 0 ? {} : { usage: this.#parts.watch.usage.of(id).usage() }),
    };
  }
}

function recordOf(entry: PluginEntry, since: number): PluginRecord {
  const { definition, enabled } = entry;
  const first = enabled ? { state: 'waiting' as const } : { state: 'stopped' as const, reason: 'it is disabled' };
  const counts = { since, generation: 0, order: 0, restarts: 0, crashes: new CrashPolicy(CRASHES) };
  return { entry, definition, enabled, ...first, ...counts };
}

/** The step of a gatekeeper that all other plugins wait for before their code is imported; undefined for most plugins. */
function keepsGate({ manifest: { taps } }: PluginEntry): 'verified' | 'loaded' | undefined {
  if (taps?.includes('plugin.verify')) return 'verified';
  return taps?.includes('plugin.load') ? 'loaded' : undefined;
}

/** Folder of its module, with a slash at the end. */
export function folderOf({ main }: PluginEntry): string {
  return main.slice(0, main.lastIndexOf('/') + 1);
}
