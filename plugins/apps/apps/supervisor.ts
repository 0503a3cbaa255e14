import { CoreError, type EventEnvelope, maybe } from '@device-core/plugin-api';
import type { SessionInfo } from '@device-core/plugin-api/inside/services/app-sockets';
import type { AppManifest, AppStatus, Apps } from '@device-core/plugin-api/services/apps';
import { App } from './app.ts';
import type { BadApp, Catalog, FoundApp } from './app-catalog.ts';
import type { AppContext } from './app-context.ts';
import { packageFile } from './package-file.ts';
import { startInOrder } from './start-order.ts';

/** Payload of `app.state`. */
export type AppStateEvent = Pick<AppStatus, 'name' | 'state'> & {
  readonly app: string;
  readonly reason?: string;
};

export interface SupervisorOptions {
  readonly context: AppContext;
  /** `said` is the reason with the line that the app wrote: for the log, not for everybody. */
  readonly publish: (event: AppStateEvent, said: string | undefined) => EventEnvelope | void;
  readonly listenerFailed: (thrown: unknown) => void;
  /** Reads and checks the manifest of a folder. */
  readonly inspect: (folder: string) => Promise<AppManifest>;
  /** Looks for apps anew. */
  readonly refresh: () => Promise<void>;
}

/** All apps of the device. */
export class Supervisor implements Apps {
  readonly #options: SupervisorOptions;
  readonly #apps = new Map<string, { readonly app: App; readonly text: string }>();
  readonly #listeners = new Set<(status: AppStatus) => void>();
  #bad: readonly BadApp[] = [];
  #regranting: Promise<void> = Promise.resolve();

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  get bad(): readonly BadApp[] {
    return this.#bad;
  }

