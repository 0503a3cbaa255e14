/** Plugins of this device beyond its SKU: installed, proven, rolled back, removed. Changes are made one after the other. */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import {
  CoreError,
  type Isolation,
  type Logger,
  type PluginManager,
  type PluginManifest,
  type PluginState,
  type PluginStatus,
  reasonOf,
} from '@device-core/plugin-api';
import {
  followedBy,
  formerOf,
  type Installed,
  type InstalledPlugin,
  type InstalledVersion,
  liveVersion,
  type RolledBack,
  versionFolder,
} from '@device-core/plugin-api/installed';
import type { TreeLimits } from '@device-core/plugin-api/package-tree';
import type { Candidate } from './candidate.ts';
import type { Claims } from './claims.ts';
import type { InstalledState } from './state.ts';
import { signerOf, type TrustPolicy, verifyInstalled } from './trust.ts';
import { VersionFiles } from './version-files.ts';

export interface StoreConfig extends TrustPolicy {
  readonly leastIsolation: Isolation;
  readonly probationMs: number;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

export interface InstallRequest {
  /** Absolute path of a folder or a tarball on this device. */
  readonly source: string;
  readonly isolation?: Isolation;
  /** Members over those of the version before; null takes one away. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Digest of what it may have: what CLAIMS_UNACCEPTED names. */
  readonly accept?: string;
  /** Everything is asked, nothing is done. */
  readonly check?: boolean;
}

export interface Outcome {
  /** `good` when this very version had passed its probation before. */
  readonly state: 'checked' | 'probation' | 'good';
  readonly id: string;
  readonly version: string;
  /** Version that ran before. */
  readonly former?: string;
  /** What runs now; absent where nothing of it does. */
  readonly running?: Running;
  readonly hash: string;
  readonly isolation: Isolation;
  readonly capabilities: readonly string[];
  /** All that it claims, and what names this package with these claims. */
  readonly claims: Claims;
  readonly digest: string;
  /** What of it the version before did not have. */
  readonly added: readonly string[];
  /** Fingerprint of the key that signed it. */
  readonly signer?: string;
}

/** What the kernel runs of a plugin, whatever was asked for. */
export interface Running {
  readonly version: string;
  readonly state: PluginState;
  readonly reason?: string;
}

export interface StoreParts {
  readonly state: InstalledState;
  /** `<var>/plugins`. */
  readonly place: string;
  readonly manager: PluginManager;
  readonly config: StoreConfig;
  readonly log: Logger;
  readonly signal: AbortSignal;
  readonly safeMode: boolean;
}

/** Changes that may wait. */
const MAX_WAITING = 8;
const SELF = 'plugin-store';
const WAYS_OUT: readonly string[] = ['http-server', 'operations'];

export class PluginStore {
  readonly #parts: StoreParts;
  readonly #limits: TreeLimits;
  readonly #files: VersionFiles;
  #tail: Promise<unknown> = Promise.resolve();
  #waiting = 0;

  constructor(parts: StoreParts) {
    this.#parts = parts;
    this.#limits = { files: parts.config.maxFiles, bytes: parts.config.maxBytes };
    this.#files = new VersionFiles(parts.place, this.#limits);
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
    const { plugins, rolledBack } = this.installed;
    const forgiven = Object.entries(plugins).map(
      ([id, plugin]) => [id, plugin.probation ? { ...plugin, probation: { starts: 0 } } : plugin] as const,
    );
    if (!Object.values(plugins).some(({ probation }) => probation?.starts)) return;
    await this.#parts.state.write({ plugins: Object.fromEntries(forgiven), rolledBack });
  }

  verify(manifest: { readonly id: string }, directory: string): Promise<void> {
    const { place, config } = this.#parts;
    const plugin = this.installed.plugins[manifest.id];
    return verifyInstalled(manifest, directory, { place, plugin, limits: this.#limits, policy: config });
  }

  /**
   * Resolves when the plugin is active. Throws what is wrong with the package or with its place among the others, and PLUGIN_ROLLED_BACK when
   * it does not start.
   */
  install(request: InstallRequest): Promise<Outcome> {
    return this.#serial(async () => {
      const { place, signal } = this.#parts;
      const { withStaged } = await import('./staging.ts');
      const { readCandidate } = await import('./candidate.ts');
      return withStaged(request.source, join(place, '.staging'), this.#limits, signal, async (folder) => {
        const candidate = await readCandidate(folder, request.source, this.#limits);
        const { entry, outcome } = await this.#admit(candidate, request);
        if (request.check) return outcome;
        checkAccepted(outcome, request.accept);
        const { id } = outcome;
        const before = this.installed.plugins[id];
        await this.#files.keep(candidate, entry);
        await this.#write(id, entry);
        const running = await this.#prove(id, entry, before);
        await this.#sweep();
        return running ? { ...outcome, running } : outcome;
      });
    });
  }

