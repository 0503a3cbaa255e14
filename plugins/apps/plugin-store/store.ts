/** Plugins of this device beyond its SKU: installed, proven, rolled back, removed. What touches the list is done one after the other. */
import { isDeepStrictEqual } from 'node:util';
import { CoreError, maybe, type PluginManifest } from '@device-core/plugin-api';
import { moveFolder } from '@device-core/plugin-api/durable';
import {
  formerOf,
  type Installed,
  type InstalledPlugin,
  liveVersion,
  versionsOf,
} from '@device-core/plugin-api/inside/installed';
import type { TreeLimits } from '@device-core/plugin-api/inside/packages';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { without } from '../shared/package-store/list-file.ts';
import { type FilesKind, VersionFiles } from '../shared/package-store/version-files.ts';
import type { Candidate } from './candidate.ts';
import { type Admitted, type InstallRequest, type Running, type StoreConfig, versionOf } from './outcome.ts';
import { failureOf, inItsPlace, PluginRuns, type RunsParts } from './runs.ts';
import { verifyInstalled } from './trust.ts';

export interface StoreParts extends RunsParts {
  /** `<var>/plugins`. */
  readonly place: string;
  readonly config: StoreConfig;
}

const PLUGIN_FILES: FilesKind<InstalledPlugin> = {
  format: 'PLUGIN_PACKAGE',
  signatureCounts: true,
  versionsOf,
  move: moveFolder,
};
const SELF = 'plugin-store';
const WAYS_OUT: readonly string[] = ['http-server', 'operations'];

export class PluginStore {
  readonly #parts: StoreParts;
  readonly #limits: TreeLimits;
  readonly #files: VersionFiles<InstalledPlugin>;
  readonly runs: PluginRuns;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.#limits = { files: parts.config.maxFiles, bytes: parts.config.maxBytes };
    this.runs = new PluginRuns(parts, () => this.#sweep());
    this.#files = new VersionFiles(parts.place, this.#limits, PLUGIN_FILES);
  }

  get installed(): Installed {
    return this.#parts.state.value;
  }

  /** Before anything runs: counts the start against what is on probation, and takes back what a crash left half done. */
  async begin(): Promise<void> {
    const { state, log } = this.#parts;
    await state.mend();
    let { plugins, rolledBack } = state.value;
    for (const [id, plugin] of Object.entries(plugins)) {
      if (!plugin.probation) continue;
      const live = liveVersion(plugin);
      const { probation } = live ?? {};
      const counted = live && probation ? { ...live, probation: { starts: probation.starts + 1 } } : live;
      plugins = without(plugins, id, counted);
      if (live === plugin) continue;
      const reason = `the Core ended ${plugin.probation.starts} times while it was on probation`;
      log.error({ plugin: id, version: plugin.version }, `rolled back: ${reason}`);
      rolledBack = { ...rolledBack, [id]: failureOf(plugin, live, reason) };
    }
    if (plugins !== state.value.plugins) await state.write({ plugins, rolledBack });
    await this.#sweep();
  }

  /** The Core ends in order: that is not held against anybody. */
  async end(): Promise<void> {
    const { plugins } = this.installed;
    const forgiven = Object.entries(plugins).map(
      ([id, plugin]) => [id, plugin.probation ? { ...plugin, probation: { starts: 0 } } : plugin] as const,
    );
    if (!Object.values(plugins).some(({ probation }) => probation?.starts)) return;
    await this.#parts.state.write({ plugins: Object.fromEntries(forgiven) });
  }

