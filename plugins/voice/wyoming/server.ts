/** Our engines for others on this machine: TCP on loopback, or a Unix socket. There is no authentication in the protocol. */
import { chmod, mkdir } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server as NetServer, type Socket } from 'node:net';
import { dirname } from 'node:path';
import { CoreError, type Logger, reasonOf, type Scope } from '@device-core/plugin-api';
import { removeStaleSocket } from '@device-core/plugin-api/inside/socket-file';
import { type Address, isLocal, parseAddress } from './address.ts';
import { Connection, type ConnectionSettings } from './connection.ts';
import type { Guests } from './guests.ts';
import { Session, type SessionWorld } from './session.ts';
import type { Settings } from './settings.ts';

export class Server {
  readonly #scope: Scope;
  readonly #settings: Settings;
  readonly #connection: ConnectionSettings;
  readonly #world: SessionWorld;
  readonly #guests: Guests;
  readonly #log: Logger;
  readonly #address: Address;
  readonly #sessions = new Set<Promise<void>>();
  #uri: string | undefined;
  #problem: string | undefined = 'it does not listen yet';
  #refused = 0;

  /** Throws PARAMS_INVALID (an address that others could reach). */
  constructor(scope: Scope, settings: Settings, world: SessionWorld, guests: Guests) {
    this.#guests = guests;
    const { stallMs, lineBytes, dataBytes, payloadBytes } = settings;
    this.#scope = scope;
    this.#settings = settings;
    this.#connection = { stallMs, limits: { lineBytes, dataBytes, payloadBytes } };
    this.#world = world;
    this.#log = world.log;
    this.#address = parseAddress(world.settings.uri);
    if (isLocal(this.#address)) return;
    const reason = 'every client that reaches it may use it: only loopback and Unix sockets can be served';
    throw new CoreError('PARAMS_INVALID', { where: `the address ${this.#address.uri}`, reason });
  }

  /** Address of the server; undefined while it does not listen. */
  get uri(): string | undefined {
    return this.#uri;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** Listens until the scope ends. What is in the way is looked at again and again. */
  async serve(): Promise<void> {
    const { leastPauseMs, mostPauseMs } = this.#settings;
    for (let misses = 0; !this.#scope.signal.aborted; ) {
      // A client that has ended its side still waits for the answer.
      const server = createServer({ allowHalfOpen: true }, (socket) => this.#accept(socket));
      // Those beyond the limit are told, unless there are too many even of them.
      server.maxConnections = this.#world.settings.connections * 2;
      try {
        await this.#listen(server);
        misses = 0;
        await this.#closed(server);
      } catch (error) {
        misses++;
        if (this.#problem !== reasonOf(error)) this.#log.warn({ reason: reasonOf(error) }, 'Wyoming is not served');
        this.#problem = reasonOf(error);
      }
      this.#uri = undefined;
      await this.#pause(Math.min(mostPauseMs, leastPauseMs * 2 ** Math.min(Math.max(0, misses - 1), 20)));
    }
    await Promise.all(this.#sessions);
  }

  async #listen(server: NetServer): Promise<void> {
    const address = this.#address;
    if ('path' in address) await prepare(address.path);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    if ('path' in address) server.listen({ path: address.path }, resolve);
    else server.listen({ host: address.host, port: address.port, exclusive: true }, resolve);
    try {
      await promise;
      // As it is made only its owner can connect.
      if ('path' in address) await chmod(address.path, 0o660);
    } catch (error) {
      server.close();
      throw error;
    } finally {
      server.off('error', reject);
    }
    this.#uri =
      'path' in address ? address.uri : `${address.uri.replace(/\d+$/, '')}${(server.address() as AddressInfo).port}`;
    this.#problem = undefined;
    this.#log.info({ uri: this.#uri }, 'our engines are offered over Wyoming');
  }

  /** Resolves at the end of the scope; rejects when the server fails. */
  async #closed(server: NetServer): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.on('error', reject);
    const stop = () => server.close();
    server.once('close', resolve);
    this.#scope.signal.addEventListener('abort', stop, { once: true });
    if (this.#scope.signal.aborted) stop();
    try {
      await promise;
    } finally {
      this.#scope.signal.removeEventListener('abort', stop);
      server.close();
    }
  }

  #accept(socket: Socket): void {
    if (this.#scope.signal.aborted) {
      socket.destroy();
      return;
    }
    const guest = this.#guests.refusal(socket);
    const connection = new Connection(socket, 'a Wyoming client', this.#scope, this.#connection);
    const serving = this.#serve(connection, guest, this.#sessions.size < this.#world.settings.connections)
      .catch((error: unknown) => this.#log.error({ err: error }, 'a Wyoming session failed'))
      .finally(() => this.#sessions.delete(serving));
    this.#sessions.add(serving);
  }

  async #serve(connection: Connection, guest: Promise<string | undefined>, room: boolean): Promise<void> {
    const { connections: limit } = this.#world.settings;
    const refuse = (error: CoreError) => this.#refuse(connection, error);
    if (!room) return await refuse(new CoreError('BUSY', { what: 'another Wyoming connection', limit }));
    let reason: string | undefined;
    try {
      reason = await guest;
    } catch (thrown) {
      reason = `its process cannot be identified: ${reasonOf(thrown)}`;
    }
    if (reason === undefined) await new Session(connection, this.#world).run();
    else await refuse(new CoreError('CALLER_DENIED', { verb: 'serve this client over Wyoming', reason }));
  }

  async #refuse(connection: Connection, { code, message }: CoreError): Promise<void> {
    const refused = ++this.#refused;
    // Every power of ten, lest a client that tries again and again fills the log, too.
    if (Number.isInteger(Math.log10(refused)))
      this.#log.warn({ refused, reason: message }, 'a Wyoming client was refused');
    try {
      await connection.send('error', { text: message, code });
      await connection.hangUp();
    } finally {
      await connection[Symbol.asyncDispose]();
    }
  }

  async #pause(ms: number): Promise<void> {
    const { signal } = this.#scope;
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const stop = () => resolve();
    signal.addEventListener('abort', stop, { once: true });
    try {
      using _timer = this.#scope.timeout('listen again', ms, resolve);
      await promise;
    } finally {
      signal.removeEventListener('abort', stop);
    }
  }
}

/** A socket that nobody listens on is left over from a Core that was killed. Anything else in its place is not ours to remove. */
async function prepare(path: string): Promise<void> {
  const refuse = (reason: string) => new CoreError('UNAVAILABLE', { what: path, reason });
  await mkdir(dirname(path), { recursive: true });
  const found = await removeStaleSocket(path).catch((error: NodeJS.ErrnoException) => {
    throw refuse(error.code ?? reasonOf(error));
  });
  if (found === 'foreign') throw refuse('it is no socket');
  if (found === 'occupied') throw refuse('another program listens there');
}
