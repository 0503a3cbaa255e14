/** Requests to the store, and its answers. */
import { type Isolation, maybe, type PluginState } from '@device-core/plugin-api';
import type { InstalledPlugin, InstalledVersion } from '@device-core/plugin-api/inside/installed';
import type { Claims, News } from './claims.ts';
import type { TrustPolicy } from './trust.ts';

export interface StoreConfig extends TrustPolicy {
  readonly leastIsolation: Isolation;
  readonly probationMs: number;
  readonly maxBytes: number;
  readonly maxFiles: number;
}

export interface InstallRequest {
  /** Absolute path of a folder or a tarball on this device. */
  readonly source: string;
  /** The plugin and the version that are meant, where they are. */
  readonly id?: string;
  readonly version?: string;
  readonly isolation?: Isolation;
  /** Members over those of the version before; null takes one away. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Digest of what it may have: what CLAIMS_UNACCEPTED names. */
  readonly accept?: string;
  /** Everything is asked, nothing is done. */
  readonly check?: boolean;
  /** The caller, as the Core writes it beside the params. */
  readonly by?: string;
}

export interface Outcome {
  /** `good` when this very version had passed its probation before. */
  readonly state: 'checked' | 'probation' | 'good';
  readonly id: string;
  readonly version: string;
  /** Version that ran before. */
  readonly former?: string;
  /** Version that runs now; absent where none does. */
  readonly running?: Running;
  readonly hash: string;
  readonly isolation: Isolation;
  readonly capabilities: readonly string[];
  /** All that it claims, and what names this package with these claims. */
  readonly claims: Claims;
  readonly digest: string;
  /** Claims that the version before did not have. */
  readonly added: readonly string[];
  /** Fingerprint of the key that signed it. */
  readonly signer?: string;
}

/** Version and level that the kernel runs, which may differ from the request. */
export interface Running {
  readonly version: string;
  readonly state: PluginState;
  readonly reason?: string;
}

export interface Admitted {
  readonly entry: InstalledPlugin;
  readonly outcome: Outcome;
  /** Each of `added`, for the person who confirms it. */
  readonly news: readonly News[];
}

export function versionOf({ version, hash, isolation, config, granted }: InstalledVersion): InstalledVersion {
  return { version, hash, isolation, config, ...maybe({ granted }) };
}
