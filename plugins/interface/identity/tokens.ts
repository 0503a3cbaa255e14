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

/** Whose token it is; `void` one is a token that was good once. */
export type TokenOwner =
  | { readonly kind: 'operator' }
  | { readonly kind: 'app'; readonly app: string }
  | { readonly kind: 'void'; readonly app: string; readonly reason: string };

interface VoidToken {
  readonly app: string;
  readonly hash: Buffer;
  readonly reason: string;
}

/** The tokens that are good now. Only hashes are kept: a dump of the memory or a log holds nothing that opens a door. */
export class Tokens {
  readonly #operator: Buffer;
  readonly #apps = new Map<string, Buffer>();
  #void: VoidToken[] = [];

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

  /** Compares with every token in constant time, so that the time tells neither how near a guess was nor whose it is. */
  ownerOf(token: string): TokenOwner | undefined {
    const hash = hashOf(token);
    let owner: TokenOwner | undefined;
    for (const former of this.#void)
      if (timingSafeEqual(hash, former.hash)) owner = { kind: 'void', app: former.app, reason: former.reason };
    for (const [app, known] of this.#apps) if (timingSafeEqual(hash, known)) owner = { kind: 'app', app };
    if (timingSafeEqual(hash, this.#operator)) owner = { kind: 'operator' };
    return owner;
  }
}

function hashOf(token: string): Buffer {
  return digest('sha256', token, 'buffer'); // in one shot: an object per hash would be the largest cost of a request
}
