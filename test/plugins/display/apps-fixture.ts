/** Apps that only say what they are told, before plugin display. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Caller, CoreError } from '@device-core/plugin-api';
import { appSockets } from '@device-core/plugin-api/inside/services/app-sockets';
import { type AppStatus, apps } from '@device-core/plugin-api/services/apps';
import { given, OPERATOR } from '@device-core/plugin-api/testing';
import { type Bench, boot } from './fixture.ts';

export const AGENDA = 'com.example.agenda';
export const RADIO = 'com.example.radio';

export class FakeApps {
  readonly #listeners = new Set<(status: AppStatus) => void>();
  readonly states = new Map<string, AppStatus['state']>([
    [AGENDA, 'running'],
    [RADIO, 'running'],
  ]);
  /** Folder of every package. */
  folder = '';
  /** Files that were looked for. */
  read = 0;

  async status(id: string): Promise<AppStatus> {
    const state = this.states.get(id);
    if (state === undefined) throw new CoreError('APP_NOT_FOUND', { app: id });
    const title = id === AGENDA ? 'Agenda' : 'Radio';
    return {
      id,
      name: title.toLowerCase(),
      version: '1.0.0',
      title,
      state,
      since: 0,
      restarts: 0,
      capabilities: [],
      denied: [],
      leftOut: [],
    };
  }

  async file(_app: string, path: string): Promise<Uint8Array> {
    this.read += 1;
    try {
      return await readFile(join(this.folder, path));
    } catch {
      throw new CoreError('PARAMS_INVALID', { where: path, reason: 'there is no such file in the package' });
    }
  }

  onChange(listener: (status: AppStatus) => void): Disposable {
    this.#listeners.add(listener);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async become(id: string, state: AppStatus['state']): Promise<void> {
    this.states.set(id, state);
    const status = await this.status(id);
    for (const listener of this.#listeners) listener(status);
  }
}

export interface AppBench extends Bench {
  readonly apps: FakeApps;
  /** What apps were told: `agenda display.surface foreground`. */
  readonly told: string[];
  readonly inputs: { readonly app: string; readonly params: object }[];
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  run(who: string, name: string, params?: object): Promise<any>;
  /** Texts of banners that were asked for, and those that were taken back. */
  readonly banners: readonly string[];
}

export function callerOf(who: string): Caller {
  return who === 'operator' ? OPERATOR : { kind: 'app', id: who };
}

export async function bootApps(options: Parameters<typeof boot>[0] = {}): Promise<AppBench> {
  const fake = new FakeApps();
  const told: string[] = [];
  const inputs: { app: string; params: object }[] = [];
  const rights = ['display.surface', 'display.notify'];
  const bench = await boot({
    ...options,
    grants: { [`app.${AGENDA}`]: rights, [`app.${RADIO}`]: rights, ...options.grants },
    services: [
      given(apps, {
        status: (id) => fake.status(id),
        file: (app, path) => fake.file(app, path),
        onChange: (listener) => fake.onChange(listener),
      }),
      given(appSockets, {
        async notify(app, method, params) {
          const { state = '' } = params as { readonly state?: string };
          if (method === 'display.input') inputs.push({ app, params });
          else told.push(`${app.split('.').at(-1)} ${method} ${state}`.trim());
          return 1;
        },
      }),
      ...(options.services ?? []),
    ],
  });
  return {
    ...bench,
    apps: fake,
    told,
    inputs,
    run: (who, name, params = {}) => bench.table.run(name, params, { caller: callerOf(who) }),
    get banners() {
      return bench.host.published
        .filter(({ topic }) => topic === 'ui.banner')
        .map(({ payload }) => {
          const { action, text = '' } = payload as { readonly action: string; readonly text?: string };
          return `${action} ${text}`.trim();
        });
    },
    [Symbol.asyncDispose]: () => bench[Symbol.asyncDispose](),
  };
}
