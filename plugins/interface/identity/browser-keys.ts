/** Browsers that stay signed in: the public half of a key that never leaves them, durable, with the role of the session that brought it. */
import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import {
  type BrowserProof,
  type Clock,
  CoreError,
  type Logger,
  type OperatorRole,
  type Scope,
  type StayingBrowser,
} from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { Challenges } from './challenges.ts';
import { newToken } from './tokens.ts';

/** One that was not used for so long is forgotten. */
const UNUSED_MS = 30 * 86_400_000;
/** The one that was unused longest goes for a new one. */
const MOST = 16;
/** Use is noted in the file this often at most: a page that is opened all day must not wear the flash. */
const NOTED_MS = 3_600_000;
const TRIES = 5;
const CLOSED_MS = 600_000;

interface Kept {
  readonly id: string;
  readonly name: string;
  readonly role: OperatorRole;
  readonly since: number;
  readonly lastUsed: number;
  /** A point of P-256, uncompressed, base64url. */
  readonly key: string;
}

interface Keys {
  /** A random name of this state of the device; empty until somebody signs in. A reset and a restore end it. */
  readonly state: string;
  readonly browsers: readonly Kept[];
}

const FORM: KeptForm<Keys> = {
  form: 1,
  initial: { state: '', browsers: [] },
  parse: ({ state, browsers }) =>
    typeof state === 'string' && Array.isArray(browsers) && browsers.every(isKept) ? { state, browsers } : undefined,
  format: (keys) => keys,
  consequence: 'browsers that stay signed in need a code after a restart',
};

export interface BrowserKeysOptions {
  readonly path: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly clock: Clock;
}

/** Wrong proofs in a row, and until when none is looked at. */
interface Door {
  readonly wrong: number;
  readonly closedUntil: number;
}

export class BrowserKeys {
  readonly #file: KeptFile<Keys>;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #challenges: Challenges;
  /** By browser, so that nobody closes the door for another one, or for codes. */
  readonly #doors = new Map<string, Door>();

  private constructor(file: KeptFile<Keys>, { clock, log }: BrowserKeysOptions) {
    this.#file = file;
    this.#clock = clock;
    this.#log = log;
    this.#challenges = new Challenges(clock);
  }

  static async open(options: BrowserKeysOptions): Promise<BrowserKeys> {
    return new BrowserKeys(await KeptFile.open(options.path, FORM, options.scope, options.log), options);
  }

  /** State of the device to which sessions belong; they end with it. */
  get state(): string {
    return this.#file.value.state;
  }

