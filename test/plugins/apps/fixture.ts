import { once } from 'node:events';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type CallContext, type Caller, CoreError } from '@device-core/plugin-api';
import {
  type AppCall,
  type AppSockets,
  appSockets,
  type SessionInfo,
} from '@device-core/plugin-api/inside/services/app-sockets';
import { type AppSupervisor, appSupervisor } from '@device-core/plugin-api/inside/services/app-supervisor';
import { type Identity, identity } from '@device-core/plugin-api/inside/services/identity';
import { type AppManifest, type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import type { FunctionLeftOut, FunctionSpecification, Functions } from '@device-core/plugin-api/services/functions';
import { type Operation, type Operations, operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/apps/apps/index.ts';
import { plugin as supervisorProcess } from '../../../plugins/apps/supervisor-process/index.ts';
import { eventually } from '../../fixtures/eventually.ts';

const MANIFESTS = new URL('../../../manifests/plugins/apps/', import.meta.url).pathname;

/** Connects as an app does, and stays until it is told to go. */
export const CONNECT = `
  require('node:net').connect(process.env.DEVICE_RPC_SOCKET).on('error', () => process.exit(9)).resume();
`;

/** It keeps files. */
export const KEEPS = { id: 'storage-scoped', reason: 'it keeps files' } as const;

export function manifestOf(id: string, more: Partial<AppManifest> & Record<string, unknown> = {}): AppManifest {
  const name = id.split('.').at(-1) ?? id;
  return {
    manifestVersion: 1,
    id,
    name,
    version: '1.0.0',
    title: name,
    exec: { command: 'node', args: ['main.cjs'] },
    capabilities: [],
    ...more,
  };
}

/** The folder appears in one step, as an installer makes it. JSON is YAML. */
export async function putApp(
  parent: string,
  manifest: AppManifest,
  script = CONNECT,
  files: Readonly<Record<string, string>> = {},
): Promise<string> {
  const folder = join(parent, manifest.id);
  await mkdir(folder, { recursive: true });
  for (const [name, text] of Object.entries({ 'main.cjs': script, ...files })) {
    await writeFile(join(folder, name), text);
    chmodSync(join(folder, name), 0o755);
  }
  await writeFile(join(folder, '.app.yaml'), JSON.stringify(manifest, null, 2));
  await rename(join(folder, '.app.yaml'), join(folder, 'app.yaml'));
  return folder;
}

/** Sockets that only count connections; `journal` tells the order of what happened. */
export class FakeSockets implements AppSockets {
  readonly journal: string[];
  readonly #servers = new Map<
    string,
    { readonly server: Server; readonly sockets: Set<Socket>; readonly path: string }
  >();
  readonly #listeners = new Set<(event: SessionInfo & { readonly state: 'open' | 'closed' }) => void>();
  readonly #run: string;
  #count = 0;

  constructor(run: string, journal: string[]) {
    this.#run = run;
    this.journal = journal;
  }

  async open({ id, name }: { readonly id: string; readonly name: string }): Promise<{ readonly path: string }> {
    const known = this.#servers.get(id);
    if (known) return { path: known.path };
    this.journal.push(`socket.open ${id}`);
    const path = join(this.#run, 'apps', name, 'rpc.sock');
    mkdirSync(dirname(path), { recursive: true });
    const sockets = new Set<Socket>();
    const server = createServer((socket) => {
      const session = { id: `s${++this.#count}`, app: id, since: Date.now() };
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => {
        sockets.delete(socket);
        for (const listener of this.#listeners) listener({ ...session, state: 'closed' });
      });
      socket.resume();
      for (const listener of this.#listeners) listener({ ...session, state: 'open' });
    });
    await once(server.listen(path), 'listening');
    this.#servers.set(id, { server, sockets, path });
    return { path };
  }

  async close(app: string): Promise<void> {
    const entry = this.#servers.get(app);
    if (!entry) throw new CoreError('APP_NOT_FOUND', { app });
    this.journal.push(`socket.close ${app}`);
    this.#servers.delete(app);
    this.cut(entry.sockets);
    entry.server.close();
  }

  drop(app: string): void {
    this.cut(this.#servers.get(app)?.sockets ?? new Set());
  }

  onSession(listener: (event: SessionInfo & { readonly state: 'open' | 'closed' }) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async path(app: string): Promise<string> {
    return this.#servers.get(app)?.path ?? '';
  }

  async session(): Promise<undefined> {
    return undefined;
  }

  async sessions(): Promise<readonly SessionInfo[]> {
    return [];
  }

  /** Calls into apps, and what the apps answer. */
  readonly asked: AppCall[] = [];
  answer: (call: AppCall) => Promise<unknown> = async () => ({});

  async call(_app: string, call: AppCall): Promise<unknown> {
    this.asked.push(call);
    const { promise, reject } = Promise.withResolvers<never>();
    const cancelled = () => reject(new CoreError('CANCELLED', { what: call.method, reason: 'the caller withdrew it' }));
    call.signal?.addEventListener('abort', cancelled, { once: true });
    promise.catch(() => undefined);
    return Promise.race([promise, this.answer(call)]);
  }

  async notify(): Promise<number> {
    return 0;
  }

  private cut(sockets: ReadonlySet<Socket>): void {
    for (const socket of sockets) socket.destroy();
  }
}

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly journal: string[];
  readonly sockets: FakeSockets;
  readonly installed: string;
  readonly paths: DeviceInfo['paths'];
  readonly specifications: FunctionSpecification[];
  readonly functions: Functions;
  /** What the registry of functions leaves out from now on. */
  refuse(...functions: readonly FunctionLeftOut[]): void;
  readonly apps: TestApps;
  operation(name: string): Operation<unknown, Record<string, unknown>>;
  status(app: string): Promise<AppStatus>;
  /** The SKU grants this from now on. */
  allow(allowed: DeviceInfo['grants']): void;
  /** Resolves with the status once the app is in one of the states. */
  reach(app: string, ...states: AppStatus['state'][]): Promise<AppStatus>;
}

type TestApps = NonNullable<typeof apps.T>;

export interface BenchOptions {
  readonly config?: { readonly logBytes?: number } & Readonly<Record<string, unknown>>;
  readonly allowed?: DeviceInfo['grants'];
  readonly grants?: Readonly<Record<string, readonly string[]>>;
  /** The state of an earlier bench; it is left where it is. A new one of its own, if absent. */
  readonly root?: string;
  /** Names the run of the Core. */
  readonly startedAt?: number;
  /** Fills `<var>/apps` before the plugin starts. */
  readonly prepare?: (installed: string, paths: DeviceInfo['paths']) => Promise<unknown>;
  /** Asked before the supervisor stops a guest; it throws where that cannot be done. */
  readonly stopping?: () => void;
}

/** A pause after a crash that lasts until somebody has looked. */
export const LONG_BACKOFF = { crash: { backoffMs: [1_000, 1_000], limit: 3, windowMs: 60_000 } };

/** The plugin over fakes of its neighbours, and real processes below it. */
export async function startBench(options: BenchOptions = {}): Promise<Bench> {
  const root = options.root ?? mkdtempSync(join(tmpdir(), 'apps-'));
  const paths = { etc: join(root, 'etc'), var: join(root, 'var'), run: join(root, 'run') };
  const installed = join(paths.var, 'apps');
  mkdirSync(installed, { recursive: true });
  await options.prepare?.(installed, paths);
  const journal: string[] = [];
  const sockets = new FakeSockets(paths.run, journal);
  const table = new Map<string, Operation>();
  let info: DeviceInfo = {
    service: 'device',
    sku: { id: 'test', title: 'Test', simulated: true },
    core: { version: '1.0.0', api: '1.0.0' },
    auth: 'token',
    paths,
    startedAt: options.startedAt ?? Date.now(),
    grants: options.allowed ?? {},
  };
  let issued = 0;
  const fakeIdentity: Partial<Identity> = {
    async issue(app) {
      journal.push(`identity.issue ${app}`);
      return `token-${++issued}-of-${app}`;
    },
    async revoke(app) {
      journal.push(`identity.revoke ${app}`);
    },
    async launched({ app }) {
      journal.push(`identity.launched ${app}`);
    },
  };
  const specifications: FunctionSpecification[] = [];
  const refused: FunctionLeftOut[] = [];
  const listeners = new Set<() => void>();
  const functions: Partial<Functions> = {
    async offer(specification) {
      specifications.push(specification);
      return { registered: [], leftOut: await this.leftOut!() };
    },
    async leftOut() {
      return refused;
    },
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    async unregister(app) {
      journal.push(`functions.unregister ${app}`);
      return 0;
    },
  };
  const fakeOperations: Partial<Operations> = {
    add(operation) {
      table.set(operation.name, operation as unknown as Operation);
      return { [Symbol.dispose]: () => void table.delete(operation.name) };
    },
  };
  const { logBytes, ...appsConfig } = options.config ?? {};
  const below = await createTestHost(supervisorProcess, {
    manifest: join(MANIFESTS, 'supervisor-process.yaml'),
    config: logBytes === undefined ? {} : { logBytes },
    services: [
      [device, { info: async () => info }],
      [identity, fakeIdentity],
    ],
  });
  const host = await createTestHost(plugin, {
    manifest: join(MANIFESTS, 'apps.yaml'),
    config: { insecure: true, crash: { backoffMs: [20, 40], limit: 3, windowMs: 60_000 }, ...appsConfig },
    services: [
      [device, { info: async () => info }],
      [identity, fakeIdentity],
      [appSupervisor, asked(below.service(appSupervisor)!, options.stopping)],
      [appSockets, sockets],
      [operations, fakeOperations],
    ],
    ...(options.grants ? { grants: options.grants } : {}),
  });
  const service = host.service(apps) as TestApps;
  return {
    host,
    journal,
    sockets,
    installed,
    paths,
    specifications,
    refuse(...functions) {
      refused.splice(0, refused.length, ...functions);
      for (const listener of listeners) listener();
    },
    functions: functions as Functions,
    apps: service,
    operation: (name) => (table.get(name) ?? fail(name)) as Operation<unknown, Record<string, unknown>>,
    status: (app) => service.status(app),
    allow(allowed) {
      info = { ...info, grants: allowed };
      host.publish('plugin.changed', { result: 'applied', device: true });
    },
    reach: (app, ...states) =>
      eventually(
        async () => {
          const status = await service.status(app).catch(() => undefined);
          return status && states.includes(status.state) ? status : undefined;
        },
        `${app} ${states.join(' or ')}`,
      ),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await below.stop();
      if (options.root === undefined) rmSync(root, { recursive: true, force: true });
    },
  };
}

function asked(supervisor: AppSupervisor, stopping: BenchOptions['stopping']): AppSupervisor {
  if (!stopping) return supervisor;
  const stop: AppSupervisor['stop'] = async (run, graceMs) => {
    stopping();
    return supervisor.stop(run, graceMs);
  };
  const get = (_: object, name: string | symbol) => {
    const member: unknown = name === 'stop' ? stop : Reflect.get(supervisor, name);
    return typeof member === 'function' ? member.bind(supervisor) : member;
  };
  return new Proxy<AppSupervisor>({} as AppSupervisor, { get });
}

export { eventually };

export function alive(pid: number): boolean {
  if (!existsSync(`/proc/${pid}/stat`)) return false;
  return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
}

/** Processes of the machine whose home this is: walls have namespaces, in which they are counted anew. */
export function processesAt(home: string): readonly number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => {
      if (!(pid > 0) || !alive(pid)) return false;
      try {
        return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(`HOME=${home}`);
      } catch {
        return false; // it has just ended
      }
    });
}

/** A call as the gate would make it. */
export function callAs(caller: Caller): CallContext {
  const quiet = () => undefined;
  const log = { debug: quiet, info: quiet, warn: quiet, error: quiet };
  return { caller, signal: new AbortController().signal, deadline: Date.now() + 10_000, log };
}

function fail(name: string): never {
  throw new Error(`there is no operation ${name}`);
}
