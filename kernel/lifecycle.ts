import {
  CoreError,
  type ErrorCode,
  type PluginDefinition,
  type PluginManager,
  type PluginState,
  type PluginStatus,
  reasonOf,
} from '@device-core/plugin-api';
import { within } from '@device-core/plugin-api/host';
import { dependentsOf } from './graph.ts';
import { type KernelParts, PluginRun } from './host.ts';
import { loadPlugin } from './loader.ts';
import { graphNode, type PluginEntry } from './resolved.ts';

/** A plugin that failed this often within the window is left alone until the operator releases it. */
const QUARANTINE = { failures: 5, windowMs: 600_000 };

interface PluginRecord {
  readonly entry: PluginEntry;
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
  failures: number[];
  run?: PluginRun | undefined;
}

/** The state machine of every plugin. Changes from outside are made one after the other; starts run side by side. */
export class Lifecycle implements PluginManager {
  readonly #parts: KernelParts;
  readonly #records: readonly PluginRecord[];
  /** Those that tap plugin.verify: no other code is imported before they run. */
  readonly #verifiers: readonly PluginRecord[];
  readonly #starting = new Set<Promise<void>>();
  #changes: Promise<unknown> = Promise.resolve();
  #starts = 0;
  #ended = false;

  constructor(plugins: readonly PluginEntry[], parts: KernelParts) {
    this.#parts = parts;
    this.#records = plugins.map(fresh);
    const tapping = this.#records.filter(({ enabled, entry }) => enabled && !entry.refused);
    this.#verifiers = tapping.filter(({ entry }) => entry.manifest.taps?.includes('plugin.verify'));
  }

  /** Starts what can start, until nothing changes any more. */
  start(): Promise<void> {
    return this.#change(() => this.#settle());
  }

  /** Stops every plugin, dependents first. Nothing starts again. */
  stop(): Promise<void> {
    this.#ended = true;
    for (const record of this.#records) if (record.state === 'starting') void record.run?.scope.end();
    return this.#change(async () => {
      await Promise.all(this.#starting);
      await this.#stopAll(this.#records);
    });
  }

  async list(): Promise<readonly PluginStatus[]> {
    return this.#records.map((record) => this.#status(record));
  }

  restart(id: string): Promise<PluginStatus> {
    return this.#again(id, (record) => record.enabled);
  }

  enable(id: string): Promise<PluginStatus> {
    return this.#again(id, () => true);
  }

  disable(id: string): Promise<PluginStatus> {
    return this.#again(id, () => false);
  }

