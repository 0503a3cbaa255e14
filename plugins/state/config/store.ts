/** Three layers and who sees what (decisions D7): app overrides over device state over system defaults. */
import { mkdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { CoreError, maybe, reasonOf } from '@device-core/plugin-api';
import type {
  Config,
  ConfigChange,
  ConfigEntry,
  ConfigLayer,
  ConfigScope,
} from '@device-core/plugin-api/services/config';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import { AppFiles, CONFIG_FILE } from './app-files.ts';
import { expectRevision } from './conflict.ts';
import { Folder } from './folder.ts';
import { checkApp, checkKey, freezeCopy, isBelow, valueFault } from './keys.ts';
import { asLayer, below, type Layer, type Layered, type LayerValue, type Placed } from './layers.ts';
import { LOCKS_FILE, lockedError, whereOf } from './locks.ts';
import { LocksFile } from './locks-file.ts';
import { type AppDescription, type DeviceChecks, Schemas } from './schemas.ts';
import { type Held, Revisions, StateFile, type View } from './state-file.ts';
import { Watches } from './watches.ts';

export interface StoreOptions extends DeviceChecks {
  readonly paths: DeviceInfo['paths'];
  readonly maxKeys: number;
  readonly maxBytes: number;
  /** True for a key of the device with a hidden value. */
  readonly hides?: (key: string) => boolean;
  /** An override of an app was changed, for views of all settings. */
  readonly onOverride?: (app: string, key: string, revision: number) => void;
}

export class ConfigStore implements Config {
  readonly #options: StoreOptions;
  readonly #defaults: Folder;
  readonly #deviceFolder: Folder;
  readonly #apps: AppFiles;
  readonly schemas: Schemas;
  readonly #shared: Layer = {
    get: (key) => this.schemas.device.default(key),
    keys: () => this.schemas.device.keys(),
  };
  readonly #watches: Watches;
  readonly #revisions = new Revisions();
  #device!: StateFile;
  readonly #locks: LocksFile;
  #loaded = false;

  constructor(options: StoreOptions) {
    this.#options = options;
    const { paths, problems, log } = options;
    this.#defaults = new Folder(paths.etc, { skip: [LOCKS_FILE], revisions: 'none', problems, log });
    this.#deviceFolder = new Folder(paths.var, { skip: [CONFIG_FILE], revisions: 'time', problems, log });
    this.#locks = new LocksFile(join(paths.etc, LOCKS_FILE), problems, log);
    this.#watches = new Watches((app, key) => this.#effective(app, key), log);
    this.schemas = new Schemas(options);
    this.#apps = new AppFiles(
      join(paths.var, 'apps'),
      (path, app) => this.#open(path, app),
      (app, file) => {
        // Overrides that came with an app which was installed while running are news.
        if (this.#loaded) this.#watches.changed([...file.keys()], 'app', app);
      },
    );
  }

  /** Reads everything, the overrides of every installed app included, so that no revision is ever given out twice. */
  async load(): Promise<void> {
    const { paths, problems, log } = this.#options;
    await mkdir(paths.var, { recursive: true });
    await this.#locks.load();
    await this.#defaults.load();
    await this.#deviceFolder.load();
    this.#device = await this.#open(join(paths.var, CONFIG_FILE), undefined);
    for (const app of await this.#apps.installed()) {
      try {
        await this.#apps.open(app);
      } catch (error) {
        const file = this.#apps.pathOf(app);
        problems.fault(file, 'STATE_CORRUPT', `cannot read ${file}: ${reasonOf(error)}`);
        log.error({ app, err: error }, 'cannot read the overrides of an app');
      }
    }
    this.#loaded = true;
  }

  async get(scope: ConfigScope, key: string): Promise<ConfigEntry> {
    checkKey(key);
    const app = await this.#scoped(scope);
    const entry = this.#effective(app, key);
    if (!entry) throw new CoreError('CONFIG_KEY_NOT_FOUND', { key });
    return entry;
  }

  async list(scope: ConfigScope, prefix?: string): Promise<readonly ConfigEntry[]> {
    if (prefix !== undefined) checkKey(prefix);
    const app = await this.#scoped(scope);
    const keys = new Set<string>();
    for (const { layer } of this.#layers(app)) for (const key of layer.keys()) keys.add(key);
    const wanted = [...keys].filter((key) => prefix === undefined || isBelow(key, prefix)).toSorted();
    return wanted.map((key) => this.#effective(app, key)).filter((entry) => entry !== undefined);
  }

  async set(
    scope: ConfigScope,
    key: string,
    value: unknown,
    options: { readonly by: string; readonly ifRevision?: number },
  ): Promise<ConfigEntry> {
    checkKey(key);
    const app = await this.#scoped(scope);
    const reason = valueFault(value) ?? (value === null ? undefined : this.schemas.fault(app, key, value));
    if (reason)
      throw new CoreError('CONFIG_VALUE_INVALID', { key, reason, pointer: this.schemas.place(app, key, value) });
    const file = app === undefined ? this.#device : await this.#apps.open(app);
    const source: ConfigLayer = app === undefined ? 'device' : 'app';
    return file.set(
      key,
      value === null ? null : freezeCopy(value),
      options.by,
      (view) => {
        const lock = this.#locks.find(key);
        if (lock) throw lockedError(key, lock);
        // Earlier writes of the same batch count, though they are not visible yet.
        const now = this.#effective(app, key, view);
        expectRevision(key, options.ifRevision, { now, given: value, hidden: () => this.#hides(app, key) });
      },
      (revision) =>
        this.#effective(app, key) ?? { key, value: null, source, revision, setBy: options.by, setAt: Date.now() },
    );
  }

  /** Removes one key from the layer that a scope writes; the others stay. Resolves with its former value. Throws as `set`. */
  async reset(
    { app }: ConfigScope,
    key: string,
    { by, ifRevision }: { readonly by: string; readonly ifRevision?: number },
  ): Promise<Held | undefined> {
    checkKey(key);
    const file = app === undefined ? this.#device : await this.#apps.open(app);
    let former: Held | undefined;
    const guard = (view: View): void => {
      const lock = this.#locks.find(key);
      if (lock) throw lockedError(key, lock);
      former = view.get(key);
      expectRevision(key, ifRevision, { now: former, given: null, hidden: () => this.#hides(app, key) });
    };
    return file.set(key, null, by, guard, () => former);
  }

  /** Values of a key in every layer, the highest first, and the layer in force. */
  layersOf(app: string | undefined, key: string): Layered {
    const lock = this.#locks.find(key);
    const own = app === undefined ? this.#device : this.#apps.opened.get(app);
    const refuses = this.schemas.isMisfit(app, key);
    const layers = this.#layers(app).flatMap(({ layer, source, builtIn }): LayerValue[] => {
      const held = layer.get(key);
      if (!held) return [];
      const { value } = held;
      const refused = source === 'app' && refuses;
      const misfit = refused ? this.schemas.fault(app, key, value) : this.schemas.device.fault(key, value);
      const writable = layer === own || layer === this.#device;
      return [{ ...held, source: builtIn ? 'builtin' : source, writable, ...maybe({ misfit }) }];
    });
    const winner = layers.findIndex(
      ({ source, misfit }) =>
        misfit === undefined && (lock === undefined || source === 'default' || source === 'builtin'),
    );
    return { layers, winner, ...maybe({ lock }) };
  }

  /** Keys that a scope has itself: of an app what it describes, has as default or overrides; of the device what its own layers hold. */
  ownKeys(app: string | undefined): readonly string[] {
    const keys = new Set<string>();
    for (const { layer, source, builtIn } of this.#layers(app))
      if (app === undefined || source === 'app' || builtIn === 'app') for (const key of layer.keys()) keys.add(key);
    return [...keys];
  }

  /** Every app that has a description or a file of overrides, sorted. */
  appIds(): readonly string[] {
    return [...new Set([...this.schemas.apps(), ...this.#apps.opened.keys()])].toSorted();
  }

  watch(scope: ConfigScope, listener: (change: ConfigChange) => void): Disposable {
    return this.#watches.add(scope.app, listener);
  }

  async describeApp(app: string, described: AppDescription): Promise<void> {
    checkApp(app);
    const refused = this.schemas.describeApp(app, described);
    this.schemas.check(app, await this.#apps.open(app));
    if (refused !== undefined) throw refused;
  }

  async describe(prefix: string, keys: Parameters<Config['describe']>[1]): Promise<Disposable> {
    const { problems, log } = this.#options;
    const token = this.#redescribe(() => this.schemas.device.set(prefix, keys));
    for (const [app, file] of this.#apps.opened) this.schemas.check(app, file, below(file, prefix));
    for (const layer of [this.#device, this.#deviceFolder, this.#defaults])
      for (const key of below(layer, prefix)) {
        const reason = this.schemas.device.fault(key, layer.get(key)?.value);
        if (reason === undefined) continue;
        const message = `${layer.path} sets ${key}, which is ignored: ${reason}`;
        problems.note(message);
        log.warn({ key }, message);
      }
    return { [Symbol.dispose]: () => this.#redescribe(() => this.schemas.device.delete(prefix, token)) };
  }

  /** Reports the values of the device that another description changes. */
  #redescribe<T>(change: () => T): T {
    const seen = () => new Map(this.schemas.device.keys().map((key) => [key, this.#effective(undefined, key)?.value]));
    const former = seen();
    const made = change();
    const now = seen();
    const keys = [...new Set([...former.keys(), ...now.keys()])];
    const changed = keys.filter((key) => former.has(key) !== now.has(key) || former.get(key) !== now.get(key));
    this.#watches.changed(changed, 'default', undefined);
    return made;
  }

  /** Nothing is kept in journals after it. */
  async close(): Promise<void> {
    await Promise.all([this.#device, ...this.#apps.opened.values()].map((file) => file.close()));
  }

  /** Is there an app of this id, as far as the configuration can tell? */
  async knows(app: string): Promise<boolean> {
    checkApp(app);
    if (this.schemas.ofApp(app)) return true;
    return this.#apps.has(app);
  }

  /** A file changed on disk, by whomever. */
  async reload(path: string): Promise<void> {
    const { paths } = this.#options;
    const folder = dirname(path);
    if (folder === paths.etc) {
      await this.#locks.load();
      this.#watches.changed(await this.#defaults.load(), 'default', undefined);
    } else if (path === join(paths.var, CONFIG_FILE)) {
      await this.#device.reload();
    } else if (folder === paths.var) {
      this.#watches.changed(await this.#deviceFolder.load(), 'device', undefined);
    } else if (basename(path) === CONFIG_FILE) {
      await (await this.#apps.open(basename(folder))).reload();
    }
  }

  /** Reloads all files once, for changes from before the watches. */
  async reloadAll(): Promise<void> {
    await this.#locks.load();
    this.#watches.changed(await this.#defaults.load(), 'default', undefined);
    this.#watches.changed(await this.#deviceFolder.load(), 'device', undefined);
    await this.#device.reload();
    for (const file of this.#apps.opened.values()) await file.reload();
  }

  async #scoped(scope: ConfigScope): Promise<string | undefined> {
    if (scope.app === undefined) return undefined;
    if (!this.#apps.opened.has(scope.app)) await this.#apps.open(scope.app);
    return scope.app;
  }

  #layers(app: string | undefined): Placed[] {
    const layers: Placed[] = [
      { layer: this.#device, source: 'device' },
      { layer: this.#deviceFolder, source: 'device' },
      { layer: this.#defaults, source: 'default' },
      { layer: this.#shared, source: 'default', builtIn: 'shared' },
    ];
    if (app === undefined) return layers;
    const overrides = this.#apps.opened.get(app);
    if (overrides) layers.unshift({ layer: overrides, source: 'app' });
    const defaults = this.schemas.ofApp(app)?.defaults;
    if (defaults) layers.push({ layer: asLayer(defaults), source: 'default', builtIn: 'app' });
    return layers;
  }

  /** `own` is what the file of this scope will hold after changes that are under way. */
  #effective(app: string | undefined, key: string, own?: View): ConfigEntry | undefined {
    const locked = this.#locks.find(key) !== undefined;
    const file = app === undefined ? this.#device : this.#apps.opened.get(app);
    for (const { layer, source } of this.#layers(app)) {
      if (locked && source !== 'default') continue;
      // Plugins' configuration is hidden from apps.
      if (app !== undefined && source === 'device' && isBelow(key, 'plugins')) continue;
      const held = (own && layer === file ? own : layer).get(key);
      if (!held) continue;
      const misfit = source === 'app' && this.schemas.isMisfit(app, key);
      if (misfit && held.revision === layer.get(key)?.revision) continue;
      const { value, ...origin } = held;
      if (this.schemas.device.fault(key, value) !== undefined) continue;
      return { key, value, source, ...origin };
    }
    return undefined;
  }

  #hides(app: string | undefined, key: string): boolean {
    return this.schemas.isSecret(app, key) || this.#options.hides?.(key) === true;
  }

  async #open(path: string, app: string | undefined): Promise<StateFile> {
    const { problems, log, maxKeys, maxBytes } = this.#options;
    const file = await StateFile.open(path, {
      revisions: this.#revisions,
      problems,
      log,
      maxKeys,
      maxBytes,
      refuse: (key, value) => {
        const lock = this.#locks.find(key);
        return lock ? `${key} is locked by the OEM (${whereOf(lock)})` : this.schemas.fault(app, key, value);
      },
      onChange: (keys) => {
        if (app !== undefined && this.schemas.hasMisfits(app)) this.schemas.check(app, file, keys);
        this.#watches.changed(keys, app === undefined ? 'device' : 'app', app);
        if (app === undefined) return;
        for (const key of keys) this.#options.onOverride?.(app, key, file.get(key)?.revision ?? 0);
      },
    });
    return file;
  }
}