  verify(manifest: PluginManifest, directory: string): Promise<void> {
    const { place, config } = this.#parts;
    const plugin = this.installed.plugins[manifest.id];
    return verifyInstalled(manifest, directory, { place, plugin, limits: this.#limits, policy: config });
  }

  get limits(): TreeLimits {
    return this.#limits;
  }

  get signal(): AbortSignal {
    return this.#parts.signal;
  }

  /** Asks everything that can be asked before it runs; resolves with what would be written. */
  admit(candidate: Candidate, request: InstallRequest): Promise<Admitted> {
    return this.#parts.state.serial(() => this.#admission(candidate, request));
  }

  /** Puts its files where they stay, and resolves with what lies there. Nothing names them yet. */
  place(change: string, candidate: Candidate, entry: InstalledPlugin): Promise<Candidate> {
    return this.#parts.state.serial(async () => {
      this.#files.spare(`${change} in its place`, this.#files.pathsOf(candidate.manifest.id, entry));
      const { folder, manifest, tree } = candidate;
      return { ...candidate, folder: await this.#files.keep(manifest.id, entry, folder, tree) };
    });
  }

  /** Folders that a sweep leaves there, by the change that needs it. */
  spare(change: string, paths: readonly string[]): void {
    this.#files.spare(change, paths);
    if (paths.length === 0) this.#files.spare(`${change} in its place`, []);
  }

  tidy(): Promise<void> {
    return this.#parts.state.serial(() => this.#sweep());
  }

  /** Names it in the list: from now on it is what runs at the next start. Asks once more, for others may have changed meanwhile. */
  commit(candidate: Candidate, request: InstallRequest, installedAt: number): Promise<Admitted> {
    return this.#parts.state.serial(async () => {
      const admitted = await this.#admission(candidate, request);
      const { id } = admitted.outcome;
      const entry = admitted.entry.probation ? { ...admitted.entry, installedAt } : admitted.entry;
      await this.#write(id, entry);
      return { ...admitted, entry };
    });
  }

  /** Takes a commit back, whether it was made or not: what ran before is named again, and runs. */
  revoke(id: string, installedAt: number): Promise<void> {
    return this.#parts.state.serial(async () => {
      const plugin = this.installed.plugins[id];
      if (!plugin?.probation || plugin.installedAt !== installedAt) return;
      await this.#parts.state.write({ plugins: without(this.installed.plugins, id, formerOf(plugin)) });
      await this.runs.apply();
      await this.#sweep();
    });
  }

  /**
   * Starts what was committed, and resolves with what runs then; `resumed`: the Core ended meanwhile, and may just be starting it. Throws
   * PLUGIN_ROLLED_BACK when it does not become active, CANCELLED when it is not there any more.
   */
  start(id: string, installedAt: number, resumed: boolean): Promise<Running | undefined> {
    return this.#parts.state.serial(async () => {
      const entry = this.installed.plugins[id];
      const failed = this.installed.rolledBack[id];
      if (entry?.installedAt !== installedAt) {
        const running = await this.runs.running(id);
        if (!failed || failed.at < installedAt)
          throw new CoreError('CANCELLED', { what: `the installation of ${id}`, reason: 'it was changed meanwhile' });
        const outcome = inItsPlace(entry, running);
        const { version, reason } = failed;
        throw new CoreError('PLUGIN_ROLLED_BACK', {
          plugin: id,
          version,
          reason,
          outcome,
          ...maybe({ running }),
        });
      }
      const running = await this.runs.prove(id, entry, resumed);
      await this.#sweep();
      return running;
    });
  }

  /** Throws PLUGIN_NOT_FOUND, PLUGIN_CONFLICT when others need it. */
  remove(id: string): Promise<InstalledPlugin> {
    return this.#parts.state.serial(async () => {
      const plugin = this.#find(id);
      const { checkDependents } = await import('./fitness.ts');
      checkDependents(id, 'remove', {}, { running: await this.#parts.manager.list() });
      const { plugins, rolledBack } = this.installed;
      await this.#parts.state.write({ plugins: without(plugins, id), rolledBack: without(rolledBack, id) });
      try {
        await this.runs.apply();
      } catch (error) {
        await this.#parts.state.write({ plugins, rolledBack });
        throw error;
      }
      await this.#sweep();
      return plugin;
    });
  }

  /**
   * For good, not for this run of the Core. Plugins of the SKU may be meant that do not run now: in safe mode. Throws
   * PLUGIN_CONFLICT for one that the device cannot do without, CHANGE_UNDONE.
   */
  switch(id: string, enabled: boolean): Promise<PluginStatus | undefined> {
    return this.#parts.state.serial(async () => {
      const { plugins, disabled } = this.installed;
      const plugin = this.#entry(id);
      if (plugin) await this.#write(id, { ...plugin, enabled });
      else {
        await this.#checkKnown(id);
        if (!enabled) checkDispensable(id, await this.#parts.manager.list());
        const others = disabled.filter((one) => one !== id);
        await this.#parts.state.write({ disabled: enabled ? others : [...others, id] });
      }
      try {
        await this.runs.apply();
      } catch (error) {
        await this.#parts.state.write({ plugins, disabled });
        throw error;
      }
      const status = await this.runs.status(id);
      // It may have been disabled for this run only.
      return enabled && status?.state === 'stopped' ? this.#parts.manager.enable(id) : status;
    });
  }

  /**
   * Line that a rollback would write: the version before one on probation, else the last one that was proven. Throws
   * PLUGIN_NOT_FOUND, PLUGIN_CONFLICT.
   */
  before(id: string): { readonly from: InstalledPlugin; readonly to: InstalledPlugin } {
    const from = this.#find(id);
    const { enabled, probation } = from;
    const former = formerOf(from);
    if (!former) throw conflict('roll back', id, 'no other version was kept');
    const proven = { enabled, installedAt: Date.now(), lastGood: versionOf(from) };
    return { from, to: probation ? { ...former, enabled } : { ...former, ...proven } };
  }

  /** Puts one entry in the place of another; nothing where that was done before. Throws CANCELLED where it is a third one by now. */
  exchange(id: string, from: InstalledPlugin, to: InstalledPlugin): Promise<void> {
    return this.#parts.state.serial(async () => {
      const now = this.installed.plugins[id];
      if (now && isSame(now, to)) return;
      if (!now || !isSame(now, from))
        throw new CoreError('CANCELLED', { what: `the rollback of ${id}`, reason: 'it was changed meanwhile' });
      await this.#write(id, to);
    });
  }

  /** Runs what the list says. */
  follow(): Promise<void> {
    return this.#parts.state.serial(async () => {
      await this.runs.apply();
      await this.#sweep();
    });
  }

  /** The version has passed its probation, if it is still that one. */
  passed(id: string, installedAt: number): Promise<void> {
    return this.#parts.state.serial(async () => {
      const plugin = this.installed.plugins[id];
      if (!plugin?.probation || plugin.installedAt !== installedAt) return;
      const { probation: _, former, ...proven } = plugin;
      const { plugins, rolledBack } = this.installed;
      // The former version is kept for a rollback where nothing proven is.
      const entry = former && !proven.lastGood ? { ...proven, lastGood: versionOf(former) } : proven;
      const newer = (rolledBack[id]?.at ?? 0) >= installedAt;
      await this.#parts.state.write({
        plugins: { ...plugins, [id]: entry },
        rolledBack: newer ? rolledBack : without(rolledBack, id),
      });
      this.#parts.log.info({ plugin: id, version: plugin.version }, 'passed its probation');
      await this.#sweep();
    });
  }

  /** The version failed its probation, if it is still that one: what ran before comes back. */
  failed(id: string, installedAt: number, reason: string): Promise<void> {
    return this.#parts.state.serial(async () => {
      const plugin = this.installed.plugins[id];
      if (plugin?.probation && plugin.installedAt === installedAt) await this.runs.undo(id, plugin, reason);
    });
  }

  #admission(candidate: Candidate, request: InstallRequest): Promise<Admitted> {
    const { manager, config, place, log } = this.#parts;
    const about = { installed: this.installed, manager, config, place, limits: this.#limits, log };
    return import('./admission.ts').then(({ admit }) => admit(candidate, request, about));
  }

  /** In safe mode plugins of the SKU proper may be meant, whatever they are called. */
  async #checkKnown(id: string): Promise<void> {
    const { isOfTree } = await import('./fitness.ts');
    if (this.#parts.safeMode || isOfTree(id) || this.installed.disabled.includes(id) || (await this.runs.status(id)))
      return;
    throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
  }

  /** A caller may write any word, `constructor` among them. */
  #entry(id: string): InstalledPlugin | undefined {
    const { plugins } = this.installed;
    return Object.hasOwn(plugins, id) ? plugins[id] : undefined;
  }

  #find(id: string): InstalledPlugin {
    const plugin = this.#entry(id);
    if (!plugin) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
    return plugin;
  }

  #write(id: string, entry: InstalledPlugin): Promise<void> {
    return this.#parts.state.write({ plugins: { ...this.installed.plugins, [id]: entry } });
  }

  async #sweep(): Promise<void> {
    // A folder missing in an unreadable list is not left over.
    if (this.#parts.state.newer) return;
    try {
      await this.#files.sweep(this.installed.plugins);
    } catch (err) {
      this.#parts.log.warn({ err }, 'cannot remove what is left of old plugins');
    }
  }
}

function isSame(a: InstalledPlugin, b: InstalledPlugin): boolean {
  return a.hash === b.hash && a.installedAt === b.installedAt && isDeepStrictEqual(a.config, b.config);
}

/** Without these nobody could switch it on again. Throws PLUGIN_CONFLICT. */
function checkDispensable(id: string, running: readonly PluginStatus[]): void {
  const plugin = running.find((one) => one.id === id);
  const affected = new Set(plugin ? [plugin] : []);
  for (const one of affected)
    for (const other of running)
      if (Object.keys(one.provides).some((service) => service in other.requires)) affected.add(other);
  const vital = ({ id, essential, provides }: PluginStatus) =>
    essential || id === SELF || WAYS_OUT.some((service) => service in provides);
  const needed = id === SELF ? SELF : [...affected].find(vital)?.id;
  if (needed) throw conflict('switch off', id, `the device cannot do without ${needed}`);
}

function conflict(verb: string, plugin: string, reason: string): CoreError {
  return new CoreError('PLUGIN_CONFLICT', { verb, plugin, reason });
}
