import type { SandboxSpec } from './run-spec.ts';

/** A host that a guest may reach by name. */
export interface NamedHost {
  /** Lower case, no IP address, no wildcard. */
  readonly host: string;
  /** TCP ports. */
  readonly ports: readonly number[];
}

/** A device node that was granted by its name in the SKU. */
export interface GrantedNode {
  /** Name in the SKU: `camera`. */
  readonly name: string;
  /** Absolute: `/dev/video0`. */
  readonly path: string;
  readonly access: 'r' | 'rw';
  /** Group that may open the node. */
  readonly group?: string;
}

/** Limits of one run. */
export interface GuestLimits {
  readonly memoryMaxMB: number;
  /** Percent of one processor; in force from READY on. */
  readonly cpuPercent: number;
  readonly tasksMax: number;
  /** Size of its data folder. */
  readonly storageMB: number;
  /** Size of its cache folder. */
  readonly cacheMB: number;
  readonly openFiles: number;
  /** KiB of output a second. */
  readonly logKBps: number;
}

/**
 * One run of an app, or of a plugin in a process: what it may see, reach and take. Plain data, made by `specOf` from a
 * manifest, grants, the SKU and the places of the device. Everything that the system's kernel enforces is a pure
 * function of it; what is not in it does not exist inside.
 */
export interface AppSpec extends SandboxSpec {
  readonly form: 1;
  readonly kind: 'app' | 'plugin';
  /** `<service>` of the device: `device`. */
  readonly service: string;
  readonly id: string;
  readonly title: string;
  readonly version: string;
  /** Folder of its code: below the store, or a developer's. */
  readonly code: string;
  /** Its own folders; an app without `storage-scoped` has none. */
  readonly data?: string;
  readonly cache?: string;
  /** Folder with its own socket (and `egress.sock` where hosts are named). */
  readonly run: string;
  /** The folder of the shared socket. */
  readonly shared?: string;
  /** `none` inside the sandbox, and a way to these hosts by the proxy of the device; only with network `hosts`. */
  readonly hosts: readonly NamedHost[];
  /** It may accept connections; only with network `open`. */
  readonly listen: boolean;
  readonly devices: readonly GrantedNode[];
  readonly limits: GuestLimits;
  readonly stopTimeoutMs: number;
  /** `static`: nothing of the system's own programs and libraries is seen. */
  readonly runtime: 'node' | 'python' | 'native' | 'static';
}
