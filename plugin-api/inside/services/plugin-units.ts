import type { PluginManifest } from '../../contract/manifest.ts';
import type { SandboxSpec } from '../../contract/run-spec.ts';
import { serviceRef } from '../../contract/service-ref.ts';

export interface PluginUnitStart {
  readonly manifest: PluginManifest;
  /** Folder of its code. */
  readonly code: string;
  /** Sight and rights of its process. The path of its channel becomes the last of the arguments. */
  readonly spec: SandboxSpec;
}

export interface PluginUnit {
  /** Never used again while the Core runs. */
  readonly run: string;
  /** `plugin-kettle.service`. */
  readonly unit: string;
  readonly pid: number;
  /** Descriptor of the connected channel, in the Core's process. It is the caller's to close. */
  readonly channel: number;
}

/** Runs plugins at level process as units of the system's service manager. Plain data both ways. */
export interface PluginUnits {
  /**
   * Resolves when the plugin has connected to its channel. Undefined: this plugin or this device can have no such unit,
   * and /health says why; it runs as a process of the Core then. Throws PLUGIN_START_FAILED, SANDBOX_UNAVAILABLE,
   * CANCELLED.
   */
  start(start: PluginUnitStart): Promise<PluginUnit | undefined>;
  /** Resolves at the end of a run with its cause, for people. */
  ended(run: string): Promise<string>;
  /** Ends the unit of a plugin, also in the middle of its start. */
  stop(plugin: string): Promise<void>;
  /** Plugins that run as units now, with the names of these. */
  list(): Promise<Readonly<Record<string, string>>>;
}

export const pluginUnits = serviceRef<PluginUnits>('plugin-units', '1.0.0', 'tree');
