import {
  CoreError,
  type ErrorCode,
  type PluginDefinition,
  type PluginManager,
  type PluginState,
  type PluginStatus,
  reasonOf,
} from '@device-core/plugin-api';
import { type Clock, CrashPolicy, SYSTEM_CLOCK } from './crash-policy.ts';
import { within } from './deadline.ts';
import { type Difference, dependentsOf, differenceOf } from './graph.ts';
import { type KernelParts, PluginRun } from './host.ts';
import { loadPlugin } from './loader.ts';
import { graphNode, type PluginEntry } from './resolved.ts';

interface PluginRecord {
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
  /** When it became ready; undefined while it is not. */
  readyAt?: number | undefined;
  run?: PluginRun | undefined;
  readonly crashes: CrashPolicy;
  restarts: number;
  lastError?: PluginStatus['lastError'];
  retry?: { readonly at: number; readonly timer: Disposable } | undefined;
}

/** The state machine of every plugin. Changes from outside are made one after the other; starts run side by side and hold nobody up. */
export class Lifecycle implements Omit<PluginManager, 'apply'> {
  readonly #parts: KernelParts;
  readonly #clock: Clock;
  #records: readonly PluginRecord[] = [];
  /** Those that were removed, too: one that comes back goes on counting. */
  readonly #known = new Map<string, PluginRecord>();
  /** Those that tap plugin.verify: no other code is imported before they run. */
  #verifiers: readonly PluginRecord[] = [];
  readonly #starting = new Set<Promise<void>>();
  #changes: Promise<unknown> = Promise.resolve();
  #starts = 0;
  /** While plugins are being stopped nothing starts: it could lean on what goes next. */
  #held = false;
  #ended = false;

