import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { type IncomingHttpHeaders, request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Clock } from '@device-core/plugin-api';
import type { Refusal } from '@device-core/plugin-api/inside/services/grants';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import { type Identity, identity } from '@device-core/plugin-api/inside/services/identity';
import { type Sessions, sessions } from '@device-core/plugin-api/inside/services/sessions';
import { type Operation, type Operations, operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, type TestHost } from '@device-core/plugin-api/testing';
import { plugin as httpPlugin } from '../../../plugins/interface/http/index.ts';
import { plugin as identityPlugin } from '../../../plugins/interface/identity/index.ts';
import { plugin as operationsPlugin } from '../../../plugins/interface/operations/index.ts';

const manifest = (id: string) =>
  fileURLToPath(new URL(`../../../manifests/plugins/interface/${id}.yaml`, import.meta.url));

export const FLASH = 'com.example.flash';
export const PLAIN = 'com.example.plain';

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: whatever the server said
  readonly body: any;
}

export interface AskOptions {
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly token?: string;
  /** Sent as JSON; a string or bytes as they are. */
  readonly body?: unknown;
  readonly unix?: boolean;
}

export interface Front extends AsyncDisposable {
  readonly host: TestHost;
  readonly table: Operations;
  readonly identity: Identity;
  readonly sessions: Sessions;
  /** Of TCP; 0 without. */
  readonly port: number;
  readonly socket: string;
  readonly operatorToken: string;
  /** What the capability checker refused, newest first. */
  refusals(): Promise<readonly Refusal[]>;
  /** Resolves when a change of the table has reached the front end. */
  settle(): Promise<void>;
  ask(path: string, options?: AskOptions): Promise<Answer>;
  /** Sends bytes over TCP (or the Unix socket) and resolves with all that came back until the end. */
  raw(bytes: string | Buffer, options?: { unix?: boolean; half?: boolean }): Promise<string>;
}

/** The real operations, identity and http, each in a host of its own. */
export async function startFront(
  rows: readonly Operation<never, unknown>[] = [],
  config: object = {},
  clock?: Clock,
): Promise<Front> {
  const gate = await createTestHost(operationsPlugin, {
    manifest: manifest('operations'),
    grants: { [`app.${FLASH}`]: ['bridges.spi:flash'] },
  });
  const who = await createTestHost(identityPlugin, { manifest: manifest('identity') });
  const table = gate.service(operations);
  for (const row of rows) table.add(row);
  const host = await createTestHost(httpPlugin, {
    manifest: manifest('http'),
    config: { port: 0, ...config },
    ...(clock && { clock }),
    services: [
      [operations, table],
      [identity, who.service(identity)],
      [sessions, who.service(sessions)],
    ],
  }).catch(async (thrown: unknown) => {
    await Promise.all([who.stop(), gate.stop()]);
    throw thrown;
  });
  const addresses = await host.service(httpServer).addresses();
  const tcp = addresses.find((address) => address.startsWith('http'));
  const port = tcp === undefined ? 0 : Number(new URL(tcp).port);
  const socket = addresses.find((address) => address.startsWith('unix:'))!.slice('unix:'.length);

  return {
    host,
    table,
    identity: who.service(identity),
    sessions: who.service(sessions),
    port,
    socket,
    operatorToken: readFileSync(join(who.device.paths.run, 'operator.token'), 'utf8').trim(),
    refusals: () => gate.grants.refusals(),
    async settle() {
      await gate.settle();
      await host.settle();
    },
    ask: (path, options = {}) =>
      ask(options.unix ? { socketPath: socket } : { host: '127.0.0.1', port }, path, options),
    raw: async (bytes, { unix = false, half = false } = {}) => {
      const connection = unix ? connect(socket) : connect(port, '127.0.0.1');
      let text = '';
      connection.setEncoding('utf8').on('data', (chunk) => {
        text += chunk;
      });
      connection.on('error', () => undefined); // a reset is an end, too
      await once(connection, 'connect');
      connection.write(bytes);
      if (half) connection.end();
      await once(connection, 'close');
      return text;
    },
    async [Symbol.asyncDispose]() {
      await host.stop();
      await who.stop();
      await gate.stop();
    },
  };
}

async function ask(target: object, path: string, options: AskOptions): Promise<Answer> {
  const { method = options.body === undefined ? 'GET' : 'POST', token, body } = options;
  const headers = {
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(token ? { authorization: `Bearer ${token}` } : {}),
    ...options.headers,
  };
  const sent = request({ ...target, path, method, headers, agent: false });
  sent.end(body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body));
  const [response] = await once(sent, 'response');
  let text = '';
  for await (const chunk of response.setEncoding('utf8')) text += chunk;
  const json = String(response.headers['content-type']).startsWith('application/json') && text !== '';
  return { status: response.statusCode, headers: response.headers, text, body: json ? JSON.parse(text) : undefined };
}
