/** Clients of the language models by name: the hash of a bearer, the apps it may call, the sensors it may read. Durable. */
import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto';
import { type Clock, CoreError, type Logger, maybe, type PluginErrorKind, type Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
/** Use is noted in the file this often at most: a client that polls all day must not wear the flash. */
const NOTED_MS = HOUR_MS;
/** Bearers that may exist at a time. */
export const MOST_CLIENTS = 32;

export const CLIENT_NOT_FOUND: PluginErrorKind = {
  code: 'plugin.mcp.CLIENT_NOT_FOUND',
  status: 404,
  template: 'there is no client {name} of language models',
};

export interface McpClient {
  readonly name: string;
  /** App ids whose functions it may call; absent: all of them. */
  readonly apps?: readonly string[];
  /** Names of the sensors that it may read; absent: none of them. */
  readonly sensors?: readonly string[];
  readonly callsAnHour: number;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly until?: number;
  readonly lastUsed?: number;
}

interface Kept extends McpClient {
  /** SHA-256 of the bearer, base64url. */
  readonly hash: string;
}

export interface NewClient {
  readonly name: string;
  readonly apps?: readonly string[];
  readonly sensors?: readonly string[];
  readonly callsAnHour: number;
  readonly days?: number;
}

const FORM: KeptForm<readonly Kept[]> = {
  form: 1,
  initial: [],
  parse: ({ clients }) => (Array.isArray(clients) && clients.every(isKept) ? (clients as Kept[]) : undefined),
  format: (clients) => ({ clients }),
  consequence: 'clients of language models that were added or revoked are not kept',
};

export class Clients {
  readonly #file: KeptFile<readonly Kept[]>;
  readonly #clock: Clock;
  /** Calls of the running hour by client. */
  readonly #calls = new Map<string, { readonly from: number; count: number }>();

  private constructor(file: KeptFile<readonly Kept[]>, clock: Clock) {
    this.#file = file;
    this.#clock = clock;
  }

  static async open(path: string, scope: Scope, log: Logger, clock: Clock): Promise<Clients> {
    return new Clients(await KeptFile.open(path, FORM, scope, log), clock);
  }

  list(): readonly McpClient[] {
    return this.#file.value.map(({ hash: _hash, ...client }) => client);
  }

  /** Resolves with the bearer, which is shown once, when its hash is durable. Throws PARAMS_INVALID, BUSY. */
  async add({
    name,
    days,
    apps,
    sensors,
    callsAnHour,
  }: NewClient): Promise<{ readonly client: McpClient; readonly token: string }> {
    const kept = this.#file.value;
    if (kept.some((one) => one.name === name))
      throw new CoreError('PARAMS_INVALID', { where: 'name', reason: `there is a client ${name} already` });
    if (kept.length >= MOST_CLIENTS) throw new CoreError('BUSY', { what: 'another client', limit: MOST_CLIENTS });
    const token = randomBytes(32).toString('base64url');
    const since = this.#clock.now();
    const until = days === undefined ? undefined : since + days * DAY_MS;
    const client = { name, callsAnHour, since, ...maybe({ apps, sensors, until }) };
    await this.#file.set([...kept, { ...client, hash: hashOf(token).toString('base64url') }]);
    return { client, token };
  }

  /** In force at once. Throws CLIENT_NOT_FOUND. */
  async revoke(name: string): Promise<void> {
    const left = this.#file.value.filter((one) => one.name !== name);
    if (left.length === this.#file.value.length) throw new CoreError(CLIENT_NOT_FOUND, { name });
    this.#calls.delete(name);
    await this.#file.set(left);
  }

  /** The client of a bearer; undefined for one that is none of ours. Throws UNAUTHENTICATED for one that has expired. */
  of(token: string): McpClient | undefined {
    const hash = hashOf(token);
    let found: Kept | undefined;
    // All of them are compared, in constant time: the time tells neither how near a guess was nor whose it is.
    for (const one of this.#file.value) if (timingSafeEqual(hash, Buffer.from(one.hash, 'base64url'))) found = one;
    if (!found) return undefined;
    if (found.until !== undefined && found.until <= this.#clock.now())
      throw new CoreError('UNAUTHENTICATED', { reason: `the bearer of ${found.name} has expired` });
    this.#note(found);
    return found;
  }

  /** Whether a bearer that was good still is, for answers that take long. */
  holds(name: string): boolean {
    return this.#file.value.some((one) => one.name === name);
  }

  /** Counts a call. Throws RATE_LIMITED. */
  count({ name, callsAnHour }: McpClient): void {
    const now = this.#clock.monotonic();
    const running = this.#calls.get(name);
    const hour = running && now - running.from < HOUR_MS ? running : { from: now, count: 0 };
    this.#calls.set(name, hour);
    if (hour.count >= callsAnHour) {
      const retryAfterMs = Math.ceil(HOUR_MS - (now - hour.from));
      const limit = `${callsAnHour} calls an hour`;
      throw new CoreError('RATE_LIMITED', { caller: `client ${name}`, limit, what: 'functions of apps', retryAfterMs });
    }
    hour.count++;
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'mcp.clients');
  }

  #note(found: Kept): void {
    const now = this.#clock.now();
    if (Math.abs(now - (found.lastUsed ?? 0)) < NOTED_MS) return;
    const clients = this.#file.value.map((one) => (one === found ? { ...one, lastUsed: now } : one));
    this.#file.set(clients).catch(() => undefined); // the health tells what the disk said
  }
}

function hashOf(token: string): Buffer {
  return digest('sha256', token, 'buffer');
}

function isKept(found: unknown): found is Kept {
  const { name, hash, callsAnHour, since, apps, sensors, until, lastUsed } = Object(found) as Partial<Kept>;
  const numbers = [until, lastUsed].every((one) => one === undefined || typeof one === 'number');
  const lists = [apps, sensors].every(
    (list) => list === undefined || (Array.isArray(list) && list.every((one) => typeof one === 'string')),
  );
  const isHash = typeof hash === 'string' && Buffer.from(hash, 'base64url').length === 32;
  return (
    typeof name === 'string' &&
    isHash &&
    typeof callsAnHour === 'number' &&
    typeof since === 'number' &&
    numbers &&
    lists
  );
}