  /** Throws PLUGIN_NOT_FOUND, PLUGIN_CONFLICT when others need it. */
  remove(id: string): Promise<InstalledPlugin> {
    return this.#serial(async () => {
      const plugin = this.#find(id);
      const { checkDependents } = await import('./fitness.ts');
      checkDependents(id, 'remove', {}, { running: await this.#parts.manager.list() });
      const { plugins, rolledBack } = this.installed;
      await this.#parts.state.write({ plugins: without(plugins, id), rolledBack: without(rolledBack, id) });
      try {
        await this.#apply();
      } catch (error) {
        await this.#parts.state.write({ plugins, rolledBack });
        throw error;
      }
      await this.#sweep();
      return plugin;
    });
  }

  /**
   * For good, not for this run of the Core. Plugins of the SKU may be meant that do not run now: in safe mode. Throws PLUGIN_CONFLICT for one that
   * the device cannot do without, CHANGE_UNDONE.
   */
  switch(id: string, enabled: boolean): Promise<PluginStatus | undefined> {
    return this.#serial(async () => {
      const { plugins, disabled } = this.installed;
      const plugin = plugins[id];
      if (plugin) await this.#write(id, { ...plugin, enabled });
      else {
        await this.#checkKnown(id);
        if (!enabled) checkDispensable(id, await this.#parts.manager.list());
        const others = disabled.filter((one) => one !== id);
        await this.#parts.state.write({ disabled: enabled ? others : [...others, id] });
      }
      try {
        await this.#apply();
      } catch (error) {
        await this.#parts.state.write({ plugins, disabled });
        throw error;
      }
      const status = await this.#status(id);
      // It may have been disabled for this run only.
      return enabled && status?.state === 'stopped' ? this.#parts.manager.enable(id) : status;
    });
  }

