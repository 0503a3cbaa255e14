import { serviceRef } from '../../contract/service-ref.ts';

/** A secret on its way into a backup or out of it. */
export interface MovedSecret {
  /** `<scope>/<name>` */
  readonly key: `${string}/${string}`;
  readonly text: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly by: string;
}

/** Secrets on their way into a sealed backup and out of it. Guests never get it; a manifest names it. */
export interface SecretTransfer {
  /**
   * Every secret with its text, and the names of those that are damaged. `instead`: files of the state that begin so
   * hold nothing else. Throws SECRETS_LOCKED, SECRET_DENIED (a plugin from outside of the tree).
   */
  takeOut(): Promise<{
    readonly secrets: readonly MovedSecret[];
    readonly damaged: readonly string[];
    readonly instead?: string;
  }>;
  /** The same as a file of the state, sealed with the key of this device. Throws SECRETS_LOCKED, PARAMS_INVALID, SECRET_DENIED. */
  sealed(secrets: readonly MovedSecret[]): Promise<{ readonly path: string; readonly text: string }>;
}

export const secretTransfer = serviceRef<SecretTransfer>('secret-transfer', '1.0.0', 'tree');
