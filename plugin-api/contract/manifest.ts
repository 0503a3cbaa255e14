/** Manifests of plugins and SKUs. Data, not code: read and checked before any plugin module is imported. */
import type { CapabilityId } from './capabilities.ts';
import type { FlagDeclaration } from './flag-declaration.ts';
import type { PluginPage } from './plugin-page.ts';

/** Place of a plugin's run. The same plugin, contracts and tests serve all three. */
export type Isolation = 'inline' | 'worker' | 'process';

/** Budget of a plugin. The first two are of the Core's event loop and warn; the others are limits of an isolated plugin. */
export interface PluginBudget {
  /** Milliseconds of one callback; default 50. */
  readonly stallMs?: number;
  /** Percent of ten seconds; default 25. */
  readonly busyPercent?: number;
  readonly heapMB?: number;
  readonly cpuPercent?: number;
  readonly messagesPerSecond?: number;
}

/** A command of devicectl that does more than one operation: a module of the plugin, loaded by devicectl and never by the Core. */
export interface ProgramDeclaration {
  /** `plugin check`, of small words; with `aliases`, all that it is called by. */
  readonly command: string;
  readonly aliases?: readonly string[];
  /** One line for the operator. */
  readonly summary: string;
  /**
   * Module that exports `program` (`@device-core/plugin-api/program`), relative to the manifest's own file, in the
   * folder of `main` or below.
   */
  readonly main: string;
  /** False: it works without a Core. Default true. */
  readonly needsCore?: boolean;
}

export interface PluginManifest {
  /** Kebab case; equals the folder name for plugins of the tree. */
  readonly id: string;
  /** semver of the plugin. */
  readonly version: string;
  /** One line for an OEM. */
  readonly summary: string;
  /** semver range of plugin-api. */
  readonly api: string;
  /** Module that exports `plugin`, relative to the manifest's own file. */
  readonly main: string;
  /** Service id -> contract version, `{ spi: '1.2.0' }`. */
  readonly provides?: Readonly<Record<string, string>>;
  /** Service id -> range; while one is absent the plugin waits, it never starts half. */
  readonly requires?: Readonly<Record<string, string>>;
  /** Service id -> range; used through `host.when()`. */
  readonly optional?: Readonly<Record<string, string>>;
  /** Names that it brings into a service of another, by kind: `{ tts: ['flite'] }`; `*` stands for names that its configuration makes. */
  readonly offers?: Readonly<Record<string, readonly string[]>>;
  /** Settings that name what others offer: path of a list -> kind, and the service into which these are brought. */
  readonly refers?: Readonly<Record<string, { readonly kind: string; readonly service: string }>>;
  /** Hooks it owns (creates and calls). */
  readonly hooks?: readonly string[];
  /** Hooks it taps; an undeclared tap is an error. */
  readonly taps?: readonly string[];
  /** Host powers it needs itself (device nodes, network, files). */
  readonly capabilities?: readonly CapabilityId[];
  /** Event topic filters it publishes within. */
  readonly publishes?: readonly string[];
  /** JSON Schema of its configuration section; defaults in it are filled in. */
  readonly config?: Readonly<Record<string, unknown>>;
  /** Least isolation it bears; a SKU may ask for more. Default for plugins outside the tree: 'process'. */
  readonly isolation?: Isolation;
  /** For simulated devices alone: a SKU without `simulated: true` cannot have it. */
  readonly simulated?: true;
  /** Name of the worker that it shares with others of the tree that say the same, where it runs in a worker. */
  readonly share?: string;
  /** At which levels it cannot run, and why. */
  readonly refuses?: Readonly<Partial<Record<Exclude<Isolation, 'inline'>, string>>>;
  /**
   * Files and folders that it needs beside its own when it runs in a process; `{etc}`, `{var}` and `{run}` stand for
   * the device's folders.
   */
  readonly files?: { readonly read?: readonly string[]; readonly write?: readonly string[] };
  /**
   * Files below `{var}` that it keeps and other versions of it may find: by path, `*` for one name, `changes/*.json`.
   * The state that an image says it reads and writes is put together from these. A plugin writes a file of another form
   * beside the old one: openForms().
   */
  readonly state?: Readonly<Record<string, StateForms>>;
  readonly budget?: PluginBudget;
  /** It is imported and started before plugins that do not say so: for those that make a device answer, and small. Of the tree only. */
  readonly early?: boolean;
  /** Commands of devicectl that come with it. */
  readonly programs?: readonly ProgramDeclaration[];
  /** Pages of it as data, which the page of the device draws. */
  readonly pages?: readonly PluginPage[];
  /** Feature flags that it reads, by name; the service `flags` has their values. */
  readonly flags?: Readonly<Record<string, FlagDeclaration>>;
  /** Default 10,000. */
  readonly startTimeoutMs?: number;
  /** Default 5,000. */
  readonly stopTimeoutMs?: number;
}

/** Numbers of the forms of a file of state. */
export interface StateForms {
  readonly reads: readonly number[];
  readonly writes: number;
}

/** One plugin line of a SKU; a bare string is `{ version }`. */
export interface SkuPlugin {
  /** semver range of the plugin. */
  readonly version: string;
  /** Folder or manifest file of a plugin outside the tree, relative to the SKU file. */
  readonly path?: string;
  readonly isolation?: Isolation;
  /**
   * Plugins with the same name run in one worker, and trust each other with all that they have. `false`: in a separate
   * one, against its manifest.
   */
  readonly share?: string | false;
  /** Over that of the manifest, member by member. */
  readonly budget?: PluginBudget;
  /** The Core is `failed`, not `degraded`, without it. */
  readonly essential?: boolean;
  readonly enabled?: boolean;
  readonly config?: Readonly<Record<string, unknown>>;
}

export interface SkuManifest {
  readonly skuVersion: 1;
  readonly id: string;
  readonly title: string;
  /** `<service>` of the specification; default `device`. */
  readonly service?: string;
  /** The hardware is simulated: allows `auth: open` and development conveniences. */
  readonly simulated?: boolean;
  /** `open` exists for tests of a simulated SKU only. */
  readonly auth?: 'token' | 'open';
  readonly plugins: Readonly<Record<string, string | SkuPlugin>>;
  /** Plugins of this SKU whose lines safe mode keeps, with their configuration. */
  readonly safeMode?: readonly string[];
  /** App id (or `*`) -> capabilities beyond class `normal` that this device grants. */
  readonly grants?: Readonly<Record<string, readonly string[]>>;
}
