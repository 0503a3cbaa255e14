/** The app-store in a host of its own, with apps that run or crash as their titles say. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import { type AppStore, appStore } from '@device-core/plugin-api/inside/services/app-store';
import { changes } from '@device-core/plugin-api/inside/services/changes';
import { type Consent, type Consents, consents } from '@device-core/plugin-api/inside/services/consents';
import {
  type AppManifest,
  type AppState,
  type AppStatus,
  type Apps,
  apps,
} from '@device-core/plugin-api/services/apps';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import type { ActSubject } from '@device-core/plugin-api/services/prompts';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/apps/app-store/index.ts';
import { AppManifestReader } from '../../../plugins/apps/apps/app-manifest.ts';
import { InstantChanges } from '../../fixtures/changes.ts';
import { StoreCalls } from '../../fixtures/store-calls.ts';

interface FakeApp {
  readonly manifest: AppManifest;
  readonly folder: string;
  state: AppState;
  reason?: string;
  health?: NonNullable<AppStatus['health']>;
}

/**
 * Runs what the store lists without running it. What is said of an app's data when it starts lands in `started`. A title of `never` is not ready, one of
 * `crash` crashes when its probation begins, one of `sick` says that its health is an error.
 */
export class FakeApps implements Apps {
  readonly started: string[] = [];
  readonly running = new Map<string, FakeApp>();
  store: AppStore | undefined;
  /** Called when one starts, with its manifest. */
  onStart: (app: AppManifest) => void = () => undefined;
  readonly #listeners = new Set<(status: AppStatus) => void>();
  readonly #reader = AppManifestReader.load('9.0.0');

  async inspect(folder: string): Promise<AppManifest> {
    return (await (await this.#reader).read(join(folder, 'app.yaml'))).manifest;
  }

  file(): Promise<Uint8Array> {
    return Promise.reject(new Error('nobody shows anything here'));
  }

  async refresh(): Promise<void> {
    const { apps: stored = [] } = (await this.store?.list()) ?? {};
    const now = new Map(stored.map((one) => [one.id, one]));
    for (const [id, app] of this.running) if (now.get(id)?.folder !== app.folder) this.running.delete(id);
    for (const { id, folder } of stored) {
      if (this.running.has(id)) continue;
      this.running.set(id, { manifest: await this.inspect(folder), folder, state: 'stopped' });
    }
  }

  async list(): Promise<readonly AppStatus[]> {
    return [...this.running.values()].map(statusOf);
  }

  async status(id: string): Promise<AppStatus> {
    return statusOf(this.#find(id));
  }

  async manifest(id: string): Promise<AppManifest> {
    return this.#find(id).manifest;
  }

  async start(id: string): Promise<AppStatus> {
    const app = this.#find(id);
    this.started.push(`${id} ${app.manifest.version}`);
    this.onStart(app.manifest);
    const never = app.manifest.title === 'never';
    this.#enter(app, never ? 'backoff' : 'running');
    if (never) app.reason = 'it was not ready after 10000 ms';
    if (app.manifest.title === 'sick') app.health = { status: 'error', message: 'it hurts', at: 0 };
    if (app.manifest.title === 'crash') setImmediate(() => this.#enter(app, 'backoff'));
    return statusOf(app);
  }

  async stop(id: string): Promise<AppStatus> {
    const app = this.#find(id);
    this.#enter(app, 'stopped');
    return statusOf(app);
  }

  async restart(id: string): Promise<AppStatus> {
    return this.start(id);
  }

  borrow(_app: string, work: () => Promise<void>): Promise<void> {
    return work();
  }

  onChange(listener: (status: AppStatus) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  #enter(app: FakeApp, state: AppState): void {
    app.state = state;
    for (const listener of this.#listeners) listener(statusOf(app));
  }

  #find(id: string): FakeApp {
    const app = this.running.get(id);
    if (!app) throw new CoreError('APP_NOT_FOUND', { app: id });
    return app;
  }
}

function statusOf({ manifest, state, reason, health }: FakeApp): AppStatus {
  const { id, name, version, title } = manifest;
  const rest = { since: 0, restarts: 0, capabilities: [], denied: [], leftOut: [] };
  return { id, name, version, title, state, ...rest, ...(reason ? { reason } : {}), ...(health ? { health } : {}) };
}

export class FakeConsents implements Partial<Consents> {
  readonly kept = new Map<string, readonly Consent[]>();
  /** Called when answers are kept. */
  onKeep: () => void = () => undefined;

  async of(app: string): Promise<readonly Consent[]> {
    return this.kept.get(app) ?? [];
  }

  async keep(app: string, answers: readonly Consent[]): Promise<void> {
    this.onKeep();
    this.kept.set(app, [...(this.kept.get(app) ?? []), ...answers]);
  }

  async replace(app: string, answers: readonly Consent[]): Promise<void> {
    this.kept.set(app, answers);
  }

  async forget(app: string): Promise<void> {
    this.kept.delete(app);
  }

  async policy() {
    return { normal: 'auto', sensitive: 'ask', oem: 'deny' } as const;
  }

  onChange(): Disposable {
    return { [Symbol.dispose]: () => undefined };
  }
}

export interface StoreBench extends AsyncDisposable {
  readonly host: TestHost;
  readonly apps: FakeApps;
  readonly store: AppStore;
  readonly consents: FakeConsents;
  readonly changes: InstantChanges;
  /** `<var>`. */
  readonly state: string;
  readonly place: string;
  call(name: string, params?: object): Promise<Record<string, unknown>>;
  install(source: string, more?: object): Promise<Record<string, unknown>>;
  /** What the person who confirms the act is shown. */
  about(name: string, params: object): Promise<ActSubject | undefined>;
}

export interface BenchOptions {
  readonly config?: object;
  /** A folder that holds `var`, of an earlier bench. */
  readonly root?: string;
  readonly grants?: Readonly<Record<string, readonly string[]>>;
  readonly changes?: InstantChanges;
}

export async function startStore({
  config,
  root,
  grants = {},
  changes: kept = new InstantChanges(),
}: BenchOptions = {}) {
  const calls = new StoreCalls(kept);
  const fake = new FakeApps();
  const asked = new FakeConsents();
  const paths = root && { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  if (paths) mkdirSync(paths.var, { recursive: true });
  const info = {
    service: 'device',
    sku: { id: 't', title: 'T', simulated: true },
    grants,
    ...(paths ? { paths } : {}),
  };
  const host: TestHost = await createTestHost(plugin, {
    manifest: 'manifests/plugins/apps/app-store.yaml',
    config: { probationMs: 20, ...config },
    services: [
      [apps, fake],
      [changes, kept],
      [consents, asked as Consents],
      ...(paths ? [[device, { info: async () => info as never as DeviceInfo }] as const] : []),
    ],
  });
  const state = paths ? paths.var : host.device.paths.var;
  const store = host.service(appStore) as AppStore;
  fake.store = store;
  await fake.refresh();
  await host.appear(operations, calls as never);
  const bench: StoreBench = {
    host,
    apps: fake,
    store,
    consents: asked,
    changes: kept,
    state,
    place: join(state, 'app-store'),
    call: calls.call,
    about: (name, params) => calls.about(name, params),
    install: (source, more = {}) => calls.call('apps.install', { source, ...more }),
    async [Symbol.asyncDispose]() {
      await host.stop();
    },
  };
  return bench;
}
