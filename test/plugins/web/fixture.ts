/** Plugin web with the real sessions and table of operations, and questions that the test answers. */
import type { Caller } from '@device-core/plugin-api';
import {
  httpServer,
  type PageAnswer,
  type PageRequest,
  type PageSockets,
} from '@device-core/plugin-api/inside/services/http-server';
import { identity } from '@device-core/plugin-api/inside/services/identity';
import { type Sessions, type SignedIn, sessions } from '@device-core/plugin-api/inside/services/sessions';
import { display } from '@device-core/plugin-api/services/display';
import { type Operation, operations } from '@device-core/plugin-api/services/operations';
import { type PromptOutcome, type PromptQuestion, prompts } from '@device-core/plugin-api/services/prompts';
import {
  createTestHost,
  given,
  type TestHost,
  TestOperations,
  type VirtualClock,
  virtualClock,
} from '@device-core/plugin-api/testing';
import { plugin as identityPlugin } from '../../../plugins/interface/identity/index.ts';
import { plugin } from '../../../plugins/interface/web/index.ts';

const manifest = (id: string) => new URL(`../../../manifests/plugins/interface/${id}.yaml`, import.meta.url).pathname;

export interface Asked extends PromptQuestion {
  answer(state: PromptOutcome['state'], allow?: readonly string[]): void;
}

export interface Page {
  readonly caller: Caller & { readonly signedIn: NonNullable<Caller['signedIn']> };
  readonly session: SignedIn;
  readonly token: string;
  /** As the front end makes it of the header. */
  with(confirmation: string): Caller;
}

export interface Bench extends AsyncDisposable {
  readonly host: TestHost;
  readonly clock: VirtualClock;
  readonly table: TestOperations;
  readonly sessions: Sessions;
  /** Questions that stand on the panel. */
  readonly asked: readonly Asked[];
  readonly sockets: PageSockets;
  readonly file: (request: PageRequest) => Promise<PageAnswer>;
  /** Rejects where the token is not one of this device. */
  who(token: string): Promise<Caller>;
  signIn(role?: 'viewer' | 'operator', name?: string): Promise<Page>;
  // biome-ignore lint/suspicious/noExplicitAny: the shape is what is tested
  run(name: string, params?: object, caller?: Caller, signal?: AbortSignal): Promise<any>;
}

/** `panel`: the device has one. `rows`: operations of others. */
export async function boot({ panel = true, rows = [] as readonly Operation<never, unknown>[] } = {}): Promise<Bench> {
  const clock = virtualClock({ turns: 3 });
  const who = await createTestHost(identityPlugin, { manifest: manifest('identity'), clock });
  const real = who.service(sessions);
  const table = new TestOperations();
  const asked: Asked[] = [];
  let sockets: PageSockets | undefined;
  let file: Bench['file'] | undefined;
  const gone = (question: Asked) => {
    const place = asked.indexOf(question);
    if (place >= 0) asked.splice(place, 1);
  };
  const host = await createTestHost(plugin, {
    manifest: manifest('web'),
    clock,
    services: [
      [operations, table],
      [sessions, real],
      [
        httpServer,
        {
          addresses: async () => ['http://127.0.0.1:55280', 'unix:/run/core.sock'],
          mount: (_: string, handler: Bench['file']) => {
            file = handler;
            return { [Symbol.dispose]: () => undefined };
          },
          upgrade: (_: string, __: string, given: PageSockets) => {
            sockets = given;
            return { [Symbol.dispose]: () => undefined };
          },
        },
      ],
      given(prompts, {
        ask: (question) =>
          new Promise<PromptOutcome>((resolve) => {
            const one: Asked = {
              ...question,
              answer: (state, allow = []) => {
                gone(one);
                resolve({ state, allow, at: 0 });
              },
            };
            asked.push(one);
          }),
        list: async () => [],
        withdraw: async (subject) => {
          for (const one of [...asked]) if (one.subject === subject) one.answer('withdrawn');
        },
      }),
      ...(panel ? [given(display, {})] : []),
    ],
  });
  for (const row of rows) table.add(row);
  return {
    host,
    clock,
    table,
    asked,
    sessions: real,
    get sockets() {
      return sockets!;
    },
    get file() {
      return file!;
    },
    who: (token) => who.service(identity).authenticate({ transport: 'tcp', token }),
    async signIn(role = 'operator', name = 'Firefox on Linux') {
      const { token, session } = await real.open((await real.invite(role)).code, name);
      const caller = (await who.service(identity).authenticate({ transport: 'tcp', token })) as Page['caller'];
      const withIt = (confirmation: string) => ({ ...caller, signedIn: { ...caller.signedIn, confirmation } });
      return { caller, session, token, with: withIt };
    },
    run: (name, params = {}, caller = { kind: 'operator', id: 'operator' }, signal = new AbortController().signal) =>
      table.run(name, params, { caller, signal }),
    async [Symbol.asyncDispose]() {
      await host.stop();
      await who.stop();
    },
  };
}

/** What the operation was run with, and one that a page may not run on its own word. */
export function sensitive(): { readonly done: object[]; readonly row: Operation<never, unknown> } {
  const done: object[] = [];
  const row: Operation<{ readonly id: string }, object> = {
    name: 'test.remove',
    summary: 'remove it',
    sensitive: { act: 'remove {id}', unless: { check: true } },
    params: {
      type: 'object',
      required: ['id'],
      properties: { id: { type: 'string' }, check: { type: 'boolean' }, more: { type: 'object' } },
    },
    result: { type: 'object' },
    rest: { method: 'POST', path: '/test/remove' },
    errors: [],
    run: async (params) => {
      done.push(params);
      return {};
    },
  };
  return { done, row: row as unknown as Operation<never, unknown> };
}
