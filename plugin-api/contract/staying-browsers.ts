import type { OperatorRole } from './caller.ts';

/** A browser that begins sessions by itself: it holds a key that never leaves it, and the device the public half. */
export interface StayingBrowser {
  readonly id: string;
  readonly name: string;
  /** Role of the session that brought the key; its sessions have no more than that. */
  readonly role: OperatorRole;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly lastUsed: number;
  /** Thirty days after it was last used. */
  readonly until: number;
}

/** Proof that a browser sends to come back. */
export interface BrowserProof {
  /** Its id. */
  readonly browser: string;
  /** Origin of its page: `http://127.0.0.1:55280`. The proof is good there alone. */
  readonly origin: string;
  readonly challenge: string;
  /** ECDSA with P-256 and SHA-256 over the lines `device-core browser 1`, origin, id, challenge; r and s side by side, base64url. */
  readonly signature: string;
}