  constructor(plugins: readonly PluginEntry[], parts: KernelParts, clock = SYSTEM_CLOCK) {
    this.#parts = parts;
    this.#clock = clock;
    this.#install(
      plugins,
      plugins.map(({ id }) => id),
    );
  }

  /** Starts what can start, until nothing changes any more. */
  start(): Promise<void> {
    this.#startAll();
    return this.#settled(this.#records);
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

  readonly usage = async () => this.#parts.watch.plugins();
  readonly eventLoop = async () => this.#parts.watch.loop();
  readonly sample = (ms: number) => this.#parts.watch.sample(ms);

  restart(id: string): Promise<PluginStatus> {
    return this.#again(id, () => undefined);
  }

  enable(id: string): Promise<PluginStatus> {
    return this.#again(id, () => ({ enabled: true }));
  }

  disable(id: string): Promise<PluginStatus> {
    return this.#again(id, () => ({ enabled: false }));
  }

  /** Puts another implementation in the place of a plugin; only its dependents restart with it. */
  swap(id: string, definition: PluginDefinition): Promise<PluginStatus> {
    return this.#again(id, () => ({ definition }));
  }

  async release(id: string): Promise<PluginStatus> {
    const record = this.#find(id);
    return record.state === 'failed' || record.state === 'quarantined' ? this.restart(id) : this.#status(record);
  }

  /** An error that escaped from a plugin, told by the files in its stack: that plugin failed. False if it is nobody's. */
  crashed(error: unknown): boolean {
    const stack = error instanceof Error ? (error.stack ?? '') : '';
    const record = this.#records.find(({ entry, run }) => run && stack.includes(folderOf(entry)));
    if (record?.run) this.#crash(record, record.run, error);
    return record !== undefined;
  }

  /** What would change if this were the set; `also` names plugins that are the same, but have to start again. */
  difference(entries: readonly PluginEntry[], also: readonly string[]): Difference & { affected: readonly string[] } {
    const former = this.#records.map(({ entry }) => entry);
    const difference = differenceOf(former, entries, also);
    const { added, changed, removed } = difference;
    const affected = this.#withDependents([...changed, ...removed]).map(({ entry }) => entry.id);
    return { ...difference, affected: [...affected, ...added] };
  }

  /**
   * Makes this the set: what is gone stops; what is new or different starts, its dependents with it. If one of those that was active, or is new, then
   * fails, all of it is undone. `between` runs while what changes is stopped. Throws CHANGE_UNDONE.
   */
  apply(
    entries: readonly PluginEntry[],
    also: readonly string[],
    between: (undo: boolean) => void,
  ): Promise<ReturnType<Lifecycle['difference']>> {
    return this.#change(async () => {
      const former = this.#records.map(({ entry, enabled, state }) => ({ entry, enabled, state }));
      const difference = this.difference(entries, also);
      const { added, changed, removed, affected } = difference;
      const active = former.filter(({ state }) => state === 'active').map(({ entry }) => entry.id);
      await this.#replace(entries, [...added, ...changed], affected, () => between(false));
      const failed = this.#records.find(({ entry: { id }, state }) => {
        const counts = affected.includes(id) && (added.includes(id) || active.includes(id));
        return counts && (state === 'failed' || state === 'quarantined');
      });
      if (!failed || this.#ended) return difference;
      const { reason = '', code, entry } = failed;
      const old = former.map((one) => one.entry);
      await this.#replace(old, [...removed, ...changed], affected, () => {
        between(true);
        for (const one of former) {
          const record = this.#find(one.entry.id);
          if (record.enabled !== one.enabled) this.#put(record, one.enabled);
        }
      });
      const why = reason.includes(`plugin ${entry.id}`) ? reason : `plugin ${entry.id}: ${reason}`;
      throw new CoreError('CHANGE_UNDONE', { plugin: entry.id, reason: why, code });
    });
  }

  /** `renewed` begin anew, from their entries; the others of the set stay what they are. */
  async #replace(
    set: readonly PluginEntry[],
    renewed: readonly string[],
    affected: readonly string[],
    between: () => void,
  ): Promise<void> {
    await this.#stopAll(this.#withDependents(affected), undefined, () => {
      this.#install(set, renewed);
      between();
    });
    await this.#settled(this.#withDependents(affected));
  }

  #install(set: readonly PluginEntry[], renewed: readonly string[]): void {
    const { capabilities, log } = this.#parts;
    const before = new Set(this.#records);
    this.#records = set.map((entry) => {
      const known = this.#known.get(entry.id);
      if (known && before.has(known) && !renewed.includes(entry.id)) return known;
      const record = known ?? recordOf(entry);
      this.#known.set(entry.id, record);
      const enabled = before.has(record) && record.entry.enabled === entry.enabled ? record.enabled : entry.enabled;
      Object.assign(record, { entry, definition: entry.definition });
      const caller = { kind: 'plugin', id: entry.id } as const;
      capabilities.set(caller, entry.manifest.capabilities ?? []).catch((err) => log.warn({ err }, entry.id));
      this.#put(record, enabled);
      return record;
    });
    for (const gone of before) {
      if (this.#records.includes(gone)) continue;
      void capabilities.clear({ kind: 'plugin', id: gone.entry.id });
      this.#set(gone, 'stopped', 'it is not in the SKU any more');
    }
    const able = this.#records.filter(({ enabled, entry }) => enabled && !entry.refused);
    this.#verifiers = able.filter(({ entry }) => entry.manifest.taps?.includes('plugin.verify'));
  }

  /** A new beginning: what failed before does not count any more. */
  #put(record: PluginRecord, enabled: boolean): void {
    record.enabled = enabled;
    record.crashes.forgive();
    this.#set(record, enabled ? 'waiting' : 'stopped', enabled ? undefined : 'it is disabled');
  }

  #again(id: string, change: () => { enabled?: boolean; definition?: PluginDefinition } | undefined) {
    return this.#change(async () => {
      const record = this.#find(id);
      const tree = this.#withDependents([id]);
      await this.#stopAll(tree, record, () => {
        const { enabled = record.enabled, definition = record.definition } = change() ?? {};
        record.definition = definition;
        this.#put(record, enabled);
      });
      return { record, tree };
    }).then(async ({ record, tree }) => {
      await this.#settled(tree);
      return this.#status(record);
    });
  }

  #crash(record: PluginRecord, run: PluginRun, thrown: unknown): void {
    void this.#change(async () => {
      if (record.run !== run) return; // it was stopped or started again meanwhile
      const details = { plugin: record.entry.id, reason: reasonOf(thrown) };
      const error = thrown instanceof CoreError ? thrown : new CoreError('PLUGIN_CRASHED', details, { cause: thrown });
      await this.#stopAll(this.#withDependents([record.entry.id]), record, () => this.#fail(record, error));
    });
  }

  /** Runs changes one after the other. */
  #change<T>(fn: () => Promise<T>): Promise<T> {
    const change = this.#changes.then(fn);
    this.#changes = change.catch(() => undefined);
    return change;
  }

  #startAll(): void {
    for (const record of this.#records) {
      if (this.#ended || this.#held || record.state !== 'waiting') continue;
      const { refused } = record.entry;
      if (refused) this.#set(record, 'failed', refused.message, refused.code);
      if (refused || this.#missing(record)) continue;
      const start = this.#start(record).finally(() => {
        this.#starting.delete(start);
        this.#startAll();
      });
      this.#starting.add(start);
    }
  }

  /** Resolves when none of these is on its way up any more. */
  async #settled(records: readonly PluginRecord[]): Promise<void> {
    while (records.some(({ state }) => state === 'starting')) await Promise.race(this.#starting);
  }

  /** Why a plugin cannot start yet. */
  #missing({ entry }: PluginRecord): string | undefined {
    // The device comes up without a verifier that failed; code from outside the tree does not.
    const lost = ({ state }: PluginRecord) => entry.tree && /^(failed|quarantined|stopped)$/.test(state);
    const verifier = this.#verifiers.find((one) => one.state !== 'active' && !lost(one));
    const exempt = (id: string) =>
      this.#verifiers.some((one) => one.entry.id === id || this.#withDependents([id]).includes(one));
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
      if (run.scope.signal.aborted) throw run.scope.signal.reason;
      const services = Object.entries(manifest.provides ?? {}).map(([service, version]) => {
        const impl = run.provided.get(service);
        if (impl) return { id: service, version, impl };
        throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: `it did not provide ${service}` });
      });
      this.#parts.services.add(id, services);
      record.startMs = Math.round((performance.now() - began) * 10) / 10;
      record.readyAt = this.#clock.now();
      this.#set(record, 'active');
    } catch (error) {
      await run.scope.end(manifest.stopTimeoutMs);
      if (record.run !== run) return; // stopped on purpose
      record.run = undefined;
      this.#fail(record, error);
    }
  }

  async #setup(record: PluginRecord, run: PluginRun): Promise<void> {
    const { entry } = record;
    const { id, manifest, isolation } = entry;
    let { definition } = record;
    if (!definition) {
      await this.#parts.hooks.caller('plugin.verify').promise(manifest, folderOf(entry));
      definition = await loadPlugin(entry, {
        onCrash: (error) => this.#crash(record, run, error),
        onUsage: ({ cpuMs, heapBytes }) => void Object.assign(run.meter, { guest: { cpuMs, heapBytes } }),
        paths: this.#parts.paths,
      });
      if (isolation === 'inline') record.definition = definition;
    }
    const services: Record<string, object> = {};
    for (const [name, ref] of Object.entries(definition.requires ?? {})) {
      const range = manifest.requires?.[ref.id];
      if (range === undefined) throw new CoreError('SERVICE_UNDECLARED', { plugin: id, service: ref.id });
      const service = this.#parts.services.find(ref.id, range, run.meter);
      if (!service) throw new CoreError('SERVICE_MISSING', { service: ref.id, range, reason: 'it has just gone' });
      services[name] = service;
    }
    this.#parts.log.info({ plugin: id, state: 'starting' }, 'plugin setup'); // of a start that hangs, the last one is to blame
    await run.meter.measured('lifecycle', () => definition.setup(run.host, services as never))();
    await Promise.all(run.whens);
  }

  /** These and every plugin that needs one of them. */
  #withDependents(ids: readonly string[]): readonly PluginRecord[] {
    const nodes = this.#records.map(({ entry }) => graphNode(entry));
    const all = new Set(ids.flatMap((id) => [id, ...dependentsOf(nodes, id)]));
    return this.#records.filter(({ entry }) => all.has(entry.id));
  }

  /**
   * Stops plugins, newest first. Then `finish` says what becomes of `apart`, or of the set; what else was stopped, or had failed, waits for its
   * chance: it may fare better with a new provider.
   */
  async #stopAll(records: readonly PluginRecord[], apart?: PluginRecord, finish?: () => void): Promise<void> {
    this.#held = true;
    for (const record of records.toSorted((a, b) => b.order - a.order)) await this.#stop(record);
    finish?.();
    for (const record of records) {
      const { state, enabled } = record;
      if (this.#ended && enabled && state !== 'quarantined') this.#set(record, 'stopped');
      else if (record !== apart && (state === 'stopping' || state === 'failed')) this.#set(record, 'waiting');
    }
    this.#held = false;
    this.#startAll();
  }

  async #stop(record: PluginRecord): Promise<void> {
    const { run, entry } = record;
    const ms = entry.manifest.stopTimeoutMs ?? 5_000;
    if (!run) return;
    record.run = undefined;
    this.#set(record, 'stopping');
    await Promise.all([...run.provided.keys()].map((service) => this.#parts.services.withdraw(service, ms)));
    const [label] = await run.scope.end(ms);
    if (label !== undefined) this.#tell(record, new CoreError('PLUGIN_STOP_TIMEOUT', { plugin: entry.id, label, ms }));
  }

  #fail(record: PluginRecord, thrown: unknown): void {
    const plugin = record.entry.id;
    const error =
      thrown instanceof CoreError
        ? thrown
        : new CoreError('PLUGIN_START_FAILED', { plugin, reason: reasonOf(thrown) }, { cause: thrown });
    if (this.#ended && error.code === 'CANCELLED') {
      this.#set(record, 'stopped');
      return;
    }
    this.#tell(record, error);
    const now = this.#clock.now();
    const pause = record.crashes.failed(now, record.readyAt === undefined ? 0 : now - record.readyAt);
    record.readyAt = undefined;
    this.#set(record, pause === undefined ? 'quarantined' : 'failed', error.message, error.code);
    if (pause === undefined || this.#ended) return;
    const again = () =>
      this.#change(async () => {
        if (record.retry !== retry) return;
        record.restarts++;
        this.#set(record, 'waiting');
        this.#startAll();
      });
    const retry = { at: now + pause, timer: this.#clock.at(now + pause, () => void again()) };
    record.retry = retry;
  }

  #tell(record: PluginRecord, error: CoreError): void {
    record.lastError = { code: error.code, message: error.message, at: this.#clock.now() };
    this.#parts.log.error({ err: error, plugin: record.entry.id }, error.message);
  }

  #find(id: string): PluginRecord {
    const record = this.#records.find(({ entry }) => entry.id === id);
    if (record) return record;
    throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
  }

  #set(record: PluginRecord, state: PluginState, reason?: string, code?: ErrorCode): void {
    record.retry?.timer[Symbol.dispose]();
    record.retry = undefined;
    if (record.state === state && record.reason === reason) return;
    Object.assign(record, { state, reason, code, since: Date.now() });
    const plugin = record.entry.id;
    this.#parts.log.info({ plugin, state, reason }, `plugin ${state}`); // at info: safe mode reads here why a start failed
    const payload = reason === undefined ? { plugin, state } : { plugin, state, reason };
    try {
      this.#parts.bus.publish({ topic: 'plugin.state', payload, source: 'core' });
    } catch (err) {
      this.#parts.log.warn({ err, plugin, state }, 'cannot tell a plugin state: the event was refused');
    }
  }

  #status(record: PluginRecord): PluginStatus {
    const { entry, state, since, generation, startMs, run, restarts, retry, lastError } = record;
    const { id, version, summary, provides = {}, requires = {} } = entry.manifest;
    const waits = state === 'waiting' ? this.#missing(record) : undefined;
    const reason = waits ?? record.reason;
    const code = waits === undefined ? record.code : 'SERVICE_MISSING';
    return {
      ...{ id, version, summary, state, isolation: entry.isolation, essential: entry.essential, since, generation },
      ...{ provides, requires, holds: run?.scope.held ?? [], restarts, directory: folderOf(entry) },
      ...(reason === undefined ? {} : { reason }),
      ...(code === undefined ? {} : { code }),
      ...(startMs === undefined ? {} : { startMs }),
      ...(retry === undefined ? {} : { nextStartAt: retry.at }),
      ...(lastError === undefined ? {} : { lastError }),
      ...(entry.programs === undefined ? {} : { programs: entry.programs }),
      ...(generation === 0 ? {} : { usage: this.#parts.watch.usage.of(id).usage() }),
    };
  }
}

function recordOf(entry: PluginEntry): PluginRecord {
  const { definition, enabled } = entry;
  const first = enabled ? { state: 'waiting' as const } : { state: 'stopped' as const, reason: 'it is disabled' };
  const counts = { since: Date.now(), generation: 0, order: 0, restarts: 0, crashes: new CrashPolicy() };
  return { entry, definition, enabled, ...first, ...counts };
}

function folderOf({ main }: PluginEntry): string {
  return main.slice(0, main.lastIndexOf('/') + 1);
}
