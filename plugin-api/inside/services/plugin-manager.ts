import type { FlagDeclaration } from '../../contract/flag-declaration.ts';
import type { Isolation, PluginManifest, ProgramDeclaration } from '../../contract/manifest.ts';
import type { PluginState } from '../../contract/plugin.ts';
import type { PluginPage } from '../../contract/plugin-page.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { CoreLoad, LoopUsage, PluginUsage, SampledUsage } from '../../contract/usage.ts';

export interface PluginStatus {
  readonly id: string;
  readonly version: string;
  readonly summary: string;
  readonly state: PluginState;
  readonly isolation: Isolation;
  readonly essential: boolean;
  /** Why it waits or failed. */
  readonly reason?: string;
  readonly code?: string;
  /** Milliseconds since the Unix epoch of the last change of state. */
  readonly since: number;
  /** Milliseconds that the last setup() took. */
  readonly startMs?: number;
  /** How often it has been started in this run of the Core. */
  readonly generation: number;
  readonly provides: Readonly<Record<string, string>>;
  readonly requires: Readonly<Record<string, string>>;
  /** Labels of what its scope holds now. */
  readonly holds: readonly string[];
  /** How often it was started again after a failure. */
  readonly restarts?: number;
  /** It failed and will be started again then, milliseconds since the Unix epoch. */
  readonly nextStartAt?: number;
  /** Kept when it runs again. */
  readonly lastError?: { readonly code: string; readonly message: string; readonly at: number };
  /** Folder of its module, absolute, with a slash at the end. */
  readonly directory?: string;
  /** Its commands of devicectl, with the absolute paths of their modules. */
  readonly programs?: readonly ProgramDeclaration[];
  /** Pages of it as data. */
  readonly pages?: readonly PluginPage[];
  /** Resources that it uses; absent before its first start. */
  readonly usage?: PluginUsage;
}

/** Plugin ids that applying the SKU changed, or would change. */
export interface SkuChange {
  readonly added: readonly string[];
  readonly removed: readonly string[];
  /** Version, configuration, isolation, place, or what else its line says. */
  readonly changed: readonly string[];
  /** All that stop, start or restart for it: these and their dependents. */
  readonly affected: readonly string[];
  /** Ids in `changed` that run in this process and take their new version only at the next start of the Core. */
  readonly stale: readonly string[];
  /** Lines of the SKU about the device itself, grants included, changed. */
  readonly device: boolean;
}

/** Settings of a plugin: schema, given values and effective values. */
export interface PluginSettings {
  readonly id: string;
  readonly summary: string;
  /** JSON Schema of its section, if any; defaults hold where no other value is set. */
  readonly schema?: Readonly<Record<string, unknown>>;
  /** Values of its line in the SKU, or of its installation. */
  readonly given: Readonly<Record<string, unknown>>;
  /** Effective values: defaults, then the device's settings, then the command line. */
  readonly inForce: Readonly<Record<string, unknown>>;
  /** Feature flags that its manifest declares, where it is switched on. */
  readonly flags?: Readonly<Record<string, FlagDeclaration>>;
}

/** Use of one right by a plugin from outside, since the Core started. */
export interface PluginUse {
  /** `other`: rights beyond the bound of one plugin, together. */
  readonly kind: 'service' | 'capability' | 'hook' | 'other';
  readonly name: string;
  readonly count: number;
  /** Milliseconds since the Unix epoch. */
  readonly last: number;
}

/** A guest of the set that runs, with its rights and their use. */
export interface GuestUses {
  readonly plugin: string;
  readonly isolation: Isolation;
  readonly manifest: PluginManifest;
  /** Powerful services that were granted at the install; absent of one that the SKU lists, which has what it claims. */
  readonly granted?: readonly string[];
  /** Begin of the count, in this run of the Core; milliseconds since the Unix epoch. */
  readonly began: number;
  readonly uses: readonly PluginUse[];
}

/** The kernel's lifecycle for those who administer it. Provided by the kernel. */
export interface PluginManager {
  list(): Promise<readonly PluginStatus[]>;
  /** Stops it and its dependents, newest first, and starts them again. Throws PLUGIN_NOT_FOUND. */
  restart(id: string): Promise<PluginStatus>;
  /** Stops the plugin until the next start of the Core; its dependents wait. Throws PLUGIN_NOT_FOUND. */
  disable(id: string): Promise<PluginStatus>;
  /** Throws PLUGIN_NOT_FOUND. */
  enable(id: string): Promise<PluginStatus>;
  /** Ends a quarantine or the pause after a failure: it starts at once. A plugin without trouble is left alone. Throws PLUGIN_NOT_FOUND. */
  release(id: string): Promise<PluginStatus>;
  /**
   * Reads the SKU again and applies the difference, whole or not at all; with `check` only tells it. With `installed`
   * the SKU stays as it is in force, and what was installed on the device is read again. Event `plugin.changed` says
   * what came of it.
   *
   * Everything that is newly wrong refuses it before anything is touched, also what would be a warning at a start. A
   * plugin that was active and is not any more undoes it, and so does an essential one. What the operator switched off
   * may be missing.
   *
   * Throws SKU_INVALID (`details.problems`; nothing was touched), CHANGE_UNDONE (the former set runs again), UNAVAILABLE.
   */
  apply(options?: { readonly check?: boolean; readonly installed?: boolean }): Promise<SkuChange>;
  /** Settings of every running plugin of the set, by id. */
  settings(): Promise<readonly PluginSettings[]>;
  /** Usage of every plugin that has been started, by id. */
  usage(): Promise<readonly PluginUsage[]>;
  /** Guests and what they used: calls of services, capabilities that a call needed, runs of taps. */
  uses(): Promise<readonly GuestUses[]>;
  eventLoop(): Promise<LoopUsage>;
  load(): Promise<CoreLoad>;
  /** Samples all code of the Core's event loop for 100 to 30,000 ms. Throws BUSY while another sampling runs. */
  sample(ms: number): Promise<readonly SampledUsage[]>;
}

export const pluginManager = serviceRef<PluginManager>('plugin-manager', '1.2.0', 'tree');
