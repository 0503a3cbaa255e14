import { join } from 'node:path';
import { CoreError } from '@device-core/plugin-api';
import {
  type AppCall,
  type AppSockets,
  appSockets,
  type SessionInfo,
} from '@device-core/plugin-api/inside/services/app-sockets';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import type { FunctionEntry } from '@device-core/plugin-api/services/functions';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost, TestOperations } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/functions/index.ts';

export const MANIFEST = join(import.meta.dirname, '../../../manifests/plugins/interface/functions.yaml');

type SessionEvent = SessionInfo & { readonly state: 'open' | 'closed' };
type Answer = (call: AppCall) => unknown;

/** App sockets without sockets: each app answers by a function, and its sessions open and close at the test's word. */
export class FakeSockets implements AppSockets {
  readonly calls: (AppCall & { readonly app: string })[] = [];
  readonly answers = new Map<string, Answer>();
  readonly #sessions = new Map<string, SessionInfo>();
  readonly #listeners = new Set<(event: SessionEvent) => void>();
  #count = 0;

  join(app: string, answer: Answer): string {
    this.#count += 1;
    const session = { id: `s${this.#count}`, app, since: Date.now() };
    this.#sessions.set(session.id, session);
    this.answers.set(app, answer);
    for (const listener of this.#listeners) listener({ ...session, state: 'open' });
    return session.id;
  }

  leave(id: string): void {
    const session = this.#sessions.get(id)!;
    this.#sessions.delete(id);
    for (const listener of this.#listeners) listener({ ...session, state: 'closed' });
  }

  async call(app: string, call: AppCall): Promise<unknown> {
    if (![...this.#sessions.values()].some((session) => session.app === app)) {
      throw new CoreError('APP_NOT_RUNNING', { app, reason: 'it has no session' });
    }
    this.calls.push({ app, ...call });
    return this.answers.get(app)!(call);
  }

  async session(): Promise<undefined> {
    return undefined;
  }

  async sessions(): Promise<readonly SessionInfo[]> {
    return [...this.#sessions.values()];
  }

  onSession(listener: (event: SessionEvent) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  async open(): Promise<never> {
    throw new Error('not part of this test');
  }

  async close(): Promise<void> {
    throw new Error('not part of this test');
  }

  async path(): Promise<never> {
    throw new Error('not part of this test');
  }

  async notify(): Promise<number> {
    return 0;
  }
}

export interface Started extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  readonly sockets: FakeSockets;
}

export async function start(
  options: {
    readonly grants?: Readonly<Record<string, readonly string[]>>;
    readonly config?: object;
    readonly device?: DeviceInfo;
    readonly sockets?: FakeSockets | null;
  } = {},
): Promise<Started> {
  const table = new TestOperations();
  const sockets = options.sockets ?? new FakeSockets();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    services: [
      [operations, table],
      ...(options.sockets === null ? [] : [[appSockets, sockets] as const]),
      ...(options.device ? [[device, { info: async () => options.device }] as const] : []),
    ],
    ...(options.grants && { grants: options.grants }),
    ...(options.config && { config: options.config }),
  });
  return {
    host,
    table,
    sockets,
    async [Symbol.asyncDispose]() {
      await host.stop();
      if (host.leaks().length > 0) throw new Error(`leaks: ${host.leaks().join(', ')}`);
      if (sockets.listeners > 0) throw new Error('a session listener was left');
    },
  };
}

export const agenda: FunctionEntry = {
  name: 'agenda.today',
  version: '1.0.0',
  inputs: { day: 'string', limit: 'int?' },
  returns: { summary: 'string', count: 'int?' },
};
