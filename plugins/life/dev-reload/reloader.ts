/** Watches the folders of plugins: save, and what runs apart runs the new code. */
import { afterQuiet, type PluginHost, reasonOf } from '@device-core/plugin-api';
import type { PluginManager, PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { type FSWatcher, watch } from 'chokidar';

/** Not code, or not that of the plugin: its tests, and the device to try it on, which the composer follows. */
const FOREIGN =
  /(^|\/)(node_modules|\.git|dist|test|tests)(\/|$)|(^|\/)sku\.yaml$|\.test\.[cm]?[jt]s$|(\.md|~|\.sw[a-z]|\.tmp)$/;
/** Somebody else stops or starts it just now, with the new code. */
const ON_THE_WAY: ReadonlySet<string> = new Set(['stopping', 'starting']);

type Watched = Pick<PluginStatus, 'isolation'> & { readonly directory: string; readonly watcher: FSWatcher };

export class Reloader {
  readonly #manager: PluginManager;
  readonly #host: PluginHost<{ readonly quietMs: number }>;
  readonly #watched = new Map<string, Watched>();
  /** A save is many events, and a change many saves. */
  readonly #saved: (id: string) => void;
  readonly #stale = new Set<string>();

  constructor(manager: PluginManager, host: PluginHost<{ readonly quietMs: number }>) {
    this.#manager = manager;
    this.#host = host;
    this.#saved = afterQuiet({
      scope: host.scope,
      label: (id) => `reload ${id}`,
      ms: host.config.quietMs,
      run: (id) => this.#reload(id),
    });
    host.scope.defer('watches of plugin folders', async () => {
      await Promise.all([...this.#watched.keys()].map((id) => this.#forget(id)));
    });
  }

  /** Plugins of this process whose files are newer than what runs. */
  get stale(): readonly string[] {
    return [...this.#stale].sort();
  }

  get watched(): readonly string[] {
    return [...this.#watched.keys()].sort();
  }

  /** Takes the set of plugins as it is now. */
  async follow(): Promise<void> {
    const list = await this.#manager.list();
    const wanted = new Map(list.filter(({ id }) => id !== this.#host.id).map((one) => [one.id, one]));
    for (const [id, { directory, isolation }] of this.#watched) {
      const now = wanted.get(id);
      if (now?.directory !== directory || now.isolation !== isolation) await this.#forget(id);
    }
    if (this.#host.scope.signal.aborted) return;
    for (const { id, directory, isolation } of wanted.values())
      if (directory !== undefined && !this.#watched.has(id)) this.#watch(id, directory, isolation);
  }

  #watch(id: string, directory: string, isolation: Watched['isolation']): void {
    const inside = (path: string) => path.slice(directory.length);
    const watcher = watch(directory, { ignoreInitial: true, ignored: (path) => FOREIGN.test(inside(path)) });
    this.#watched.set(id, { directory, isolation, watcher });
    watcher.on('all', (event) => {
      if (event !== 'addDir' && event !== 'unlinkDir') this.#saved(id);
    });
    watcher.on('error', (thrown) =>
      this.#host.log.warn({ plugin: id, reason: reasonOf(thrown) }, 'cannot watch the folder of a plugin'),
    );
  }

  async #reload(id: string): Promise<void> {
    const { log } = this.#host;
    const isolation = this.#watched.get(id)?.isolation;
    if (isolation === undefined) return;
    if (isolation === 'inline') {
      // A module that was imported stays: running setup() again would run the old code.
      if (!this.#stale.has(id))
        log.warn({ reloads: id }, `${id} changed on disk: restart the Core to run the new code`);
      this.#stale.add(id);
      return;
    }
    log.info({ reloads: id }, `${id} changed on disk and restarts`);
    const { state, reason } = await this.#manager.restart(id);
    if (state !== 'active' && !ON_THE_WAY.has(state))
      log.warn({ reloads: id, state, reason }, `${id} does not run after the change`);
  }

  async #forget(id: string): Promise<void> {
    const one = this.#watched.get(id);
    this.#watched.delete(id);
    this.#stale.delete(id);
    await one?.watcher.close();
  }
}