  all(): readonly App[] {
    return [...this.#apps.values()].map(({ app }) => app);
  }

  async list(): Promise<readonly AppStatus[]> {
    return [...this.all().map((app) => app.status()), ...this.#bad.map(statusOfBad)].toSorted((a, b) =>
      a.id.localeCompare(b.id),
    );
  }

  async status(app: string): Promise<AppStatus> {
    const found = this.#lookUp(app);
    if (found) return found.status();
    const bad = this.#bad.find(({ id }) => id === app);
    if (bad) return statusOfBad(bad);
    throw new CoreError('APP_NOT_FOUND', { app });
  }

  async manifest(app: string): Promise<App['manifest']> {
    return this.find(app).manifest;
  }

  async file(app: string, path: string, limit: number): Promise<Uint8Array> {
    return await packageFile(this.find(app).folder, path, limit);
  }

  inspect(folder: string): Promise<AppManifest> {
    return this.#options.inspect(folder);
  }

  refresh(): Promise<void> {
    return this.#options.refresh();
  }

  async start(app: string): Promise<AppStatus> {
    const found = this.find(app);
    this.#checkOn(found.manifest.id);
    await found.start();
    return this.#standing(found);
  }

  async stop(app: string): Promise<AppStatus> {
    const found = this.find(app);
    await found.stop('it was stopped');
    return found.status();
  }

  async restart(app: string): Promise<AppStatus> {
    const found = this.find(app);
    this.#checkOn(found.manifest.id);
    await found.restart('it is restarted');
    return this.#standing(found);
  }

  /** Status after a run has shown that it stands; of the app that came in its place, where its manifest changed meanwhile. */
  async #standing(app: App): Promise<AppStatus> {
    await app.stands();
    return (this.#apps.get(app.manifest.id)?.app ?? app).status();
  }

  borrow(app: string, work: () => Promise<void>): Promise<void> {
    const { appSupervisor } = this.#options.context;
    const lent = () => appSupervisor.release(app).then(work);
    const found = this.#apps.get(app)?.app;
    return found ? found.still('its data are looked at; it comes back', lent) : lent();
  }

  /** Throws APP_CONFLICT for an app that is switched off. */
  #checkOn(app: string): void {
    if (!this.#options.context.stored.isOff(app)) return;
    const reason = `it is switched off; "devicectl app enable ${app}" switches it on`;
    throw new CoreError('APP_CONFLICT', { verb: 'start', app, reason });
  }

  onChange(listener: (status: AppStatus) => void): Disposable {
    const entry = (status: AppStatus) => listener(status);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  /** By id or by name. Throws APP_NOT_FOUND, and for an app that cannot be used the reason of that. */
  find(app: string): App {
    const found = this.#lookUp(app);
    if (found) return found;
    const bad = this.#bad.find(({ id }) => id === app);
    throw bad?.error ?? new CoreError('APP_NOT_FOUND', { app });
  }

  session(event: SessionInfo & { readonly state: 'open' | 'closed' }): void {
    const app = this.#apps.get(event.app)?.app;
    if (event.state === 'open') app?.sessions.opened(event.id);
    else app?.sessions.closed(event.id);
  }

  /**
   * Takes what is there now: apps that went are stopped, those whose manifest changed begin anew, new ones start as
   * their manifest says.
   */
  async adopt(catalog: Catalog, startNew: boolean): Promise<void> {
    this.#tellBad(catalog.bad);
    const found = new Map(catalog.apps.map((app) => [app.manifest.id, app]));
    const again = new Set<string>();
    const going: Promise<void>[] = [];
    for (const [id, { app, text }] of this.#apps) {
      const now = found.get(id);
      if (now && now.text === text && now.folder === app.folder) {
        this.#complain(app, now.complaint);
        continue;
      }
      // An update releases a quarantine, too.
      if (now && (app.active || app.state === 'quarantined' || app.state === 'failed')) again.add(id);
      // Known until it has stopped: nobody may take a name whose processes still run.
      if (!now) this.#options.context.consents.withdraw(id);
      const stopped = app.stop(now ? changeOf(app, text, now) : 'its folder is gone');
      going.push(
        stopped.then(() => {
          this.#apps.delete(id);
          // Its last state was told while it was still in the list: a listener that asks for the list now sees that it went.
          if (!now) this.#tell(app.status());
        }),
      );
    }
    await Promise.all(going);
    const fresh = catalog.apps.filter(({ manifest }) => !this.#apps.has(manifest.id));
    for (const entry of fresh) this.#add(entry);
    const starting = fresh.filter(
      ({ manifest }) => again.has(manifest.id) || (startNew && manifest.lifecycle?.autostart !== false),
    );
    await this.#startAll(starting.map(({ manifest }) => manifest.id));
  }

  /**
   * Something else is granted now, to one app or to all: those that this means anything to lose what they lost at once
   * and start again with the rest. One after the other: who comes second waits for what the first began.
   */
  regrant(id?: string): Promise<void> {
    const turn = this.#regranting.then(() => this.#regrant(id));
    this.#regranting = turn.catch(() => undefined); // told to whoever asked
    return turn;
  }

  async #regrant(id: string | undefined): Promise<void> {
    const { consents } = this.#options.context;
    const apps = this.all().filter(({ manifest }) => id === undefined || manifest.id === id);
    await Promise.all(apps.map(({ manifest }) => consents.look(manifest.id)));
    const changed = apps.filter((app) => app.decideAgain());
    await Promise.all(changed.flatMap((app) => [app.grants.narrow(), app.stop('its grants changed')]));
    await this.#startAll(changed.map(({ manifest }) => manifest.id));
  }

  async autostart(): Promise<void> {
    await this.#startAll(
      this.all()
        .filter((app) => app.manifest.lifecycle?.autostart !== false && app.state === 'stopped')
        .map((app) => app.manifest.id),
    );
  }

  async stopAll(reason: string): Promise<void> {
    await Promise.all(this.all().map((app) => app.stop(reason)));
  }

  /** A few at a time: each start is a burst of work, and each has a time limit. In the order of `lifecycle.after`. */
  async #startAll(ids: readonly string[]): Promise<void> {
    const { stored, config } = this.#options.context;
    const wanted = ids.filter((id) => !stored.isOff(id));
    const after = new Map(wanted.map((id) => [id, this.#apps.get(id)?.app.manifest.lifecycle?.after ?? []]));
    await startInOrder(after, config.parallelStarts, async (id) => this.#apps.get(id)?.app.start());
  }

  #add({ manifest, folder, text, complaint }: FoundApp): void {
    const app = new App(manifest, folder, this.#options.context, (changed) => this.#changed(changed));
    this.#apps.set(manifest.id, { app, text });
    this.#complain(app, complaint);
    if (app.state === 'quarantined') this.#changed(app);
    else this.#tell(app.status());
    void app.describe();
  }

  #complain(app: App, complaint: CoreError | undefined): void {
    if (!app.complain(complaint)) return;
    const { id } = app.manifest;
    const { log } = this.#options.context;
    if (complaint)
      log.error(
        { app: id, folder: app.folder, code: complaint.code },
        `${complaint.message}; app ${id} goes on with its last good manifest`,
      );
    else log.info({ app: id }, `the manifest of app ${id} is in order again`);
  }

  #tellBad(bad: readonly BadApp[]): void {
    for (const { folder, error } of bad)
      if (!this.#bad.some((known) => known.folder === folder && known.error.message === error.message))
        this.#options.context.log.error({ folder, code: error.code }, `an app cannot be used: ${error.message}`);
    const former = this.#bad;
    this.#bad = bad;
    const differ = (one: readonly BadApp[], other: readonly BadApp[]) =>
      one.filter(({ id }) => !this.#apps.has(id) && !other.some((known) => known.id === id));
    for (const one of [...differ(bad, former), ...differ(former, bad)]) this.#tell(statusOfBad(one));
  }

  #changed(app: App): void {
    const status = app.status();
    const { id, name, state } = status;
    const { reason } = app;
    const { complaint } = status;
    const event = {
      app: id,
      name,
      state,
      ...maybe({ reason, complaint, crash: app.crashPlace }),
    };
    this.#options.publish(event, status.reason);
    this.#tell(status);
  }

  #tell(status: AppStatus): void {
    for (const listener of this.#listeners) {
      try {
        listener(status);
      } catch (thrown) {
        this.#options.listenerFailed(thrown);
      }
    }
  }

  #lookUp(app: string): App | undefined {
    return this.#apps.get(app)?.app ?? this.all().find(({ manifest }) => manifest.name === app);
  }
}

/** Each save of a trial lies in a folder by its hash, with the same manifest or another one. */
function changeOf(app: App, text: string, now: FoundApp): string {
  if (now.text !== text) return 'its manifest changed';
  return now.folder === app.folder ? 'it is looked at anew' : 'its files changed';
}

function statusOfBad({ id, error }: BadApp): AppStatus {
  return {
    id,
    name: '',
    version: '',
    title: '',
    state: 'failed',
    reason: error.toWire(),
    since: 0,
    restarts: 0,
    capabilities: [],
    denied: [],
    leftOut: [],
  };
}
