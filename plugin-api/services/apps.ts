import type { GuestLimits } from '../contract/app-spec.ts';
import type { CapabilityId } from '../contract/capabilities.ts';
import type { JsonSchema } from '../contract/json-schema.ts';
import { serviceRef } from '../contract/service-ref.ts';
import type { FunctionEntry } from './functions.ts';

/** `app.yaml` (decisions D11). */
export interface AppManifest {
  readonly manifestVersion: 1;
  /** Reverse domain. */
  readonly id: string;
  /** Unit and socket path. */
  readonly name: string;
  readonly version: string;
  readonly title: string;
  readonly description?: string;
  readonly author?: string;
  readonly license?: string;
  /** A PNG of at most 64 KiB in its folder. */
  readonly icon?: string;
  /** By language tag: `de`. */
  readonly locales?: Readonly<Record<string, { readonly title?: string; readonly description?: string }>>;
  readonly minCore?: string;
  /** Default `any`. */
  readonly platform?: 'any' | readonly ('linux-x64' | 'linux-arm64')[];
  /** Told from the command if absent. `version` is a semver range. */
  readonly runtime?: { readonly kind: 'node' | 'python' | 'native' | 'static'; readonly version?: string };
  readonly exec: {
    readonly command: string;
    readonly args?: readonly string[];
    /** Constants, no secrets. */
    readonly env?: Readonly<Record<string, string>>;
  };
  /** `ports` of `network.outbound:<host>` only; 443 if absent. */
  readonly capabilities: readonly {
    readonly id: CapabilityId;
    readonly ports?: readonly number[];
    readonly reason: string;
    readonly optional?: boolean;
  }[];
  readonly functions?: readonly FunctionEntry[];
  readonly events?: {
    readonly subscribe?: readonly string[];
    readonly publish?: readonly string[];
    /** Topics, or filters, below `app.<its id>.` that every identified app may read. */
    readonly public?: readonly string[];
  };
  /** `secrets`: names of values that are kept as secrets. */
  readonly config?: { readonly schema?: JsonSchema; readonly defaults?: object; readonly secrets?: readonly string[] };
  readonly resources?: Readonly<Partial<GuestLimits>>;
  readonly lifecycle?: {
    /** `on-demand`: with the first call of one of its functions. */
    readonly autostart?: boolean | 'on-demand';
    /** Apps that start before it, where they are there. */
    readonly after?: readonly string[];
    /** Idle milliseconds before an `on-demand` app is stopped: so long without a call. */
    readonly idleStopMs?: number;
    readonly startTimeoutMs?: number;
    readonly stopTimeoutMs?: number;
    readonly restart?: 'always' | 'on-failure' | 'never';
  };
  readonly health?: {
    readonly kind: 'session' | 'report' | 'none';
    readonly intervalMs?: number;
    readonly liveness?: { readonly intervalMs?: number; readonly timeoutMs?: number; readonly failures?: number };
  };
  /** Form of its files, raised when a version changes it. */
  readonly data?: { readonly version: number; readonly migrateTimeoutMs?: number };
  readonly ui?: {
    readonly surfaces?: readonly {
      readonly id: string;
      readonly kind: 'page' | 'widget' | 'idle';
      readonly title: string;
    }[];
    readonly settings?: boolean;
  };
  /** `breaking`: versions that are never taken unasked. */
  readonly update?: { readonly channel?: string; readonly breaking?: readonly string[] };
}

export const APP_STATES = ['stopped', 'starting', 'running', 'stopping', 'backoff', 'failed', 'quarantined'] as const;
export type AppState = (typeof APP_STATES)[number];

/** The state of an app or a plugin as the predicate of a sentence: `is running`, `waits after a crash`. */
export function stateText(state: string): string {
  return state === 'backoff' ? 'waits after a crash' : `is ${state}`;
}

/** A part of a manifest that is not in force although the app runs. */
export interface AppLeftOut {
  /** `config`, `network.outbound`, `function <name>`, or another member of the manifest. */
  readonly part: string;
  readonly reason: string;
  /** The part is right, and this Core has no use for it: no fault of the app. */
  readonly unused?: true;
  /** The capability that is missing, where that is the reason, and the line that would grant it. */
  readonly capability?: string;
  readonly hint?: string;
}

export interface AppStatus {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly title: string;
  readonly state: AppState;
  /** Why it is in this state, with the line of its output that says why it crashed; not for other apps. */
  readonly reason?: string;
  /** Why its app.yaml cannot be used now, with file and line: the last good one is in force until it is mended. Not for other apps. */
  readonly complaint?: string;
  /** Milliseconds since the Unix epoch of the last change of state; 0 for an app whose manifest cannot be used. */
  readonly since: number;
  readonly pid?: number;
  /** How often it was restarted after a crash. */
  readonly restarts: number;
  /** Last unrequested end: its reason, its time (milliseconds since the Unix epoch) and the count of such ends. Not for other apps. */
  readonly lastEnd?: { readonly reason: string; readonly at: number; readonly count: number };
  /** Declared and granted. */
  readonly capabilities: readonly string[];
  /** Declared but not granted on this device, each with what would grant it, and the line or the answer by which it is not. */
  readonly denied: readonly { readonly capability: string; readonly hint: string; readonly why?: string }[];
  /** Parts of its manifest that are not in force. */
  readonly leftOut: readonly AppLeftOut[];
  /** Last health report of the app, with its time (milliseconds since the Unix epoch). */
  readonly health?: { readonly status: string; readonly message?: string; readonly at: number };
}

/** Apps as child processes with a socket, a token and grants of their own. */
export interface Apps {
  list(): Promise<readonly AppStatus[]>;
  /** Throws APP_NOT_FOUND. */
  status(app: string): Promise<AppStatus>;
  /** Throws APP_NOT_FOUND, MANIFEST_INVALID, CAPABILITY_UNKNOWN, as the three below do. `app` is an id or a short name everywhere. */
  manifest(app: string): Promise<AppManifest>;
  /** Resolves when it is running (or failed to). Releases a quarantine. */
  start(app: string): Promise<AppStatus>;
  /** Resolves when none of its processes is left. */
  stop(app: string): Promise<AppStatus>;
  restart(app: string): Promise<AppStatus>;
  /** Checks the manifest of a folder as that of an app that is there. Nothing of it runs. Throws MANIFEST_INVALID, CAPABILITY_UNKNOWN. */
  inspect(folder: string): Promise<AppManifest>;
  /**
   * Does `work` while nothing of the app runs and its data are the Core's, to be read or exchanged; what ran before
   * runs again afterwards. By id, also for the data of an app that is not there any more. Rejects with what `work`
   * throws, or before it begins: WARDEN_REFUSED, UNAVAILABLE.
   */
  borrow(app: string, work: () => Promise<void>): Promise<void>;
  /**
   * A file of the package, by its path inside of it. Throws APP_NOT_FOUND, PARAMS_INVALID (a path or a link that leads
   * out of the package, no file, more than `limit` bytes).
   */
  file(app: string, path: string, limit: number): Promise<Uint8Array>;
  /** Looks for apps anew: those that went are stopped, changed ones begin anew, new ones start. Resolves when that is done. */
  refresh(): Promise<void>;
  /** After each change of a state, and of the list: an app that came, and one that went, which `list` no longer has. */
  onChange(listener: (status: AppStatus) => void): Disposable;
}

export const apps = serviceRef<Apps>('apps', '1.1.0', 'powerful', 'starts and stops apps and reads their files');
