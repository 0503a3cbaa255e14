/** Use of the device by a plugin: shapes of the kernel's account of it. */

/** Callbacks that a host makes into a plugin. `lifecycle` is setup(), when() and what a scope releases. */
export const CALLBACK_KINDS = ['operation', 'event', 'hook', 'timer', 'lifecycle'] as const;
export type CallbackKind = (typeof CALLBACK_KINDS)[number];

export interface CallbackUsage {
  readonly calls: number;
  /** Callbacks that threw or rejected; of operations those whose error is not of the table. */
  readonly errors: number;
  /** Synchronous milliseconds on the event loop, without what they called of other plugins. */
  readonly busyMs: number;
  readonly longestMs: number;
}

/** Share of the event loop that a plugin may take before it is named. */
export interface UsageBudget {
  /** Milliseconds of one callback; default 50. Starting and stopping may take longer. */
  readonly stallMs: number;
  /** Percent of ten seconds; default 25. */
  readonly busyPercent: number;
}

/** A budget that was exceeded; kept for a minute. */
export interface UsageWarning {
  readonly code: 'STALL' | 'BUSY';
  readonly message: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
}

/** Counters since the Core started, kept over restarts of the plugin. */
export interface PluginUsage {
  readonly plugin: string;
  /** Use of the Core's event loop, by the kind of callback. For an isolated plugin it is the cost of carrying its calls. */
  readonly callbacks: Readonly<Record<CallbackKind, CallbackUsage>>;
  /** Sum of all kinds. */
  readonly busyMs: number;
  /** Percent of the last ten seconds. */
  readonly busyPercent: number;
  readonly errors: number;
  /** How often it kept the event loop beyond `budget.stallMs`, continuations that were found included. */
  readonly stalls: number;
  /** The longest of them and of its callbacks, starts and stops apart. */
  readonly longestMs: number;
  readonly budget: UsageBudget;
  readonly warning?: UsageWarning;
  /** Percent of one processor over the last minute: its callbacks, and its own thread or process. Absent in the status of one plugin. */
  readonly minutePercent?: number;
  /** Thread or process of an isolated plugin: CPU time since its start, and bytes of heap now. */
  readonly cpuMs?: number;
  readonly heapBytes?: number;
}

/** How late the Core's event loop is, over the last 10 to 20 seconds. */
export interface LoopUsage {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  /** Delay as `p99Ms`, without the thread's waits for a processor: the loop's own share. Absent where it is unknown. */
  readonly ownP99Ms?: number;
  /** Share of the time that it was busy, 0 to 1. */
  readonly utilization: number;
  /** Delays of 50 ms and more since the Core started, and how many of them no plugin could be named for. */
  readonly stalls: number;
  readonly unattributed: number;
}

/** Event loop time of one plugin while all running code was sampled every few milliseconds, continuations included. */
export interface SampledUsage {
  /** `core` stands for all code that is of no plugin. */
  readonly plugin: string;
  readonly busyMs: number;
  /** Without a pause. */
  readonly longestMs: number;
  /** The function that took most of it. */
  readonly where: string;
  /** Its hottest functions with their milliseconds, the hottest first, eight at most. */
  readonly functions: readonly { readonly where: string; readonly ms: number }[];
}

/** Load of the Core's process on the device, its threads with plugins included. */
export interface CoreLoad {
  /** Percent of one processor over the last minute. */
  readonly minutePercent: number;
  readonly residentBytes: number;
  readonly heapBytes: number;
  /** How many processors it may use. */
  readonly processors: number;
  /** Memory of the device. */
  readonly memory: { readonly totalBytes: number; readonly availableBytes: number };
}
