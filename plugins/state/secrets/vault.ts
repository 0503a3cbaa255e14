/** Vault of secrets: what its back ends, a file and the keyring of the kernel, have in common. */
import type { MovedSecret } from '@device-core/plugin-api/inside/services/secret-transfer';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { SecretKey } from './names.ts';

/** `locked`: the key is not there, or is another one. `failed`: what is kept cannot be read. */
export interface VaultState {
  readonly state: 'open' | 'locked' | 'failed';
  /** `VAULT_KEY_MISSING`, for the health. */
  readonly code?: string;
  /** Fault, with its remedy. */
  readonly reason?: string;
}

/** Facts of a secret that need no key. */
export interface VaultRecord {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  /** `operator`, `plugin.<id>`, `app.<id>`. */
  readonly by: string;
  /** Size of its text, or somewhat more. */
  readonly bytes: number;
}

export interface Vault {
  readonly state: VaultState;
  /** Records of all secrets, also of a vault that is locked where they can be known. */
  readonly records: ReadonlyMap<SecretKey, VaultRecord>;
  /** Looks once more whether it can be opened. Never rejects. */
  retry(): Promise<void>;
  /** Undefined where there is none. Throws SECRETS_LOCKED, STATE_CORRUPT (this one is damaged). */
  read(key: SecretKey): Promise<string | undefined>;
  /** Durable when it resolves; undefined removes it. Throws SECRETS_LOCKED, and the codes of what it is kept on. One write at a time. */
  write(key: SecretKey, text: string | undefined, by: string): Promise<void>;
  /** Seals everything anew. Throws SECRETS_LOCKED, STATE_CORRUPT, the codes of a disk. */
  rotate(): Promise<void>;
  /** Scopes that are still to be emptied: kept apart, as a locked vault reports them, too. Absent: they are known in this run alone. */
  readonly purges?: {
    /**
     * Never rejects: `problem` is why they are not known, STATE_CORRUPT, STATE_NEWER, the codes of a disk. `durable`:
     * false where they are to be written again.
     */
    read(): Promise<{ readonly scopes: readonly string[]; readonly problem?: unknown; readonly durable?: boolean }>;
    /** Durable when it resolves; where it rejects it may be known until the device starts again. Throws the codes of a disk. */
    write(scopes: readonly string[]): Promise<void>;
  };
  /** Absent: a restart empties it. */
  readonly stored?: {
    /** Below `<var>`. */
    readonly path: string;
    /**
     * That file with these secrets alone, under the key of this device. Nothing is written but a key where there is
     * none. Throws SECRETS_LOCKED.
     */
    sealed(secrets: Iterable<MovedSecret>): Promise<string>;
  };
  /** Adds to the health what is wrong beside its state. */
  tell(report: HealthReport): void | Promise<void>;
}