  /** Puts another implementation in the place of a plugin; only its dependents restart with it. */
  swap(id: string, definition: PluginDefinition): Promise<PluginStatus> {
    return this.#again(id, (record) => {
      record.definition = definition;
      return record.enabled;
    });
  }

  /** An error that escaped from a plugin, told by the files in its stack: that plugin restarts. False if it is nobody's. */
  crashed(error: unknown): boolean {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const record = this.#records.find(({ entry, run }) => run && stack.includes(folderOf(entry)));
    if (!record) return false;
    void this.#change(async () => {
      if (!record.run) return;
      await this.#stopTree(record);
      this.#fail(record, new CoreError('INTERNAL', { what: `plugin ${record.entry.id}` }, { cause: error }));
      if (record.state === 'failed') this.#set(record, 'waiting');
      await this.#settle();
    });
    return true;
  }

  #again(id: string, enabled: (record: PluginRecord) => boolean): Promise<PluginStatus> {
    return this.#change(async () => {
      const record = this.#records.find(({ entry }) => entry.id === id);
      if (!record) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
      await this.#stopTree(record);
      record.failures = [];
      record.enabled = enabled(record);
      this.#set(record, record.enabled ? 'waiting' : 'stopped', record.enabled ? undefined : 'it is disabled');
      await this.#settle();
      return this.#status(record);
    });
  }

  /** Runs changes one after the other. */
  #change<T>(fn: () => Promise<T>): Promise<T> {
    const change = this.#changes.then(fn);
    this.#changes = change.catch(() => undefined);
    return change;
  }

  async #settle(): Promise<void> {
    for (;;) {
      for (const record of this.#records) {
        const { refused } = record.entry;
        if (this.#ended || record.state !== 'waiting') continue;
        if (refused) this.#set(record, 'failed', refused.message, refused.code);
        if (refused || this.#missing(record)) continue;
        const start = this.#start(record).finally(() => this.#starting.delete(start));
        this.#starting.add(start);
      }
      if (this.#starting.size === 0) return;
      await Promise.race(this.#starting);
    }
  }

  /** Why a plugin cannot start yet. */
  #missing({ entry }: PluginRecord): string | undefined {
    const verifier = this.#verifiers.find((one) => one.state !== 'active');
    const exempt = (id: string) =>
      this.#verifiers.some(({ entry }) => entry.id === id || this.#needs(id).has(entry.id));
    if (verifier && !exempt(entry.id)) return `it waits to be verified: ${verifier.entry.id} is ${verifier.state}`;
    for (const [service, range] of Object.entries(entry.manifest.requires ?? {})) {
      if (this.#parts.services.find(service, range)) continue;
      const other = this.#parts.services.provider(service);
      const maker = this.#records.find((one) => one.entry.manifest.provides?.[service] && one.entry !== entry);
      const state = maker ? `${maker.entry.id} is ${maker.state}` : 'no plugin provides it';
      return `it waits for ${service} ${range}: ${other ? `${other.plugin} provides ${other.version}` : state}`;
    }
    return undefined;
  }

  async #start(record: PluginRecord): Promise<void> {
    const { entry } = record;
    const { id, manifest } = entry;
    const ms = manifest.startTimeoutMs ?? 10_000;
    const run = new PluginRun(entry, this.#parts);
    record.run = run;
    record.generation++;
    record.order = ++this.#starts;
    this.#set(record, 'starting');
    const began = performance.now();
    try {
      const outcome = await within(this.#setup(record, run), ms, run.scope.signal);
      if (outcome.kind === 'timeout') throw new CoreError('PLUGIN_START_TIMEOUT', { plugin: id, ms });
      if (outcome.kind === 'aborted') throw run.scope.signal.reason;
      const services = Object.entries(manifest.provides ?? {}).map(([service, version]) => {
        const impl = run.provided.get(service);
        if (impl) return { id: service, version, impl };
        throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: `it did not provide ${service}` });
      });
      this.#parts.services.add(id, services);
      record.startMs = Math.round((performance.now() - began) * 10) / 10;
      this.#set(record, 'active');
    } catch (error) {
      record.run = undefined;
      await run.scope.end(manifest.stopTimeoutMs);
      this.#fail(record, error);
    }
  }

  async #setup(record: PluginRecord, run: PluginRun): Promise<void> {
    const { entry } = record;
    const { id, manifest } = entry;
    if (!record.definition) {
      await this.#parts.hooks.caller('plugin.verify').promise(manifest, folderOf(entry));
      record.definition = await loadPlugin(entry);
    }
    const services: Record<string, object> = {};
    for (const [name, ref] of Object.entries(record.definition.requires ?? {})) {
      const range = manifest.requires?.[ref.id];
      if (range === undefined) throw new CoreError('SERVICE_UNDECLARED', { plugin: id, service: ref.id });
      const service = this.#parts.services.find(ref.id, range);
      if (!service) throw new CoreError('SERVICE_MISSING', { service: ref.id, range, reason: 'it has just gone' });
      services[name] = service;
    }
    this.#parts.log.info({ plugin: id, state: 'starting' }, 'plugin setup'); // the last one of a start that hangs is to blame
    await record.definition.setup(run.host, services as never);
    await Promise.all(run.whens);
  }

  /** Stops a plugin and everything that needs it, newest first; what stopped because of it waits for it to come back. */
  #stopTree(record: PluginRecord): Promise<void> {
    const dependents = this.#needs(record.entry.id);
    return this.#stopAll(this.#records.filter((one) => one === record || dependents.has(one.entry.id)));
  }

  /** Every plugin that needs this one. */
  #needs(id: string): ReadonlySet<string> {
    const nodes = this.#records.map(({ entry }) => graphNode(entry));
    return dependentsOf(nodes, id);
  }

  async #stopAll(records: Iterable<PluginRecord>): Promise<void> {
    for (const record of [...records].sort((a, b) => b.order - a.order)) await this.#stop(record);
  }

  async #stop(record: PluginRecord): Promise<void> {
    const { run, entry } = record;
    const ms = entry.manifest.stopTimeoutMs ?? 5_000;
    record.run = undefined;
    if (run) {
      this.#set(record, 'stopping');
      await Promise.all([...run.provided.keys()].map((service) => this.#parts.services.withdraw(service, ms)));
      const [label] = await run.scope.end(ms);
      if (label !== undefined)
        this.#fail(record, new CoreError('PLUGIN_STOP_TIMEOUT', { plugin: entry.id, label, ms }));
    }
    if (record.state === 'quarantined' || record.code === 'PLUGIN_STOP_TIMEOUT' || !record.enabled) return;
    if (this.#ended) this.#set(record, 'stopped');
    else if (record.state !== 'waiting') this.#set(record, 'waiting'); // one that failed may fare better with a new provider
  }

  #fail(record: PluginRecord, thrown: unknown): void {
    const id = record.entry.id;
    const error =
      thrown instanceof CoreError
        ? thrown
        : new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: reasonOf(thrown) }, { cause: thrown });
    if (this.#ended && error.code === 'CANCELLED') {
      this.#set(record, 'stopped');
      return;
    }
    const now = Date.now();
    record.failures = [...record.failures.filter((at) => now - at < QUARANTINE.windowMs), now];
    const often = record.failures.length >= QUARANTINE.failures;
    this.#parts.log.error({ err: error, plugin: id }, error.message);
    this.#set(record, often ? 'quarantined' : 'failed', error.message, error.code);
  }

  #set(record: PluginRecord, state: PluginState, reason?: string, code?: ErrorCode): void {
    if (record.state === state && record.reason === reason) return;
    Object.assign(record, { state, reason, code, since: Date.now() });
    const plugin = record.entry.id;
    this.#parts.log.info({ plugin, state, reason }, `plugin ${state}`); // told to whoever asks why a start failed
    const payload = reason === undefined ? { plugin, state } : { plugin, state, reason };
    try {
      this.#parts.bus.publish({ topic: 'plugin.state', payload, source: 'core' });
    } catch (err) {
      this.#parts.log.warn({ err, plugin, state }, 'cannot tell a plugin state: the event was refused');
    }
  }

  #status(record: PluginRecord): PluginStatus {
    const { entry, state, since, generation, startMs, run } = record;
    const { id, version, summary, provides = {}, requires = {} } = entry.manifest;
    const waits = state === 'waiting' ? this.#missing(record) : undefined;
    const reason = waits ?? record.reason;
    const code = waits === undefined ? record.code : 'SERVICE_MISSING';
    return {
      ...{ id, version, summary, state, isolation: entry.isolation, essential: entry.essential, since, generation },
      ...{ provides, requires, holds: run?.scope.held ?? [] },
      ...(reason === undefined ? {} : { reason }),
      ...(code === undefined ? {} : { code }),
      ...(startMs === undefined ? {} : { startMs }),
    };
  }
}

function fresh(entry: PluginEntry): PluginRecord {
  const { definition, enabled } = entry;
  const first = enabled ? { state: 'waiting' as const } : { state: 'stopped' as const, reason: 'it is disabled' };
  return { entry, definition, enabled, since: Date.now(), generation: 0, order: 0, failures: [], ...first };
}

function folderOf({ main }: PluginEntry): string {
  return main.slice(0, main.lastIndexOf('/') + 1);
}
