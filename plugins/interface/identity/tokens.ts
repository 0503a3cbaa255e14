import { hash as digest, randomBytes, timingSafeEqual } from 'node:crypto';

const TOKEN_BYTES = 32;
/** Void tokens that are still recognised, so that their holder is told why they do not work. */
const REMEMBERED_VOID = 256;

/** A random token of 256 bits as base64url: 43 characters. */
export function newToken(): string {
  return randomBytes(TOKEN_BYTES).toString('base64url');
}

/** Has this text the form of a token? */
export function isToken(text: string): boolean {
  return /^[A-Za-z0-9_-]{43}$/.test(text);
}

/** Owner of a token; a `void` token was good once. */
export type TokenOwner =
  | { readonly kind: 'operator' }
  | { readonly kind: 'app'; readonly app: string }
  | { readonly kind: 'void'; readonly app: string; readonly reason: string };

interface VoidToken {
  readonly app: string;
  readonly hash: Buffer;
  readonly reason: string;
}

/**
 * Token that a connection has shown. Its text is with that connection in any case, in the head of the request that
 * came last.
 */
interface Shown {
  readonly token: string;
  readonly hash: Buffer;
}

/**
 * The tokens that are good now. Only hashes are kept: a dump of the memory or a log holds nothing that opens a door. A
 * client that is connected has its token in our memory; it goes with the connection.
 */
export class Tokens {
  readonly #operator: Buffer;
  readonly #apps = new Map<string, Buffer>();
  #void: VoidToken[] = [];
  /** A hash costs a tenth of a request, and a connection shows the same token with each. Good ones only. */
  readonly #shown = new WeakMap<object, Shown>();

  constructor(operatorToken: string) {
    this.#operator = hashOf(operatorToken);
  }

  /** A new token of the app; its former one is void. */
  issue(app: string): string {
    this.revoke(app, 'the app was started anew');
    const token = newToken();
    this.#apps.set(app, hashOf(token));
    return token;
  }

  /** False when the app had no token. */
  revoke(app: string, reason: string): boolean {
    const hash = this.#apps.get(app);
    if (!hash) return false;
    this.#apps.delete(app);
    this.#void = [...this.#void, { app, hash, reason }].slice(-REMEMBERED_VOID);
    return true;
  }

  /**
   * Compares with every token in constant time, so that the time tells neither how near a guess was nor whose it is.
   * The owner is looked up each time; `connection`, one object for each, spares the hash alone.
   */
  ownerOf(token: string, connection?: object): TokenOwner | undefined {
    const shown = connection && this.#shown.get(connection);
    const hash = shown && isSame(shown.token, token) ? shown.hash : hashOf(token);
    const owner = this.#holderOf(hash);
    if (connection && owner && owner.kind !== 'void' && hash !== shown?.hash)
      this.#shown.set(connection, { token, hash });
    return owner;
  }

  #holderOf(hash: Buffer): TokenOwner | undefined {
    let owner: TokenOwner | undefined;
    for (const former of this.#void)
      if (timingSafeEqual(hash, former.hash)) owner = { kind: 'void', app: former.app, reason: former.reason };
    for (const [app, known] of this.#apps) if (timingSafeEqual(hash, known)) owner = { kind: 'app', app };
    if (timingSafeEqual(hash, this.#operator)) owner = { kind: 'operator' };
    return owner;
  }
}

/** SHA-256 of a token. */
export function hashOf(token: string): Buffer {
  return digest('sha256', token, 'buffer'); // in one shot: an object per hash would be the largest cost of a request
}

/** In the same time wherever they differ: a connection may carry requests of several clients, as that of a proxy does. */
function isSame(one: string, other: string): boolean {
  if (one.length !== other.length) return false;
  let different = 0;
  for (let at = 0; at < one.length; at++) different |= one.charCodeAt(at) ^ other.charCodeAt(at);
  return different === 0;
}