  /** From now on there is a name, where the file is one of ours. */
  async named(): Promise<void> {
    if (this.state === '' && !this.#file.newer)
      await this.#file.set({ ...this.#file.value, state: newToken().slice(0, 12) });
  }

  has(id: string | undefined): boolean {
    return this.#alive().some((one) => one.id === id);
  }

  /** The one that was used last comes first. */
  list(): readonly StayingBrowser[] {
    return this.#alive()
      .toSorted((one, other) => other.lastUsed - one.lastUsed)
      .map(shown);
  }

  /**
   * Resolves when it is durable. Rejects with PARAMS_INVALID (no key), STATE_UNWRITABLE, STATE_NEWER and what a disk
   * says: then it is not kept.
   */
  async add(browser: { readonly name: string; readonly role: OperatorRole; readonly key: string }) {
    keyOf(browser.key);
    const now = this.#clock.now();
    const added = { ...browser, id: newToken().slice(0, 12), since: now, lastUsed: now };
    const inOrder = this.#alive().toSorted((one, other) => other.lastUsed - one.lastUsed);
    const gone = inOrder.slice(MOST - 1);
    await this.#set([added, ...inOrder.slice(0, MOST - 1)]).catch(async (thrown: unknown) => {
      await this.remove(added.id).catch(() => undefined); // told by what is thrown
      throw thrown;
    });
    for (const { id, name } of gone) {
      this.#doors.delete(id);
      this.#log.warn({ browser: id, name }, `no longer stays signed in: ${MOST} others do`);
    }
    return { id: added.id, gone: gone.map(({ id }) => id) };
  }

  async label(id: string, name: string): Promise<void> {
    await this.#set(this.#alive().map((one) => (one.id === id ? { ...one, name } : one)));
  }

  /** In force at once. */
  async remove(id: string): Promise<void> {
    this.#doors.delete(id);
    if (this.has(id)) await this.#set(this.#alive().filter((one) => one.id !== id));
  }

  /** Throws BROWSER_UNKNOWN. */
  challenge(id: string, origin: string): { readonly challenge: string; readonly until: number } {
    this.#find(id);
    return this.#challenges.make(subjectOf(id, origin));
  }

  /**
   * Verifies a proof and returns its browser; the challenge is used up by this. Throws BROWSER_UNKNOWN,
   * UNAUTHENTICATED, RATE_LIMITED, BUSY.
   */
  prove({ browser, origin, challenge, signature }: BrowserProof): StayingBrowser {
    const found = this.#find(browser);
    this.#challenges.check(challenge, subjectOf(browser, origin));
    const now = this.#clock.steady();
    const { wrong, closedUntil } = this.#doors.get(browser) ?? { wrong: 0, closedUntil: 0 };
    if (now < closedUntil) {
      const details = { caller: 'a page', limit: `${TRIES} wrong proofs`, what: 'this browser' };
      throw new CoreError('RATE_LIMITED', { ...details, retryAfterMs: Math.ceil(closedUntil - now) });
    }
    const text = Buffer.from(`device-core browser 1\n${subjectOf(browser, origin)}\n${challenge}`);
    const key = { key: keyOf(found.key), dsaEncoding: 'ieee-p1363' } as const;
    if (!verify('sha256', text, key, Buffer.from(signature, 'base64url'))) {
      const more = wrong + 1;
      this.#doors.set(browser, { wrong: more % TRIES, closedUntil: more < TRIES ? 0 : now + CLOSED_MS });
      throw new CoreError('UNAUTHENTICATED', { reason: 'the proof is not one of this browser' });
    }
    this.#challenges.use(challenge, browser);
    this.#doors.delete(browser);
    this.#used(found);
    return shown(found);
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'identity.browsers');
  }

  #used(browser: Kept): void {
    const now = this.#clock.now();
    if (now - browser.lastUsed <= NOTED_MS) return;
    const noted = { ...browser, lastUsed: now };
    // A failed write shows in the health.
    this.#set(this.#file.value.browsers.map((one) => (one === browser ? noted : one))).catch(() => undefined);
  }

  #set(browsers: readonly Kept[]): Promise<void> {
    return this.#file.set({ ...this.#file.value, browsers });
  }

  #find(id: string): Kept {
    const found = this.#alive().find((one) => one.id === id);
    if (found === undefined)
      throw new CoreError('BROWSER_UNKNOWN', { reason: 'its key was revoked, not used for thirty days, or reset' });
    return found;
  }

  /** A device that starts in the past, for want of a clock, loses none by that. */
  #alive(): readonly Kept[] {
    const now = this.#clock.now();
    return this.#file.value.browsers.filter(({ lastUsed }) => now - lastUsed < UNUSED_MS);
  }
}

const subjectOf = (browser: string, origin: string): string => `${origin}\n${browser}`;

const shown = ({ id, name, role, since, lastUsed }: Kept): StayingBrowser => ({
  id,
  name,
  role,
  since,
  lastUsed,
  until: lastUsed + UNUSED_MS,
});

/** Throws PARAMS_INVALID. */
export const checkKey = (point: string): void => void keyOf(point);

/** Throws PARAMS_INVALID. */
function keyOf(point: string): KeyObject {
  const bytes = Buffer.from(point, 'base64url');
  try {
    if (bytes.length !== 65 || bytes[0] !== 4) throw new Error('it is no uncompressed point of P-256');
    const [x, y] = [bytes.subarray(1, 33), bytes.subarray(33)].map((half) => half.toString('base64url'));
    return createPublicKey({ key: { kty: 'EC', crv: 'P-256', x: x!, y: y! }, format: 'jwk' });
  } catch (error) {
    throw new CoreError('PARAMS_INVALID', { where: 'key', reason: `it is no public key: ${(error as Error).message}` });
  }
}

function isKept(value: unknown): value is Kept {
  const { id, name, role, since, lastUsed, key } = Object(value) as Readonly<Record<keyof Kept, unknown>>;
  if (![id, name, key].every((one) => typeof one === 'string')) return false;
  if (![since, lastUsed].every((one) => typeof one === 'number')) return false;
  keyOf(key as string);
  return role === 'viewer' || role === 'operator';
}
