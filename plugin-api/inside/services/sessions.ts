import type { Caller, OperatorRole } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { BrowserProof, StayingBrowser } from '../../contract/staying-browsers.ts';

export interface SignIn {
  /** `ABCD-EFGH`: for one use, within two minutes. */
  readonly code: string;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

/** A browser that signed in. */
export interface SignedIn {
  readonly id: string;
  /** `Firefox on Linux`, or what the operator called it. */
  readonly name: string;
  readonly role: OperatorRole;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly lastUsed: number;
  /** It ends then, and an hour after it was last used. */
  readonly until: number;
  /** Id of the browser that stays signed in; the session ends with it. */
  readonly browser?: string;
}

/** The operator in a browser (decisions D13): a one-time code, a bearer token per tab, no cookie. Provided by `identity`. */
export interface Sessions {
  /** Makes a one-time code that signs in with this role. The former unused code becomes void. */
  invite(role: OperatorRole): Promise<SignIn>;
  /**
   * Takes the code away and answers with a token that `authenticate` knows. Rejects with UNAUTHENTICATED (not a code,
   * late, used) and RATE_LIMITED (five wrong ones at this code of the peer of `caller`: all connections of one app, or
   * of one user, are one peer). With `key`, a point of P-256 in base64url, the browser stays signed in: the session
   * names it as `browser`, and does not where the disk refused it. Rejects with PARAMS_INVALID for what is no key; the
   * code is good still.
   */
  open(
    code: string,
    name: string,
    key?: string,
    caller?: Caller,
  ): Promise<{ readonly token: string; readonly session: SignedIn }>;
  /**
   * The browser of this session stays signed in, in its role; a former key of the session is void. Rejects with
   * CALLER_DENIED (no session) and PARAMS_INVALID.
   */
  stay(caller: Caller, name: string, key: string): Promise<StayingBrowser>;
  /** For one proof, within a minute, of this browser at this origin. Nothing is kept for it. Rejects with BROWSER_UNKNOWN. */
  challenge(browser: string, origin: string): Promise<{ readonly challenge: string; readonly until: number }>;
  /**
   * Rejects with BROWSER_UNKNOWN, UNAUTHENTICATED (the challenge or the signature), RATE_LIMITED (five wrong ones of
   * this browser) and BUSY.
   */
  resume(proof: BrowserProof): Promise<{ readonly token: string; readonly session: SignedIn }>;
  /** The one that was used last comes first. */
  browsers(): Promise<readonly StayingBrowser[]>;
  /** Makes a code that confirms one act of a page and signs in no user. The former unused code becomes void. */
  confirmationCode(): Promise<SignIn>;
  /** Takes such a code away. Rejects with UNAUTHENTICATED and RATE_LIMITED, as `open`. */
  takeConfirmation(code: string, caller?: Caller): Promise<void>;
  /** Newest first. */
  list(): Promise<readonly SignedIn[]>;
  /** `id`: of a session or of a browser. Throws SESSION_NOT_FOUND. */
  label(id: string, name: string): Promise<SignedIn | StayingBrowser>;
  /**
   * Its token is void from now on, and its connections are cut. `id`: of a session or of a browser; one that stays
   * signed in does so no longer, and all its sessions end. Throws SESSION_NOT_FOUND.
   */
  revoke(id: string): Promise<void>;
  /** A socket of it is in use: it goes on for an hour from now, but not beyond its end. Rejects with SESSION_NOT_FOUND. */
  use(id: string): Promise<void>;
  /**
   * For one use within thirty seconds: who brings it is this caller. For sockets, which cannot send a header. Throws
   * CALLER_DENIED (no session).
   */
  ticket(caller: Caller): Promise<{ readonly ticket: string; readonly until: number }>;
  /** Rejects with UNAUTHENTICATED (unknown, used, late, of a session that ended). */
  redeem(ticket: string): Promise<Caller>;
  /** Calls `listener` with the id of each session that ends, for any reason. */
  onEnd(listener: (id: string) => void): Disposable;
}

export const sessions = serviceRef<Sessions>('sessions', '1.1.0', 'tree');
