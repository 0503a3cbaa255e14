/** Requests to the store, and its answers. */

import type { Tree } from '@device-core/plugin-api/inside/packages';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { AppEntry } from './installed.ts';
import type { TrustPolicy } from './trust.ts';

export interface StoreConfig extends TrustPolicy {
  readonly probationMs: number;
  readonly maxBytes: number;
  readonly maxFiles: number;
  readonly firstUid: number;
  readonly lastUid: number;
  readonly retainDays: number;
  readonly consentMs: number;
  /** Folders in which programs of a runtime are looked for. */
  readonly path: string;
}

export interface InstallRequest {
  /** Absolute path of an .app file on the device, or `upload:<id>`. */
  readonly source: string;
  /** The app that is meant, where one is. */
  readonly id?: string;
  /** The version that is meant, where one is. */
  readonly version?: string;
  readonly downgrade?: boolean;
  /** Data of a newer form are thrown away. */
  readonly discardData?: boolean;
  /** Capabilities that the operator allows in the same breath. */
  readonly grants?: readonly string[];
}

/** A package that was unpacked, read and checked as far as it can be by itself. None of its code is run. */
export interface Candidate {
  readonly folder: string;
  readonly manifest: AppManifest;
  readonly tree: Tree;
}

export interface Outcome {
  readonly state: 'checked' | 'installed';
  readonly id: string;
  readonly version: string;
  readonly name: string;
  readonly title: string;
  /** Version that was there before. */
  readonly former?: string;
  readonly hash: string;
  readonly signer?: string;
  /** Name of that key in the SKU. */
  readonly signedBy?: string;
  readonly capabilities: readonly string[];
}

export interface Admitted {
  readonly entry: AppEntry;
  /** Work on its data that precedes its start. */
  readonly migration: 'none' | 'copy';
  readonly outcome: Outcome;
}
