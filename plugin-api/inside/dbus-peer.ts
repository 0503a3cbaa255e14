import { CoreError, reasonOf } from '../contract/errors.ts';
import type { Scope } from '../contract/scope.ts';
import { connectDBus, type DBus, type Signal } from './dbus/connection.ts';
import { DBusError } from './dbus/error.ts';
import { type DBusValue, Variant } from './dbus/marshal.ts';

export interface FollowOptions {
  /** Socket of the bus. */
  readonly path: string;
  /** `org.freedesktop.UPower` */
  readonly name: string;
  readonly scope: Scope;
  /** True: the bus starts a missing owner where it can. */
  readonly start?: boolean;
  /** True for a peer that ends while idle and comes back for the next call: once seen, a name without an owner is no loss. */
  readonly returns?: boolean;
  /** Runs whenever the name has an owner; its scope ends when the owner goes. What it throws is a reason for `away`. */
  readonly there: (peer: Peer, during: Scope) => Promise<void>;
  /** Runs when the name has no owner, or there is no bus; its scope ends when an owner comes. */
  readonly away: (reason: string, during: Scope) => void | Promise<void>;
}

const BUS = 'org.freedesktop.DBus';
const BUS_PATH = '/org/freedesktop/DBus';
const PROPERTIES = 'org.freedesktop.DBus.Properties';
const PAUSES = [1_000, 5_000, 15_000, 60_000];

/** Peer with a well-known name on a bus. */
export class Peer {
  readonly #bus: DBus;
  readonly name: string;

  constructor(bus: DBus, name: string) {
    this.#bus = bus;
    this.name = name;
  }

  /** Rejects with DBusError or TIMEOUT. */
  call(
    [path, face]: readonly [path: string, face: string],
    member: string,
    signature = '',
    body: readonly DBusValue[] = [],
    timeoutMs = 10_000,
  ): Promise<readonly DBusValue[]> {
    return this.#bus.call({ destination: this.name, path, interface: face, member, signature, body, timeoutMs });
  }

  /** Properties of one interface of an object, without their variants. */
  async properties(path: string, face: string): Promise<ReadonlyMap<string, DBusValue>> {
    const [all] = await this.call([path, PROPERTIES], 'GetAll', 's', [face]);
    const map = all instanceof Map ? (all as ReadonlyMap<string, DBusValue>) : new Map<string, DBusValue>();
    return new Map([...map].map(([key, value]) => [key, value instanceof Variant ? value.value : value]));
  }

  /** Calls the listener with the names of properties of an object that changed. */
  onProperties(path: string, listener: (names: readonly string[]) => void): Promise<Disposable> {
    return this.onSignal([path, PROPERTIES], 'PropertiesChanged', ({ body: [, changed, gone] }) => {
      const names = changed instanceof Map ? [...changed.keys()] : [];
      listener([...names, ...(Array.isArray(gone) ? gone : [])].map(String));
    });
  }

  onSignal(
    [path, face]: readonly [path: string, face: string],
    member: string,
    listener: (signal: Signal) => void,
  ): Promise<Disposable> {
    return this.#bus.watch({ sender: this.name, path, interface: face, member }, listener);
  }
}

/**
 * Reports the owner of a name on a bus, and its absence, until the scope ends. Resolves after the first look. A bus
 * without a socket is looked for once and never again; one that went is looked for with pauses of a minute at most.
 */
export async function followPeer(options: FollowOptions): Promise<void> {
  await new Follower(options).begin();
}

class Follower {
  readonly #options: FollowOptions;
  #during: (Scope & AsyncDisposable) | undefined;
  #turns: Promise<void> = Promise.resolve();
  /** Undefined: nothing was told yet. */
  #owner: string | undefined;
  #there = false;
  #attempt = 0;

  constructor(options: FollowOptions) {
    this.#options = options;
  }

  async begin(): Promise<void> {
    const { path, name, scope, start } = this.#options;
    if (scope.signal.aborted) return;
    const connection = scope.child(`bus for ${name}`);
    try {
      const bus = await connectDBus({ path, scope: connection });
      const rule = { sender: BUS, interface: BUS, member: 'NameOwnerChanged', path: BUS_PATH, first: name };
      await bus.watch(rule, ({ body: [, , owner] }) => void this.#turn(bus, String(owner)));
      if (start) await this.#ask(bus, 'StartServiceByName', 'su', [name, 0]);
      const [owner = ''] = (await this.#ask(bus, 'GetNameOwner', 's', [name])) ?? [];
      await this.#turn(bus, String(owner));
      this.#attempt = 0;
      void this.#until(bus, connection);
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      await this.#lost(reasonOf(error), isMissing(error));
    }
  }

  /** Undefined: the bus says no. */
  async #ask(bus: DBus, member: string, signature: string, body: readonly DBusValue[]) {
    try {
      const call = { destination: BUS, path: BUS_PATH, interface: BUS, member, signature, body };
      return await bus.call({ ...call, timeoutMs: 25_000 });
    } catch (error) {
      if (error instanceof DBusError && error.error !== `${BUS}.Error.Disconnected`) return undefined;
      throw error;
    }
  }

  async #until(bus: DBus, connection: AsyncDisposable): Promise<void> {
    const reason = await bus.ended;
    if (this.#options.scope.signal.aborted) return;
    await connection[Symbol.asyncDispose]();
    await this.#lost(reason.message, false);
  }

  async #lost(reason: string, forGood: boolean): Promise<void> {
    await this.#turn(undefined, '', reason);
    const { scope, name } = this.#options;
    if (forGood || scope.signal.aborted) return;
    const pause = PAUSES[Math.min(this.#attempt, PAUSES.length - 1)] ?? 0;
    this.#attempt += 1;
    scope.timeout(`look for the bus of ${name}`, pause, () => this.begin());
  }

  /** One after the other, in the order in which the bus told it. */
  #turn(bus: DBus | undefined, owner: string, reason = `${this.#options.name} does not run`): Promise<void> {
    this.#turns = this.#turns.then(() => this.#settle(bus, owner, reason));
    return this.#turns;
  }

  async #settle(bus: DBus | undefined, owner: string, reason: string): Promise<void> {
    const { scope, name, there, away } = this.#options;
    if (owner === this.#owner || scope.signal.aborted) return;
    if (bus && this.#there && this.#options.returns) return;
    this.#owner = owner;
    await this.#during?.[Symbol.asyncDispose]();
    this.#there = false;
    let why = reason;
    if (bus && owner !== '') {
      try {
        await there(new Peer(bus, name), this.#part());
        this.#there = true;
        return;
      } catch (error) {
        if (scope.signal.aborted) return;
        await this.#during?.[Symbol.asyncDispose]();
        why = reasonOf(error);
      }
    }
    await away(why, this.#part());
  }

  #part(): Scope {
    this.#during = this.#options.scope.child(this.#options.name);
    return this.#during;
  }
}

/** Result of the work. Rejects with UNAVAILABLE where a bus or a peer on it gave no answer. */
export async function answered<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof DBusError)) throw cause;
    throw new CoreError('UNAVAILABLE', { what, reason: cause.message }, { cause });
  }
}

function isMissing(error: unknown): boolean {
  const { code } = ((error as Error).cause ?? {}) as NodeJS.ErrnoException;
  return code === 'ENOENT';
}
