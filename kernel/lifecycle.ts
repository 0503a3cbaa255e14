import { isDeepStrictEqual } from 'node:util';
import { type Clock, CoreError, type PluginDefinition, reasonOf, spentText } from '@device-core/plugin-api';
import { isLiveChange } from '@device-core/plugin-api/inside/manifest-check';
import { Serial } from '@device-core/plugin-api/inside/serial';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { originOf } from './blame.ts';
import { outcome } from './deadline.ts';
import type { Elsewhere } from './elsewhere.ts';
import { type Difference, differenceOf } from './graph.ts';
import { type KernelParts, PluginRun } from './host.ts';
import { EndedWith } from './isolation/launched.ts';
import { folderOf, type PluginRecord, Records } from './records.ts';
import type { PluginEntry } from './resolved.ts';
import type { Watch } from './usage/watch.ts';

type LiveChange = { readonly record: PluginRecord; readonly next: PluginEntry };
const STILL_RUNS = 'its former start still runs';

/**
 * The state machine of every plugin. Changes from outside are made one after the other; starts run side by side and
 * block no other work.
 */
export class Lifecycle implements Omit<PluginManager, 'apply' | 'settings' | 'uses' | keyof Watch['told']> {
  readonly #parts: KernelParts;
  readonly #clock: Clock;
  readonly #records: Records;
  readonly #starting = new Set<Promise<void>>();
  readonly #changes = new Serial();
  #starts = 0;
  #first = true;
  /** While plugins are being stopped nothing starts: it could lean on what goes next. */
  #held = false;
  #ended = false;

  constructor(plugins: readonly PluginEntry[], parts: KernelParts) {
    this.#parts = parts;
    this.#clock = parts.clock;
    this.#records = new Records(parts);
    const all = plugins.map(({ id }) => id);
    this.#records.install(plugins, all);
  }

  /** Starts what can start, until nothing changes any more. */
  start(): Promise<void> {
    this.#startAll();
    return this.#settled(this.#records.all);
  }

  /** Stops every plugin, dependents first. Nothing starts again. */
  stop(): Promise<void> {
    this.#ended = true;
    for (const record of this.#records.all) if (record.state === 'starting') void record.run?.scope.end();
    return this.#changes.run(async () => {
      await Promise.all(this.#starting);
      await this.#stopAll(this.#records.all);
    });
  }

  readonly list = async () => this.#records.all.map((record) => this.#records.status(record));
  readonly restart = (id: string) => this.#again(id, {});
  readonly enable = (id: string) => this.#again(id, { enabled: true });
  readonly disable = (id: string) => this.#again(id, { enabled: false });
  /** Puts another implementation in the place of a plugin; only its dependents restart with it. */
  readonly swap = (id: string, definition: PluginDefinition) => this.#again(id, { definition });

  /** The last failure of a plugin, with its cause; undefined if it never failed. */
  readonly failure = (id: string) => this.#records.find(id).failure;

  async release(id: string): Promise<PluginStatus> {
    const record = this.#records.find(id);
    const down = record.state === 'failed' || record.state === 'quarantined';
    return down ? this.restart(id) : this.#records.status(record);
  }

  /** Fails the plugin that an escaped error came from, by the frames of its stack. False if it came from no plugin. */
  crashed(error: unknown): boolean {
    const here = this.#records.all.filter(({ entry }) => entry.isolation === 'inline');
    const folders = here.map((one) => [one, folderOf(one.entry)] as const);
    const record = originOf(error, folders)?.owner;
    if (!record) return false;
    if (record.run) this.#crash(record, record.run, error);
    else this.#records.tell(record, failureOf('PLUGIN_CRASHED', record, error)); // code that ran on after the stop
    return true;
  }

  /** Plugins that run and take what is different of them without a restart. */
  live(entries: readonly PluginEntry[], also: readonly string[]): readonly LiveChange[] {
    return entries.flatMap((next) => {
      const record = this.#records.all.find(({ entry }) => entry.id === next.id);
      if (!record?.run?.configure || record.state !== 'active' || also.includes(next.id)) return [];
      const isSame = isDeepStrictEqual({ ...record.entry, config: next.config }, next);
      return isSame && isLiveChange(next.manifest.config, record.entry.config, next.config) ? [{ record, next }] : [];
    });
  }

