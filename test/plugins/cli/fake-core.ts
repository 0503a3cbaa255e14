import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { treePrograms } from '../../../plugins/interface/cli/program/programs.ts';

export interface Seen {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
  readonly contentType: string | undefined;
  readonly body: unknown;
}

/** What the fake answers to `GET /path`: a body (200), or a status and a body, or a function that answers itself. */
export type Reply = object | readonly [status: number, body: object] | ((response: ServerResponse) => void);

/** A plugin with programs for each of the tree that has some. */
export async function runningPlugins(): Promise<readonly Pick<PluginStatus, 'id' | 'programs'>[]> {
  const programs = await treePrograms();
  const ids = [...new Set(programs.map(({ plugin }) => plugin))];
  return ids.map((id) => ({ id, programs: programs.filter(({ plugin }) => plugin === id) }));
}

/** A REST server on a Unix socket (and TCP) with canned answers; it keeps what it was asked. */
export class FakeCore implements AsyncDisposable {
  readonly root: string;
  readonly seen: Seen[] = [];
  readonly replies: Record<string, Reply>;
  readonly #servers: Server[] = [];
  url = '';

  private constructor(root: string, replies: Record<string, Reply>) {
    this.root = root;
    this.replies = replies;
  }

  /** Tells the programs of the tree's plugins, and no operation, unless the replies say otherwise. */
  static async start(replies: Record<string, Reply>): Promise<FakeCore> {
    const usual = {
      'GET /plugins': { ok: true, plugins: await runningPlugins() },
      'GET /openrpc.json': { methods: [] },
    };
    const core = new FakeCore(await mkdtemp(join(tmpdir(), 'dc-cli-')), { ...usual, ...replies });
    await core.#listen(join(core.root, 'core.sock'));
    const tcp = await core.#listen(0);
    core.url = `http://127.0.0.1:${(tcp.address() as { port: number }).port}`;
    await writeFile(join(core.root, 'operator.token'), 'operator-secret\n', { mode: 0o600 });
    return core;
  }

  async #listen(place: string | number): Promise<Server> {
    const server = createServer((request, response) => void this.#answer(request, response));
    this.#servers.push(server);
    await new Promise<void>((resolve) => {
      if (typeof place === 'string') server.listen(place, resolve);
      else server.listen(place, '127.0.0.1', resolve);
    });
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await text(request);
    this.seen.push({
      method: request.method ?? '',
      url: request.url ?? '',
      authorization: request.headers.authorization,
      contentType: request.headers['content-type'],
      body: body === '' ? undefined : JSON.parse(body),
    });
    const reply = this.replies[`${request.method} ${request.url?.split('?')[0]}`];
    if (typeof reply === 'function') return reply(response);
    const [status, answer] = Array.isArray(reply)
      ? (reply as [number, object])
      : reply
        ? [200, reply]
        : [404, { ok: false, error: 'METHOD_NOT_FOUND: there is no operation', code: 'METHOD_NOT_FOUND' }];
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
    await rm(this.root, { recursive: true, force: true });
  }
}