  /** Back to the version before: what ran before one on probation, else the last one that was proven. Throws PLUGIN_NOT_FOUND, PLUGIN_CONFLICT when there is none. */
  back(id: string): Promise<InstalledPlugin> {
    return this.#serial(async () => {
      const plugin = this.#find(id);
      const { enabled, probation } = plugin;
      const former = formerOf(plugin);
      if (!former) throw conflict('roll back', id, 'no other version was kept');
      const proven = { enabled, installedAt: Date.now(), lastGood: versionOf(plugin) };
      const entry = probation ? { ...former, enabled } : { ...former, ...proven };
      await this.#write(id, entry);
      try {
        await this.#apply();
      } catch (error) {
        await this.#write(id, plugin);
        throw error;
      }
      await this.#sweep();
      return entry;
    });
  }

  /** The version has passed its probation, if it is still that one. */
  passed(id: string, installedAt: number): Promise<void> {
    return this.#serial(async () => {
      const plugin = this.installed.plugins[id];
      if (!plugin?.probation || plugin.installedAt !== installedAt) return;
      const { probation: _, former, ...proven } = plugin;
      const { plugins, rolledBack } = this.installed;
      // What ran before is kept for a rollback where nothing proven is.
      const entry = former && !proven.lastGood ? { ...proven, lastGood: versionOf(former) } : proven;
      const newer = (rolledBack[id]?.at ?? 0) >= installedAt;
      await this.#parts.state.write({
        plugins: { ...plugins, [id]: entry },
        rolledBack: newer ? rolledBack : without(rolledBack, id),
      });
      this.#parts.log.info({ plugin: id, version: plugin.version }, 'passed its probation');
    });
  }

  /** The version failed its probation, if it is still that one: what ran before comes back. */
  failed(id: string, installedAt: number, reason: string): Promise<void> {
    return this.#serial(async () => {
      const plugin = this.installed.plugins[id];
      if (plugin?.probation && plugin.installedAt === installedAt) await this.#undo(id, plugin, reason);
    });
  }

  /** Asks everything that can be asked before it runs; resolves with what would be written. */
  async #admit(candidate: Candidate, request: InstallRequest) {
    const { manager, config } = this.#parts;
    const { manifest, tree, folder } = candidate;
    const { id, version, capabilities = [] } = manifest;
    const former = this.installed.plugins[id];
    const isolation = request.isolation ?? former?.isolation ?? 'process';
    const { checkFit } = await import('./fitness.ts');
    const { checkConfig } = await import('./candidate.ts');
    const installed = new Set(Object.keys(this.installed.plugins));
    const { leastIsolation } = config;
    checkFit(manifest, isolation, { running: await manager.list(), installed, leastIsolation });
    const inherited = former?.config ?? this.installed.rolledBack[id]?.config;
    const members = Object.entries({ ...inherited, ...request.config }).filter(([, value]) => value !== null);
    const settings = Object.fromEntries(members);
    checkConfig(manifest, settings);
    const signer = await signerOf(id, folder, tree.hash, config);
    const { beyond, checkUnsigned, claimsOf, digestOf } = await import('./claims.ts');
    const claims = claimsOf(manifest, isolation);
    if (signer === undefined) checkUnsigned(id, claims, config.unsignedIsolation);
    const granted = former && (await this.#manifestOf(id, former));
    const added = beyond(claims, granted && claimsOf(granted, former.isolation));
    const digest = digestOf(id, version, tree.hash, claims);
    const now: InstalledVersion = { version, hash: tree.hash, isolation, config: settings };
    // The same files with another configuration have to prove themselves again; the very same do not.
    const again = former && isDeepStrictEqual(versionOf(former), now) ? former : undefined;
    const next = { ...now, enabled: true, installedAt: Date.now(), probation: { starts: 0 } };
    const ran = former && (await this.#ran(id, former));
    const fresh: InstalledPlugin = ran ? followedBy(ran, next) : next;
    const entry: InstalledPlugin = again ? { ...again, enabled: true } : fresh;
    const state = entry.probation ? 'probation' : 'good';
    const outcome: Outcome = {
      ...{ state: request.check ? 'checked' : state, id, version, hash: tree.hash, isolation, capabilities },
      ...{ claims, digest, added },
      ...(former ? { former: former.version } : {}),
      ...(signer ? { signer } : {}),
    };
    return { entry, outcome };
  }

  /** Of a version that lies here; undefined where it cannot be read, and then nothing counts as granted. */
  async #manifestOf(id: string, version: InstalledVersion): Promise<PluginManifest | undefined> {
    const { readCandidate } = await import('./candidate.ts');
    const folder = join(this.#parts.place, id, versionFolder(version));
    try {
      const { manifest, tree } = await readCandidate(folder, folder, this.#limits);
      return tree.hash === version.hash ? manifest : undefined;
    } catch (thrown) {
      this.#parts.log.warn({ plugin: id, reason: reasonOf(thrown) }, 'cannot tell what was granted before');
      return undefined;
    }
  }

  /** The version that runs, or ran: one on probation that has failed just now is on its way out, and never comes back. */
  async #ran(id: string, plugin: InstalledPlugin): Promise<InstalledPlugin | undefined> {
    if (!plugin.probation || !plugin.enabled) return plugin;
    const state = (await this.#status(id))?.state;
    return state === 'failed' || state === 'quarantined' ? formerOf(plugin) : plugin;
  }

  /** Starts what was written, and resolves with what runs then. Throws PLUGIN_ROLLED_BACK when it does not become active. */
  async #prove(id: string, entry: InstalledPlugin, before: InstalledPlugin | undefined): Promise<Running | undefined> {
    let reason: string;
    try {
      await this.#apply();
      const status = await this.running(id);
      if (status?.state === 'active' || !entry.probation) return status;
      reason = status ? `it is ${status.state}${status.reason ? `: ${status.reason}` : ''}` : 'it does not run';
    } catch (error) {
      if (!entry.probation) {
        if (before) await this.#write(id, before);
        throw error;
      }
      const undone = error instanceof CoreError && error.code === 'CHANGE_UNDONE';
      reason = undone ? String(error.details.reason) : reasonOf(error);
    }
    const outcome = await this.#undo(id, entry, reason);
    const { version } = entry;
    const running = await this.running(id);
    throw new CoreError('PLUGIN_ROLLED_BACK', { plugin: id, version, reason, outcome, ...(running && { running }) });
  }

  async #undo(id: string, plugin: InstalledPlugin, reason: string): Promise<string> {
    const { state, log } = this.#parts;
    const former = formerOf(plugin);
    const { plugins, rolledBack } = state.value;
    const back = former?.probation ? { ...former, probation: { starts: 0 } } : former;
    const failure = failureOf(plugin, former, reason);
    await state.write({ plugins: without(plugins, id, back), rolledBack: { ...rolledBack, [id]: failure } });
    await this.#apply().catch((err) => log.error({ err, plugin: id }, 'cannot apply what was rolled back'));
    const outcome = inItsPlace(former, await this.running(id));
    log.error({ plugin: id, version: plugin.version }, `failed its probation: ${reason}; ${outcome}`);
    await this.#sweep();
    return outcome;
  }

  /** What the kernel runs of it now, whatever was asked for; undefined where it is not in the set. */
  async running(id: string): Promise<Running | undefined> {
    const status = await this.#status(id);
    if (!status) return undefined;
    const { version, state, reason } = status;
    return { version, state, ...(reason === undefined ? {} : { reason }) };
  }

  async #apply(): Promise<void> {
    await this.#parts.manager.apply({ installed: true });
  }

  async #status(id: string): Promise<PluginStatus | undefined> {
    return (await this.#parts.manager.list()).find((one) => one.id === id);
  }

  /** In safe mode plugins of the SKU proper may be meant, whatever they are called. */
  async #checkKnown(id: string): Promise<void> {
    const { isOfTree } = await import('./fitness.ts');
    if (this.#parts.safeMode || isOfTree(id) || this.installed.disabled.includes(id) || (await this.#status(id)))
      return;
    throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
  }

  #find(id: string): InstalledPlugin {
    const plugin = this.installed.plugins[id];
    if (!plugin) throw new CoreError('PLUGIN_NOT_FOUND', { plugin: id });
    return plugin;
  }

  #write(id: string, entry: InstalledPlugin): Promise<void> {
    const { plugins, rolledBack } = this.installed;
    return this.#parts.state.write({ plugins: { ...plugins, [id]: entry }, rolledBack });
  }

  async #sweep(): Promise<void> {
    // What is not in a list that cannot be read is not therefore left over.
    if (this.#parts.state.newer) return;
    try {
      await this.#files.sweep(this.installed);
    } catch (err) {
      this.#parts.log.warn({ err }, 'cannot remove what is left of old plugins');
    }
  }

  #serial<T>(work: () => Promise<T>): Promise<T> {
    if (this.#waiting >= MAX_WAITING)
      return Promise.reject(new CoreError('BUSY', { what: 'a change of plugins', limit: MAX_WAITING }));
    this.#waiting++;
    const run = this.#tail.then(work).finally(() => {
      this.#waiting--;
    });
    this.#tail = run.catch(() => undefined);
    return run;
  }
}

