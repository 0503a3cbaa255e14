import { connect as dial, type Socket } from 'node:net';
import type { Scope } from '../../contract/scope.ts';
import { DBusError, disconnected, limited, unauthenticated } from './error.ts';
import type { DBusValue } from './marshal.ts';
import { encode, type Message } from './message.ts';
import { Incoming } from './reader.ts';

export interface DBusOptions {
  /** Socket of the bus. */
  readonly path: string;
  /** Scope whose clock limits each wait; its end ends the connection. */
  readonly scope: Pick<Scope, 'within' | 'use'>;
  /** Milliseconds for an answer, unless the call says otherwise. */
  readonly timeoutMs?: number;
  /** Longest message that is taken; a longer one ends the connection. */
  readonly mostBytes?: number;
  /** Calls that may wait at the same time; one more is refused with LimitsExceeded. */
  readonly mostCalls?: number;
}

export interface DBusCall {
  readonly destination: string;
  readonly path: string;
  readonly interface: string;
  readonly member: string;
  readonly signature?: string;
  readonly body?: readonly DBusValue[];
  readonly timeoutMs?: number;
}

/** Which signals are wanted. */
export interface SignalRule {
  /** Unique or well-known name: the bus's present owner of it, not a sender's claim. */
  readonly sender: string;
  readonly interface: string;
  readonly member: string;
  readonly path?: string;
  /** The first argument, a text. */
  readonly first?: string;
}

export interface Signal {
  readonly path: string;
  readonly body: readonly DBusValue[];
}

interface Watch {
  readonly rule: SignalRule;
  readonly listener: (signal: Signal) => void;
}

const BUS = 'org.freedesktop.DBus';
const BUS_PATH = '/org/freedesktop/DBus';

/** Connects to a bus as the user that this process has. Rejects with DBusError or TIMEOUT. */
export async function connectDBus(options: DBusOptions): Promise<DBus> {
  const { scope, path, timeoutMs = 5_000 } = options;
  const socket = dial(path);
  const bus = new DBus(socket, options);
  try {
    await scope.within(`D-Bus at ${path}`, timeoutMs, () => bus.login());
    return scope.use(`D-Bus at ${path}`, bus);
  } catch (error) {
    bus[Symbol.dispose]();
    throw error;
  }
}

/** A connection to a bus: calls, and signals that were asked for. It offers nothing itself. */
export class DBus implements Disposable {
  readonly #socket: Socket;
  readonly #options: DBusOptions;
  readonly #incoming: Incoming;
  readonly #calls = new Map<number, PromiseWithResolvers<readonly DBusValue[]>>();
  readonly #watches = new Set<Watch>();
  /** Owners of the watched well-known names; empty for a name without an owner. */
  readonly #owners = new Map<string, string>();
  readonly #followed = new Map<string, Promise<void>>();
  readonly #ended = Promise.withResolvers<DBusError>();
  readonly #ready = Promise.withResolvers<void>();
  #state: 'login' | 'open' | DBusError = 'login';
  #serial = 0;

