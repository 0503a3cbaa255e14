import { type Logger, reasonOf, rounds, type Scope } from '@device-core/plugin-api';
import type { AppSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { App } from './app.ts';
import type { Budget, BudgetChange } from './app-budget.ts';
import { ENTRY_BYTES, type FolderSize, folderSize } from './folder-size.ts';

const LOOK_MS = 5_000;
const STORAGE_MS = 300_000;
/** Time that an app with a full store has to make room by itself. */
const GRACE_MS = 60_000;

export interface MeterOptions {
  readonly scope: Scope;
  readonly log: Logger;
  readonly supervisor: AppSupervisor;
  readonly apps: () => readonly App[];
  readonly publish: (event: BudgetChange & { readonly app: string; readonly name: string }) => void;
  /** Policy for an app that keeps more than its budget. */
  readonly storage: 'stop' | 'warn';
}

/** Looks at what apps take, while any runs: one timer for all of them. */
export class AppMeter {
  readonly #options: MeterOptions;
  readonly #begin: () => void;
  /** When its folders were looked at, monotonic; by app. */
  readonly #stored = new WeakMap<App, number>();
  readonly #sizes = new WeakMap<App, Readonly<Record<'storage' | 'cache', FolderSize>>>();
  readonly #graces = new WeakSet<App>();
  /** A look at many files may take long. */
  readonly #walking = new WeakSet<App>();

  constructor(options: MeterOptions) {
    this.#options = options;
    const { scope } = options;
    this.#begin = rounds({ scope, label: 'usage of apps', ms: LOOK_MS, run: () => this.#round() });
  }

  /** An app came into another state. */
  changed(app: App): void {
    if (app.run === undefined) this.#tell(app, app.budget.ended());
    else this.#begin();
  }

  /** Measures the current usage. */
  async look(app: App): Promise<void> {
    const { run } = app;
    if (run === undefined) return;
    const { supervisor, scope } = this.#options;
    try {
      const usage = await supervisor.usage(run);
      if (app.run === run) this.#tell(app, app.budget.measured(run, usage, scope.clock.monotonic()));
    } catch (thrown) {
      // It may have ended meanwhile.
      if (app.run === run)
        this.#options.log.warn({ app: app.manifest.id, reason: reasonOf(thrown) }, 'cannot measure an app');
    }
  }

  async lookAtStorage(app: App): Promise<void> {
    if (this.#walking.has(app)) return;
    this.#walking.add(app);
    try {
      this.#stored.set(app, this.#options.scope.clock.monotonic());
      const [storage, cache] = await Promise.all([folderSize(app.folders.data), folderSize(app.folders.cache)]);
      this.#sizes.set(app, { storage, cache });
      this.#tell(app, app.budget.stored(storage.bytes, cache.bytes));
    } catch (thrown) {
      this.#options.log.warn(
        { app: app.manifest.id, reason: reasonOf(thrown) },
        'cannot measure the folders of an app',
      );
    } finally {
      this.#walking.delete(app);
    }
  }

  #round(): boolean {
    const running = this.#options.apps().filter(({ run }) => run !== undefined);
    const now = this.#options.scope.clock.monotonic();
    for (const app of running) {
      void this.look(app);
      const looked = this.#stored.get(app);
      if (looked === undefined || now - looked >= STORAGE_MS) void this.lookAtStorage(app);
    }
    return running.length > 0;
  }

  #tell(app: App, changes: readonly BudgetChange[]): void {
    const { id, name } = app.manifest;
    for (const change of changes) {
      this.#options.publish({ app: id, name, ...change });
      if (change.state === 'over') this.#over(app, change.budget);
    }
  }

  /** Memory and tasks are the supervisor's to keep, and the time of the processor where it can; a full store is stopped here. */
  #over(app: App, budget: Budget): void {
    if (budget !== 'storage' && budget !== 'cache') return;
    if (this.#options.storage === 'warn' || this.#graces.has(app)) return;
    this.#graces.add(app);
    this.#options.scope.timeout(`storage of ${app.manifest.id}`, GRACE_MS, async () => {
      this.#graces.delete(app);
      await this.lookAtStorage(app);
      const over = (['storage', 'cache'] as const).find((one) => app.budget.isOver(one));
      if (over === undefined || app.run === undefined) return;
      const use = app.budget.uses().find((one) => one.budget === over);
      await app.fail(
        `it keeps ${use?.used} MB in its ${over === 'cache' ? 'cache' : 'data'} folder${manyFiles(this.#sizes.get(app)?.[over])}, and its budget is ${use?.limit} MB; make room, then start it`,
      );
    });
  }
}

/** Other tools show a smaller sum for many small files. */
function manyFiles(size: FolderSize | undefined): string {
  if (size === undefined || size.entries * ENTRY_BYTES * 2 < size.bytes) return '';
  return ` (${size.entries}${size.more ? ' or more' : ''} files and folders, each of which counts as ${ENTRY_BYTES >> 10} KiB at least)`;
}
