/** Plugin notify before a screen in memory, with apps that hear what they are told. */
import assert from 'node:assert/strict';
import type { Caller, Isolation } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { display, type Notification, notifications } from '@device-core/plugin-api/services/display';
import { operations } from '@device-core/plugin-api/services/operations';
import { type Prompt, prompts } from '@device-core/plugin-api/services/prompts';
import { voice } from '@device-core/plugin-api/services/voice';
import {
  createTestHost,
  given,
  OPERATOR,
  type TestHost,
  TestOperations,
  type VirtualClock,
} from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/notify/index.ts';
import { FakeDisplay } from '../../fixtures/fake-display.ts';

export const MANIFEST = 'manifests/plugins/display/notify.yaml';
export const AGENDA = 'com.example.agenda';
export const EAR = 'com.example.ear';
const TITLES: Readonly<Record<string, string>> = { [AGENDA]: 'Agenda', [EAR]: 'Ear' };

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly screen: FakeDisplay;
  /** What apps were told: `[app, method, params]`. */
  readonly told: (readonly [app: string, method: string, params: object])[];
  /** Questions that are open; say `prompt.state` after a change. */
  readonly questions: Prompt[];
  publish(app: string | undefined, topic: 'ui.toast' | 'ui.banner', payload: object): void;
  appState(app: string, state: AppStatus['state']): void;
  list(): Promise<readonly Notification[]>;
  run(name: string, params?: object, caller?: Caller): Promise<Record<string, unknown>>;
}

export async function boot(
  options: { readonly clock?: VirtualClock; readonly config?: object; readonly isolation?: Isolation } = {},
): Promise<Bench> {
  const screen = new FakeDisplay();
  const table = new TestOperations();
  const told: (readonly [string, string, object])[] = [];
  const questions: Prompt[] = [];
  const listening = new Set<(status: AppStatus) => void>();
  const status = (id: string, state: AppStatus['state'] = 'running') =>
    ({ id, name: id, title: TITLES[id], state }) as AppStatus;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    services: [
      [operations, table],
      [display, screen.service],
      given(apps, {
        list: async () => Object.keys(TITLES).map((id) => status(id)),
        onChange(listener) {
          const own = (one: AppStatus) => listener(one);
          listening.add(own);
          return { [Symbol.dispose]: () => void listening.delete(own) };
        },
      }),
      given(appSockets, {
        notify: async (app, method, params) => told.push([app, method, params]),
      }),
      given(prompts, { list: async () => questions }),
      given(voice, { state: async () => ({ state: 'idle' as const }) }),
    ],
    ...options,
  });
  return {
    host,
    screen,
    told,
    questions,
    publish: (app, topic, payload) =>
      void host.publish(topic, payload, 'normal', app === undefined ? 'core' : `app.${app}`),
    appState(app, state) {
      for (const listener of [...listening]) listener(status(app, state));
    },
    list: () => host.service(notifications).list(),
    run: (name, params = {}, caller = OPERATOR) => table.run(name, params, { caller }),
    async [Symbol.asyncDispose]() {
      await host.stop();
      assert.deepEqual(host.leaks(), []);
      assert.equal(options.clock?.pending ?? 0, 0);
    },
  };
}
