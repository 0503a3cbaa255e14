/** The events plugin on a host of its own, with a table that collects its operations, and sessions that remember what they were told. */
import { setImmediate as turn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { CoreError, type EventEnvelope, type Session } from '@device-core/plugin-api';
import { type AppSockets, appSockets, type ReadyMessage } from '@device-core/plugin-api/inside/services/app-sockets';
import { type EventBus, eventBus } from '@device-core/plugin-api/inside/services/event-bus';
import { type AppManifest, type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { type DeviceInfo, device } from '@device-core/plugin-api/services/device';
import { operations } from '@device-core/plugin-api/services/operations';
import {
  createTestHost,
  type GivenService,
  given,
  type TestHost,
  TestOperations,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/interface/events/index.ts';

export const MANIFEST = fileURLToPath(new URL('../../../manifests/plugins/interface/events.yaml', import.meta.url));
export const AGENDA = 'com.example.agenda';

export interface Fixture extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: TestOperations;
  /** Everything in flight is delivered. */
  settle(): Promise<void>;
  greet(session: Session): Promise<ReadyMessage>;
}

export async function startEvents(
  options: {
    readonly config?: object;
    readonly grants?: readonly string[];
    readonly filters?: readonly string[];
    /** `events.public` of other apps, by their ids. May be changed; say so by `opened`. */
    readonly publics?: Record<string, readonly string[]>;
    readonly opened?: Set<(status: AppStatus) => void>;
    /** What is open when the plugin starts. */
    readonly sessions?: readonly Session[];
    readonly device?: DeviceInfo;
    readonly bus?: EventBus;
  } = {},
): Promise<Fixture> {
  const table = new TestOperations();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config: options.config ?? {},
    services: [
      [operations, table],
      appsWith(options.filters ?? [], options.publics, options.opened, options.grants),
      [appSockets, socketsWith(options.sessions ?? [])],
      ...(options.device ? [[device, { info: async () => options.device }] as const] : []),
      ...(options.bus ? [[eventBus, options.bus] as const] : []),
    ],
    grants: { [`app.${AGENDA}`]: options.grants ?? [] },
  });
  const greet = (session: Session) => host.hook('session.open').promise(bareReady(session), session);
  return { host, table, settle: host.settle, greet, [Symbol.asyncDispose]: () => host[Symbol.asyncDispose]() };
}

/** For parts that a test holds in its hands. */
export async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await turn();
}

export function bareReady(session: Session): ReadyMessage {
  const core = { version: '1.0.0', api: '1.0.0' };
  return { session: session.id, app: session.app, core, capabilities: [], subscriptions: [], limits: {}, snapshot: {} };
}

/** Only what the plugin uses of the apps service. */
export function appsWith(
  subscribe: readonly string[],
  publics: Record<string, readonly string[]> = {},
  listeners = new Set<(status: AppStatus) => void>(),
  capabilities: readonly string[] = [],
): GivenService {
  const manifest = async (app: string): Promise<AppManifest> => {
    const open = publics[app];
    if (app !== AGENDA && !open) throw new CoreError('APP_NOT_FOUND', { app });
    return { id: app, events: app === AGENDA ? { subscribe } : { public: open } } as unknown as AppManifest;
  };
  const onChange = (listener: (status: AppStatus) => void) => {
    listeners.add(listener);
    return { [Symbol.dispose]: () => void listeners.delete(listener) };
  };
  const status = async (app: string) => {
    if (app !== AGENDA && app !== 'agenda') throw new CoreError('APP_NOT_FOUND', { app });
    return { id: AGENDA, name: 'agenda', capabilities } as unknown as AppStatus;
  };
  const list = async () => [AGENDA, ...Object.keys(publics)].map((id) => ({ id }) as AppStatus);
  return given(apps, { manifest, status, list, onChange });
}

/** Only what the plugin uses of the app sockets. */
function socketsWith(sessions: readonly Session[]): AppSockets {
  return {
    sessions: async () => sessions.map(({ id, app }) => ({ id, app, since: 0 })),
    session: async (id: string) => sessions.find((one) => one.id === id),
  } as unknown as AppSockets;
}

export class FakeSession implements Session {
  readonly id: string;
  readonly app: string;
  readonly received: EventEnvelope[] = [];
  /** While set, the session takes no more than what it has in hand. */
  blocked: Promise<void> | undefined;
  readonly #controller = new AbortController();

  constructor(id = 's1', app = AGENDA) {
    this.id = id;
    this.app = app;
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get topics(): readonly string[] {
    return this.received.map(({ topic }) => topic);
  }

  async notify(_method: string, params: object): Promise<void> {
    if (this.signal.aborted) throw new CoreError('SESSION_CLOSED', { app: this.app, reason: 'the test closed it' });
    this.received.push(params as EventEnvelope);
    await this.blocked;
  }

  close(): void {
    this.#controller.abort();
  }
}
