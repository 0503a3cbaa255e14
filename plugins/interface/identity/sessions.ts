/** Browsers that signed in as the operator. Hashes of their tokens outlive a restart of the Core, so that an open page goes on. */
import { timingSafeEqual } from 'node:crypto';
import {
  ANONYMOUS,
  type BrowserProof,
  type Caller,
  type Clock,
  CoreError,
  type Logger,
  maybe,
  type OperatorRole,
  type Scope,
  type StayingBrowser,
} from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { Sessions, SignedIn, SignIn } from '@device-core/plugin-api/inside/services/sessions';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { type BrowserKeys, checkKey } from './browser-keys.ts';
import { OneTimeCodes } from './one-time-codes.ts';
import { hashOf, newToken } from './tokens.ts';

const LIFE_MS = 12 * 3_600_000;
const IDLE_MS = 3_600_000;
const TICKET_MS = 30_000;
/** Sessions, and tickets that nobody used yet; the oldest goes for a new one. */
const MOST = 32;
/** Most sessions of one browser that stays signed in: its oldest one goes, so that it pushes out no others. */
const MOST_OF_ONE = 8;
const MOST_TICKETS = 256;
/** Use is noted in the file this often at most: a page asks many times a minute. */
const NOTED_MS = 300_000;

interface Kept extends SignedIn {
  /** SHA-256 of the token, base64url. */
  readonly hash: string;
  /** State of the device when it began. */
  readonly state?: string;
}

const FORM: KeptForm<readonly Kept[]> = {
  form: 1,
  initial: [],
  parse: ({ sessions }) => (Array.isArray(sessions) && sessions.every(isKept) ? sessions : undefined),
  format: (sessions) => ({ sessions }),
  consequence: 'pages have to sign in again after a restart',
};

interface Ticket {
  readonly session: string;
  readonly until: number;
}

export interface SessionsOptions {
  readonly browsers: BrowserKeys;
  readonly path: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly clock: Clock;
  /** One name for all connections of a caller's peer. */
  readonly peerName: (caller: Caller) => Promise<string>;
  readonly onListenerError: (thrown: unknown) => void;
}

export class BrowserSessions implements Sessions {
  readonly #clock: Clock;
  readonly #codes: OneTimeCodes<OperatorRole>;
  readonly #confirmations: OneTimeCodes<true>;
  readonly #browsers: BrowserKeys;
  readonly #file: KeptFile<readonly Kept[]>;
  readonly #tickets = new Map<string, Ticket>();
  readonly #callers = new Map<string, Caller>();
  readonly #listeners = new Set<(id: string) => void>();
  readonly #onListenerError: (thrown: unknown) => void;
  readonly #peerName: (caller: Caller) => Promise<string>;
  readonly #scope: Scope;
  /** Runs to the next possible end by time, so that listeners learn of it then, and not at the next request. */
  #timer: Disposable | undefined;