  constructor(socket: Socket, options: DBusOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#incoming = new Incoming(options.mostBytes ?? 1 << 20);
    this.#ready.promise.catch(() => undefined);
    socket.on('connect', () =>
      socket.write(`\0AUTH EXTERNAL ${Buffer.from(String(process.getuid?.() ?? 0)).toString('hex')}\r\n`),
    );
    socket.on('data', (chunk: Uint8Array) => this.#take(chunk));
    socket.on('error', (error) => this.#end(disconnected(error.message, error)));
    socket.on('close', () => this.#end(disconnected('the bus closed it')));
  }

  /** Resolves when the connection is over, with the reason. */
  get ended(): Promise<DBusError> {
    return this.#ended.promise;
  }

  async login(): Promise<void> {
    await this.#ready.promise;
    await this.#ask('Hello');
  }

  /** The values of the answer. Rejects with the peer's DBusError, with Disconnected, LimitsExceeded or TIMEOUT. */
  async call(call: DBusCall): Promise<readonly DBusValue[]> {
    const { scope, timeoutMs = 5_000, mostCalls = 256 } = this.#options;
    if (this.#state instanceof DBusError) throw this.#state;
    if (this.#calls.size >= mostCalls) throw limited(`${mostCalls} calls wait already`);
    this.#serial = (this.#serial % 0xffff_ffff) + 1;
    const serial = this.#serial;
    const { timeoutMs: ms = timeoutMs, ...rest } = call;
    const bytes = encode({ type: 'call', serial, ...rest });
    const answer = Promise.withResolvers<readonly DBusValue[]>();
    this.#calls.set(serial, answer);
    this.#socket.write(bytes);
    try {
      return await scope.within(`${call.interface}.${call.member}`, ms, () => answer.promise);
    } finally {
      this.#calls.delete(serial);
    }
  }

  /**
   * Calls the listener with each such signal until it is disposed of. What a listener throws is its own affair: it ends
   * the process like any other.
   */
  async watch(rule: SignalRule, listener: (signal: Signal) => void): Promise<Disposable> {
    if (rule.sender !== BUS && !rule.sender.startsWith(':')) await this.#followOnce(rule.sender);
    const watch: Watch = { rule, listener };
    const text = ruleText(rule);
    this.#watches.add(watch);
    try {
      await this.#ask('AddMatch', 's', [text]);
    } catch (error) {
      this.#watches.delete(watch);
      throw error;
    }
    return {
      [Symbol.dispose]: () => {
        // An answer is not waited for: a bus that is gone has forgotten the rule already.
        if (this.#watches.delete(watch)) this.#ask('RemoveMatch', 's', [text]).catch(() => undefined);
      },
    };
  }

  [Symbol.dispose](): void {
    this.#end(disconnected('it was closed here'));
  }

  #followOnce(name: string): Promise<void> {
    const known = this.#followed.get(name);
    if (known) return known;
    const begun = this.#follow(name).catch((error: unknown) => {
      this.#followed.delete(name);
      throw error;
    });
    this.#followed.set(name, begun);
    return begun;
  }

  /** Learns who owns a name, and goes on learning it. */
  async #follow(name: string): Promise<void> {
    let heard = false;
    const rule = { sender: BUS, interface: BUS, member: 'NameOwnerChanged', path: BUS_PATH, first: name };
    await this.watch(rule, ({ body: [, , owner] }) => {
      heard = true;
      this.#owners.set(name, String(owner));
    });
    const owner = await this.#ask('GetNameOwner', 's', [name]).catch((error: unknown) => {
      if (error instanceof DBusError && error.error === `${BUS}.Error.NameHasNoOwner`) return [''];
      throw error;
    });
    if (!heard) this.#owners.set(name, String(owner[0]));
  }

  #ask(member: string, signature = '', body: readonly DBusValue[] = []): Promise<readonly DBusValue[]> {
    return this.call({ destination: BUS, path: BUS_PATH, interface: BUS, member, signature, body });
  }

  #take(chunk: Uint8Array): void {
    if (this.#state instanceof DBusError) return;
    try {
      this.#incoming.add(chunk);
      if (this.#state === 'login') this.#login(this.#incoming.line());
      if (this.#state !== 'open') return;
      for (const message of this.#incoming.messages()) this.#heed(message);
    } catch (error) {
      if (!(error instanceof DBusError)) throw error;
      this.#end(error);
    }
  }

  #login(line: string | undefined): void {
    if (line === undefined) return;
    if (!/^OK [0-9a-f]{32}$/.test(line)) throw unauthenticated(JSON.stringify(line.slice(0, 100)));
    this.#state = 'open';
    this.#socket.write('BEGIN\r\n');
    this.#ready.resolve();
  }

  #heed(message: Message): void {
    const { type, serial, sender, replySerial, body = [] } = message;
    if (type === 'signal') {
      this.#signal(message);
      return;
    }
    if (type === 'call') {
      const destination = sender === undefined ? {} : { destination: sender };
      const error = { type: 'error', serial: 1, replySerial: serial, error: `${BUS}.Error.UnknownMethod` } as const;
      // A caller that reads no answers gets none.
      if (!message.noReply && !this.#socket.writableNeedDrain) this.#socket.write(encode({ ...error, ...destination }));
      return;
    }
    const call = this.#calls.get(replySerial ?? 0);
    if (type === 'reply') call?.resolve(body);
    else call?.reject(new DBusError(message.error ?? '', typeof body[0] === 'string' ? body[0] : ''));
  }

  #signal({ sender = '', path = '', interface: name, member, body = [] }: Message): void {
    for (const { rule, listener } of [...this.#watches]) {
      if (rule.interface !== name || rule.member !== member || (rule.path ?? path) !== path) continue;
      if (rule.first !== undefined && rule.first !== body[0]) continue;
      // Anybody may send a signal to this connection alone, and the bus then asks for no rule.
      if (sender !== '' && sender === (this.#owners.get(rule.sender) ?? rule.sender)) listener({ path, body });
    }
  }

  #end(reason: DBusError): void {
    if (this.#state instanceof DBusError) return;
    this.#state = reason;
    this.#socket.destroy();
    this.#ready.reject(reason);
    for (const call of this.#calls.values()) call.reject(reason);
    this.#watches.clear();
    this.#ended.resolve(reason);
  }
}

function ruleText({ sender, interface: name, member, path, first }: SignalRule): string {
  const parts = { type: 'signal', sender, interface: name, member, path, arg0: first };
  return Object.entries(parts)
    .flatMap(([key, value]) => (value === undefined ? [] : [`${key}='${value.replaceAll("'", "'\\''")}'`]))
    .join(',');
}
