import type { Isolation } from '../manifest.ts';
import type { PluginState } from '../plugin.ts';
import { serviceRef } from '../service-ref.ts';

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
}

/** The kernel's lifecycle for those who administer it. Provided by the kernel. */
export interface PluginManager {
  list(): Promise<readonly PluginStatus[]>;
  /** Stops it and its dependents, newest first, and starts them again. Throws PLUGIN_NOT_FOUND. */
  restart(id: string): Promise<PluginStatus>;
  /** Until the next start of the Core; its dependents wait. Throws PLUGIN_NOT_FOUND. */
  disable(id: string): Promise<PluginStatus>;
  /** Throws PLUGIN_NOT_FOUND. */
  enable(id: string): Promise<PluginStatus>;
}

export const pluginManager = serviceRef<PluginManager>('plugin-manager', '1.0.0');