  private constructor(
    file: KeptFile<readonly Kept[]>,
    { browsers, clock, onListenerError, peerName, scope }: SessionsOptions,
  ) {
    this.#browsers = browsers;
    this.#file = file;
    this.#clock = clock;
    this.#scope = scope;
    scope.defer('the next session to end', () => this.#timer?.[Symbol.dispose]());
    this.#codes = new OneTimeCodes(clock, { what: 'signing in', command: 'devicectl web' });
    this.#confirmations = new OneTimeCodes(clock, { what: 'confirming', command: 'devicectl web confirm' });
    this.#onListenerError = onListenerError;
    this.#peerName = peerName;
  }

  static async open(options: SessionsOptions): Promise<BrowserSessions> {
    const file = await KeptFile.open(options.path, FORM, options.scope, options.log);
    const sessions = new BrowserSessions(file, options);
    // After a reset, or with its key, a session is over, though `<run>` may still hold it.
    const keys = options.browsers;
    const kept = file.value.filter(
      ({ browser, state = '' }) => state === keys.state && (browser === undefined || keys.has(browser)),
    );
    if (kept.length < file.value.length) await sessions.#keep(kept).catch(() => undefined); // told in the health
    sessions.#watch();
    return sessions;
  }

  /** Caller of the token of a session, whose use is noted; undefined for another token. */
  callerOf(token: string): Caller | undefined {
    const hash = hashOf(token);
    let found: Kept | undefined;
    for (const one of this.#file.value) if (timingSafeEqual(hash, Buffer.from(one.hash, 'base64url'))) found = one;
    if (found === undefined || !this.#isAlive(found)) return undefined;
    this.#used(found);
    return this.#callerOf(found);
  }

  #used(session: Kept): void {
    const now = this.#clock.now();
    if (now - session.lastUsed <= NOTED_MS) return;
    const noted = { ...session, lastUsed: now };
    // A failed write shows in the health.
    this.#keep(this.#file.value.map((one) => (one === session ? noted : one))).catch(() => undefined);
  }

  async use(id: string): Promise<void> {
    this.#used(this.#find(id));
  }

  async invite(role: OperatorRole): Promise<SignIn> {
    return this.#codes.make(role);
  }

  async confirmationCode(): Promise<SignIn> {
    return this.#confirmations.make(true);
  }

  async takeConfirmation(code: string, caller: Caller = ANONYMOUS): Promise<void> {
    await this.#confirmations.take(code, () => this.#peerName(caller));
  }

  async open(code: string, name: string, key?: string, caller: Caller = ANONYMOUS) {
    if (key !== undefined) checkKey(key);
    const role = await this.#codes.take(code, () => this.#peerName(caller));
    // If the key cannot be kept the session begins all the same, and says so.
    const browser = key === undefined ? undefined : await this.#keepBrowser({ name, role, key }).catch(() => undefined);
    return this.#begin(role, name, browser);
  }

  async stay({ signedIn }: Caller, name: string, key: string): Promise<StayingBrowser> {
    if (signedIn === undefined)
      throw new CoreError('CALLER_DENIED', { verb: 'stay signed in', reason: 'only a page that signed in can' });
    const { role, browser: former } = this.#find(signedIn.id);
    const browser = await this.#keepBrowser({ name, role, key });
    const still = this.#alive().some(({ id }) => id === signedIn.id);
    // It was ended meanwhile, and whoever ended it means its key as well.
    if (!still) await this.#browsers.remove(browser);
    const session = this.#find(signedIn.id);
    const written = this.#keep(this.#alive().map((one) => (one === session ? { ...session, browser } : one)));
    if (former !== undefined && this.#browsers.has(former)) await this.#forget(former);
    await written.catch(() => undefined); // told in the health
    return this.#browsers.list().find(({ id }) => id === browser)!;
  }

  async challenge(browser: string, origin: string) {
    return this.#browsers.challenge(browser, origin);
  }

  async resume(proof: BrowserProof) {
    const { id, name, role } = this.#browsers.prove(proof);
    return this.#begin(role, name, id);
  }

  async #begin(role: OperatorRole, name: string, browser: string | undefined) {
    const named = this.#browsers.named();
    const token = newToken();
    const now = this.#clock.now();
    const times = { since: now, lastUsed: now, until: now + LIFE_MS };
    const session = { id: newToken().slice(0, 12), name, role, ...times, ...maybe({ browser }) };
    const alive = this.#alive();
    const own = alive.filter((one) => browser !== undefined && one.browser === browser).slice(MOST_OF_ONE - 1);
    const kept = alive.filter((one) => !own.includes(one)).slice(0, MOST - 1);
    const begun = { ...session, hash: hashOf(token).toString('base64url'), state: this.#browsers.state };
    await Promise.allSettled([named, this.#keep([begun, ...kept])]); // what the disk refuses is told in the health
    for (const one of alive) if (!kept.includes(one)) this.#ended(one.id);
    return { token, session };
  }

  /** Resolves with its id. */
  async #keepBrowser(browser: { readonly name: string; readonly role: OperatorRole; readonly key: string }) {
    const { id, gone } = await this.#browsers.add(browser);
    for (const one of gone) await this.#forget(one).catch(() => undefined); // told in the health
    return id;
  }

  async list(): Promise<readonly SignedIn[]> {
    return this.#alive().map(shown);
  }

  async browsers(): Promise<readonly StayingBrowser[]> {
    return this.#browsers.list();
  }

  async label(id: string, name: string): Promise<SignedIn | StayingBrowser> {
    if (this.#browsers.has(id)) {
      await this.#browsers.label(id, name);
      return this.#browsers.list().find((one) => one.id === id)!;
    }
    const renamed = { ...this.#find(id), name };
    await this.#keep(this.#alive().map((one) => (one.id === id ? renamed : one)));
    return shown(renamed);
  }

  async revoke(id: string): Promise<void> {
    if (this.#browsers.has(id)) return this.#forget(id);
    const { browser } = this.#find(id);
    // A browser whose key stayed would be back at once.
    if (browser !== undefined) return this.#forget(browser);
    await this.#end(({ id: one }) => one === id);
  }

  async #forget(browser: string): Promise<void> {
    const removed = this.#browsers.remove(browser);
    const ended = this.#end((one) => one.browser === browser);
    const outcomes = await Promise.allSettled([removed, ended]);
    for (const outcome of outcomes) if (outcome.status === 'rejected') throw outcome.reason;
  }

  async #end(which: (session: Kept) => boolean): Promise<void> {
    const alive = this.#alive();
    const gone = alive.filter(which);
    if (gone.length === 0) return;
    // They end before the disk is asked: a full one must not keep them alive.
    const written = this.#keep(alive.filter((one) => !gone.includes(one)));
    for (const one of gone) this.#ended(one.id);
    await written;
  }

  async ticket(caller: Caller): Promise<{ readonly ticket: string; readonly until: number }> {
    const { signedIn } = caller;
    if (signedIn === undefined)
      throw new CoreError('CALLER_DENIED', { verb: 'give a ticket', reason: 'only a page that signed in needs one' });
    this.#find(signedIn.id);
    const now = this.#clock.steady();
    for (const [ticket, { until }] of this.#tickets) if (until < now) this.#tickets.delete(ticket);
    const oldest = this.#tickets.keys().next().value;
    if (this.#tickets.size >= MOST_TICKETS && oldest !== undefined) this.#tickets.delete(oldest);
    const ticket = newToken();
    this.#tickets.set(hashOf(ticket).toString('base64url'), { session: signedIn.id, until: now + TICKET_MS });
    return { ticket, until: this.#clock.now() + TICKET_MS };
  }

  async redeem(ticket: string): Promise<Caller> {
    const hash = hashOf(ticket).toString('base64url');
    const found = this.#tickets.get(hash);
    this.#tickets.delete(hash);
    const session = found && this.#alive().find(({ id }) => id === found.session);
    if (!session || found.until < this.#clock.steady())
      throw new CoreError('UNAUTHENTICATED', { reason: 'the ticket is unknown, used or late' });
    return this.#callerOf(session);
  }

  onEnd(listener: (id: string) => void): Disposable {
    const entry = (id: string) => listener(id);
    this.#listeners.add(entry);
    return { [Symbol.dispose]: () => void this.#listeners.delete(entry) };
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'identity.sessions');
    this.#browsers.tell(report);
  }

  /** One object for each session: what is kept by caller is found again. */
  #callerOf({ id, role }: SignedIn): Caller {
    let caller = this.#callers.get(id);
    if (caller === undefined) {
      caller = Object.freeze({ kind: 'operator', id: 'operator', signedIn: Object.freeze({ id, role }) });
      this.#callers.set(id, caller);
    }
    return caller;
  }

  #find(id: string): Kept {
    const found = this.#alive().find((one) => one.id === id);
    if (found === undefined) throw new CoreError('SESSION_NOT_FOUND', { session: id });
    return found;
  }

  #isAlive({ until, lastUsed, since }: Kept): boolean {
    const now = this.#clock.now();
    // A clock that was set back must not give a session more time than it has.
    return now < until && now - lastUsed < IDLE_MS && now >= since - IDLE_MS;
  }

  #alive(): readonly Kept[] {
    const alive = this.#file.value.filter((one) => this.#isAlive(one));
    for (const one of this.#file.value) if (!alive.includes(one)) this.#callers.delete(one.id);
    return alive;
  }

  async #keep(sessions: readonly Kept[]): Promise<void> {
    const written = this.#file.set(sessions);
    this.#watch();
    await written;
  }

  /** No timer where there is no session. */
  #watch(): void {
    this.#timer?.[Symbol.dispose]();
    this.#timer = undefined;
    const now = this.#clock.now();
    const ends = this.#file.value
      .filter((one) => this.#isAlive(one))
      .map(({ until, lastUsed }) => Math.min(until, lastUsed + IDLE_MS) - now);
    if (ends.length === 0 || this.#scope.signal.aborted) return;
    this.#timer = this.#clock.after(Math.min(...ends), () => {
      for (const one of this.#file.value) if (!this.#isAlive(one)) this.#ended(one.id);
      this.#watch();
    });
  }

  #ended(id: string): void {
    this.#callers.delete(id);
    for (const listener of this.#listeners) {
      try {
        listener(id);
      } catch (thrown) {
        this.#onListenerError(thrown);
      }
    }
  }
}

const shown = ({ hash: _, state: __, ...session }: Kept): SignedIn => session;

function isKept(value: unknown): value is Kept {
  const one = Object(value) as Readonly<Record<keyof Kept, unknown>>;
  const numbers = [one.since, one.lastUsed, one.until].every((time) => typeof time === 'number');
  const role = one.role === 'viewer' || one.role === 'operator';
  const browser = one.browser === undefined || typeof one.browser === 'string';
  const state = one.state === undefined || typeof one.state === 'string';
  const texts = typeof one.id === 'string' && typeof one.name === 'string' && browser && state;
  return numbers && role && texts && typeof one.hash === 'string' && /^[A-Za-z0-9_-]{43}$/.test(one.hash);
}
