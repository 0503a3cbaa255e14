import type {
  ErrorCode,
  Isolation,
  PluginBudget,
  PluginDefinition,
  PluginManifest,
  ProgramDeclaration,
  SkuManifest,
} from '@device-core/plugin-api';
import type { PluginSettings } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { SkuFamily } from '@device-core/plugin-api/inside/sku-family';
import type { GraphNode } from './graph.ts';

/** One plugin of a SKU, ready to be started: what the kernel knows of it. */
export interface PluginEntry {
  readonly id: string;
  readonly manifest: PluginManifest;
  /** Absolute path of the module. */
  readonly main: string;
  /** Its commands of devicectl; `main` of each is absolute. */
  readonly programs?: readonly ProgramDeclaration[];
  /** It lives below plugins/ of this Core. */
  readonly tree: boolean;
  /** It was installed on the device, by plugin-store: neither the Core nor the SKU has it. */
  readonly installed?: true;
  readonly isolation: Isolation;
  /** Powerful services that were granted at the install, of a plugin that was installed on the device. */
  readonly granted?: readonly string[];
  /** The worker that it shares, and the megabytes of heap that all who share it have together. */
  readonly share?: { readonly name: string; readonly heapMB: number };
  readonly budget?: PluginBudget;
  readonly essential: boolean;
  readonly enabled: boolean;
  /** Defaults filled in, frozen. */
  readonly config: object;
  /** Why it may not start. */
  readonly refused?: { readonly code: ErrorCode; readonly message: string };
  /** The plugin itself, where it is not to be imported. */
  // biome-ignore lint/suspicious/noExplicitAny: a plugin of any services and configuration
  readonly definition?: PluginDefinition<any, any>;
}

/** Something wrong with a SKU, and what it stops: the Core, one plugin, or nothing (a plugin waits, an app lacks a grant). */
export interface Problem {
  readonly file: string;
  readonly line: number;
  readonly code: ErrorCode;
  readonly message: string;
  readonly stops: 'core' | 'plugin' | 'nothing';
  readonly plugin?: string;
}

/** The exact set that a SKU stands for, and everything that is wrong with it. */
export interface Resolved {
  /** Absolute path of the SKU, where it is a file. */
  readonly file?: string;
  /** Absent where the SKU could not be read. */
  readonly sku?: SkuManifest;
  readonly plugins: readonly PluginEntry[];
  readonly problems: readonly Problem[];
  readonly settings?: readonly PluginSettings[];
  /** The text of the SKU, as it was read: it stays in force when the file no longer can be. */
  readonly source?: SkuFamily;
}

/**
 * Reads what is to run. Of a change of what `running` says everything that is newly wrong stops the Core; `installed`
 * keeps the SKU as it is.
 */
export type Resolve = (change?: { readonly running: Resolved; readonly installed: boolean }) => Resolved;

/** Services of the kernel itself, by contract version. */
export const KERNEL_SERVICES = {
  device: '1.0.0',
  grants: '1.1.0',
  'plugin-manager': '1.2.0',
  'event-bus': '1.0.0',
  processes: '1.0.0',
  launcher: '1.0.0',
  'log-control': '1.0.0',
} as const;

export function graphNode({ id, manifest }: PluginEntry): GraphNode {
  return { id, provides: Object.keys(manifest.provides ?? {}), requires: Object.keys(manifest.requires ?? {}) };
}