/** Throws CLAIMS_UNACCEPTED with what would be granted. */
function checkAccepted({ id, version, claims, digest, added }: Outcome, accept: string | undefined): void {
  if (added.length === 0 || accept === digest) return;
  const what = added.join(', it ');
  throw new CoreError('CLAIMS_UNACCEPTED', { plugin: id, version, what, digest, claims, added });
}

function versionOf({ version, hash, isolation, config }: InstalledVersion): InstalledVersion {
  return { version, hash, isolation, config };
}

function failureOf(plugin: InstalledPlugin, former: InstalledPlugin | undefined, reason: string): RolledBack {
  const { version, config } = plugin;
  return { version, reason, at: Date.now(), ...(former ? {} : { config }) };
}

/** Says what runs in the place of a version that was rolled back: what the kernel says, not what was meant. */
export function inItsPlace(former: { readonly version: string } | undefined, running: Running | undefined): string {
  if (running?.state === 'active') return `${running.version} runs again`;
  if (running) return `${running.version} is ${running.state}${running.reason ? `: ${running.reason}` : ''}`;
  return former ? `${former.version} is back, but does not run now` : 'it was removed, its settings are kept';
}

/** A copy without this member, or with another value for it. */
function without<T>(members: Readonly<Record<string, T>>, id: string, instead?: T): Readonly<Record<string, T>> {
  const { [id]: _, ...others } = members;
  return instead === undefined ? others : { ...others, [id]: instead };
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