  /** Changes from the present set to this one; `also` names equal plugins that have to start again. */
  difference(entries: readonly PluginEntry[], also: readonly string[]): Difference & { affected: readonly string[] } {
    const former = this.#records.all.map(({ entry }) => entry);
    const live = new Map(this.live(entries, also).map(({ record }) => [record.entry.id, record.entry]));
    const next = entries.map((entry) => live.get(entry.id) ?? entry);
    const difference = differenceOf(former, next, also);
    const { added, changed, removed } = difference;
    const affected = this.#records.withDependents([...changed, ...removed]).map(({ entry }) => entry.id);
    return { ...difference, affected: [...affected, ...added] };
  }

  /**
   * Makes this the set: what is gone stops; what is new or different starts, its dependents with it. If one of those
   * that was active, or is new, is not active then, or an essential one is not, all of it is undone. `between` runs
   * while what changes is stopped. Throws CHANGE_UNDONE.
   */
  apply(
    entries: readonly PluginEntry[],
    also: readonly string[],
    between: (undo: boolean) => void,
  ): Promise<ReturnType<Lifecycle['difference']>> {
    return this.#changes.run(async () => {
      const former = this.#records.all.map(({ entry, enabled, state }) => ({ entry, enabled, state }));
      const difference = this.difference(entries, also);
      const { added, changed, removed, affected } = difference;
      const active = former.filter(({ state }) => state === 'active').map(({ entry }) => entry.id);
      const configured = this.#configure(this.live(entries, also));
      await this.#replace(entries, [...added, ...changed], affected, () => between(false));
      const failed = this.#records.all.find((record) => this.#worse(record, difference, active));
      if (!failed || this.#ended) return difference;
      const { entry } = failed;
      const { reason = `it is ${failed.state}`, code } = this.#records.status(failed);
      const old = former.map((one) => one.entry);
      this.#configure(configured, true);
      await this.#replace(old, [...removed, ...changed], affected, () => {
        between(true);
        for (const one of former) {
          const record = this.#records.find(one.entry.id);
          if (record.enabled !== one.enabled) this.#records.put(record, one.enabled);
        }
      });
      const why = reason.includes(`plugin ${entry.id}`) ? reason : `plugin ${entry.id}: ${reason}`;
      throw new CoreError('CHANGE_UNDONE', { plugin: entry.id, reason: why, code });
    });
  }

  /** Answers with what takes it back. Throws CHANGE_UNDONE where a plugin refuses: then each has its former configuration. */
  #configure(changes: readonly LiveChange[], undoes = false): readonly LiveChange[] {
    const former = changes.map(({ record }) => ({ record, next: record.entry }));
    for (const { record, next } of changes) {
      record.entry = next;
      try {
        record.run?.configure?.(next.config);
      } catch (thrown) {
        if (undoes && record.run) this.#crash(record, record.run, thrown);
        if (undoes) continue;
        this.#configure(former, true);
        const { code, message: reason } = failureOf('PLUGIN_START_FAILED', record, thrown);
        throw new CoreError('CHANGE_UNDONE', { plugin: next.id, reason, code }, { cause: thrown });
      }
    }
    return former;
  }

  /** Does the plugin fare worse for the change? What failed before may go on failing, and what was switched off may be missing. */
  #worse(record: PluginRecord, { added, affected }: ReturnType<Lifecycle['difference']>, active: readonly string[]) {
    const { state, entry } = record;
    const was = active.includes(entry.id);
    if (state === 'active') return false;
    if (entry.essential && was) return true;
    if (!affected.includes(entry.id) || state === 'stopped') return false;
    if (entry.essential) return true;
    const isNew = added.includes(entry.id);
    return (was || isNew) && (state !== 'waiting' || !this.#records.patient(record, isNew));
  }

  /** `renewed` begin anew, from their entries; the others of the set stay what they are. */
  async #replace(
    set: readonly PluginEntry[],
    renewed: readonly string[],
    affected: readonly string[],
    between: () => void,
  ): Promise<void> {
    await this.#stopAll(this.#records.withDependents(affected), undefined, () => {
      this.#records.install(set, renewed);
      between();
    });
    await this.#settled(this.#records.withDependents(affected));
  }

  #again(id: string, change: { enabled?: boolean; definition?: PluginDefinition }): Promise<PluginStatus> {
    return this.#changes
      .run(async () => {
        const record = this.#records.find(id);
        const tree = this.#records.withDependents([id]);
        await this.#stopAll(tree, record, () => {
          const { enabled = record.enabled, definition = record.definition } = change;
          record.definition = definition;
          this.#records.put(record, enabled);
        });
        return { record, tree };
      })
      .then(async ({ record, tree }) => {
        await this.#settled(tree);
        return this.#records.status(record);
      });
  }

  #crash(record: PluginRecord, run: PluginRun, thrown: unknown): void {
    void this.#changes.run(async () => {
      if (record.run !== run) return; // it was stopped or started again meanwhile
      const error = failureOf('PLUGIN_CRASHED', record, thrown);
      await this.#stopAll(this.#records.withDependents([record.entry.id]), record, () => this.#fail(record, error));
    });
  }

  /** The first wave is what says `early`: while one of it is on its way no other code is imported. */
  #startAll(): void {
    if (this.#first) this.#startAble(isEarly);
    this.#first &&= this.#records.all.some(({ state, entry }) => state === 'starting' && isEarly(entry));
    if (!this.#first) this.#startAble(() => true);
  }

  #startAble(chosen: (entry: PluginEntry) => boolean): void {
    for (const record of this.#records.all) {
      if (this.#ended || this.#held || record.state !== 'waiting' || !chosen(record.entry)) continue;
      const { refused } = record.entry;
      if (refused) this.#records.set(record, 'failed', refused.message, refused.code);
      if (refused || this.#records.missing(record)) continue;
      if (record.unsettled) {
        this.#records.set(record, 'failed', STILL_RUNS, 'PLUGIN_START_TIMEOUT');
        continue;
      }
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

  async #start(record: PluginRecord): Promise<void> {
    const { entry } = record;
    const { id, manifest } = entry;
    const run = new PluginRun(entry, this.#parts);
    record.run = run;
    record.generation++;
    record.order = ++this.#starts;
    this.#records.set(record, 'starting');
    const began = this.#clock.monotonic();
    try {
      const definition = await this.#step(record, run, 'its code was not loaded', this.#load(record, run));
      const { lostMs }: Partial<Elsewhere> = definition as Partial<Elsewhere>;
      await this.#step(record, run, 'setup() did not come back', this.#setup(record, run, definition), lostMs);
      const services = Object.entries(manifest.provides ?? {}).map(([service, version]) => {
        const impl = run.provided.get(service);
        if (impl) return { id: service, version, impl };
        throw new CoreError('PLUGIN_START_FAILED', { plugin: id, reason: `it did not provide ${service}` });
      });
      this.#parts.services.add(id, services);
      record.startMs = Math.round((this.#clock.monotonic() - began) * 10) / 10;
      record.readyAt = this.#clock.monotonic();
      this.#records.set(record, 'active');
    } catch (error) {
      await run.scope.end(manifest.stopTimeoutMs);
      if (record.run !== run) return; // stopped on purpose
      record.run = undefined;
      this.#fail(record, error);
    }
  }

  /** One step of a start. It may go on when the start is over: until it settles no other start begins. Throws PLUGIN_START_TIMEOUT. */
  async #step<T>(record: PluginRecord, run: PluginRun, step: string, work: Promise<T>, lostMs = () => 0): Promise<T> {
    const { id, startTimeoutMs: ms = 10_000 } = record.entry.manifest;
    const { signal } = run.scope;
    const settled: Promise<void> = Promise.allSettled([work]).then(() => this.#settle(record, settled));
    record.unsettled = settled;
    const lost = [() => this.#clock.taken() - run.meter.busyMs, lostMs];
    const ended = await outcome(this.#clock, work, ms, { signal, lost });
    if (ended.kind === 'done' && !signal.aborted) return ended.value;
    if (ended.kind !== 'timeout') throw signal.reason;
    const details = { ms, ...ended.spent, time: spentText(ms, ended.spent), step };
    throw new CoreError('PLUGIN_START_TIMEOUT', { plugin: id, ...details });
  }

  #settle(record: PluginRecord, settled: Promise<void>): void {
    if (record.unsettled !== settled) return;
    record.unsettled = undefined;
    if (record.state !== 'failed' || record.reason !== STILL_RUNS) return;
    this.#records.set(record, 'waiting');
    this.#startAll();
  }

  async #load(record: PluginRecord, run: PluginRun): Promise<PluginDefinition> {
    if (record.definition) return record.definition;
    const { manifest, main, isolation, share, tree, budget = {} } = record.entry;
    await this.#parts.hooks.caller('plugin.verify').promise(manifest, folderOf(record.entry));
    const definition = (await this.#parts.hooks.caller('plugin.load').promise({
      manifest,
      main,
      isolation,
      share,
      tree,
      budget,
      crashed: (error) => this.#crash(record, run, error),
      used: (guest) => void Object.assign(run.meter, { guest }),
    })) as PluginDefinition;
    if (isolation === 'inline' && record.run === run) record.definition = definition;
    return definition;
  }

  async #setup({ entry }: PluginRecord, run: PluginRun, definition: PluginDefinition): Promise<void> {
    const { id, manifest } = entry;
    const services: Record<string, object> = {};
    for (const [name, ref] of Object.entries(definition.requires ?? {})) {
      run.border.use(ref.id);
      const range = manifest.requires?.[ref.id];
      if (range === undefined) throw new CoreError('SERVICE_UNDECLARED', { plugin: id, service: ref.id });
      const service = this.#parts.services.find(ref.id, range, run.meter);
      if (!service) throw new CoreError('SERVICE_MISSING', { service: ref.id, range, reason: 'it has just gone' });
      services[name] = run.border.entered(ref.id, service);
    }
    this.#parts.log.info({ plugin: id, state: 'starting' }, 'plugin setup'); // of a start that hangs, the last one is to blame
    const made = await run.meter.measured('lifecycle', () => definition.setup(run.host, services as never))();
    if (made && entry.isolation === 'inline')
      run.configure = run.meter.measured('lifecycle', (config: object) => made.configure(config));
    await Promise.all(run.whens);
  }

  /**
   * Stops plugins, newest first. Then `finish` says what becomes of `apart`, or of the set; what else was stopped, or
   * had failed, waits for its chance: it may fare better with a new provider.
   */
  async #stopAll(records: readonly PluginRecord[], apart?: PluginRecord, finish?: () => void): Promise<void> {
    this.#held = true;
    for (const record of records.toSorted((a, b) => b.order - a.order)) await this.#stop(record);
    finish?.();
    for (const record of records) {
      const { state, enabled } = record;
      if (this.#ended && enabled && state !== 'quarantined') this.#records.set(record, 'stopped');
      else if (record !== apart && (state === 'stopping' || state === 'failed')) this.#records.set(record, 'waiting');
    }
    this.#held = false;
    this.#startAll();
  }

  async #stop(record: PluginRecord): Promise<void> {
    const { run, entry } = record;
    const ms = entry.manifest.stopTimeoutMs ?? 5_000;
    if (!run) return;
    record.run = undefined;
    this.#records.set(record, 'stopping');
    await Promise.all([...run.provided.keys()].map((service) => this.#parts.services.withdraw(service, ms)));
    const hung = await run.scope.end(ms);
    const start = record.unsettled && (await outcome(this.#clock, record.unsettled, ms));
    const label = start?.kind === 'timeout' ? 'its start' : hung[0];
    if (label !== undefined)
      this.#records.tell(record, new CoreError('PLUGIN_STOP_TIMEOUT', { plugin: entry.id, label, ms }));
  }

  #fail(record: PluginRecord, thrown: unknown): void {
    const error = thrown instanceof CoreError ? thrown : failureOf('PLUGIN_START_FAILED', record, thrown);
    const wanted = this.#ended && error.code === 'CANCELLED';
    if (!wanted) this.#records.tell(record, error);
    if (wanted || error instanceof EndedWith) {
      this.#records.set(record, wanted ? 'stopped' : 'waiting');
      return;
    }
    const now = this.#clock.monotonic();
    const pause = record.crashes.failed(now, record.readyAt === undefined ? 0 : now - record.readyAt);
    record.readyAt = undefined;
    this.#records.set(record, pause === undefined ? 'quarantined' : 'failed', error.message, error.code);
    if (pause === undefined || this.#ended) return;
    const again = () =>
      this.#changes.run(async () => {
        if (record.retry !== retry) return;
        record.restarts++;
        this.#records.set(record, 'waiting');
        this.#startAll();
      });
    const retry = { at: this.#clock.now() + pause, timer: this.#clock.after(pause, () => void again()) };
    record.retry = retry;
  }
}

const isEarly = ({ tree, manifest }: PluginEntry) => tree && manifest.early === true;

/** Its message ends with the line of the plugin that matters. */
function failureOf(
  code: 'PLUGIN_START_FAILED' | 'PLUGIN_CRASHED',
  { entry }: PluginRecord,
  thrown: unknown,
): CoreError {
  if (thrown instanceof CoreError && thrown.code !== 'PLUGIN_CRASHED') return thrown;
  const said = thrown instanceof CoreError ? String(thrown.details.reason) : reasonOf(thrown);
  const { place } = originOf(thrown, [[entry.id, folderOf(entry)]]) ?? {};
  const reason = place === undefined ? said : `${said} (${place})`;
  return new CoreError(code, { plugin: entry.id, reason }, { cause: thrown });
}
