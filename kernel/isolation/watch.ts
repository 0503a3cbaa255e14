import { readFileSync } from 'node:fs';
import { type CoreError, type PluginBudget, STRETCH, spentText } from '@device-core/plugin-api';
import type { GuestUsage } from './guest/protocol.ts';
import { crash, HEAP_MB } from './launch.ts';

export const WATCH = {
  /** Between two pings. */
  intervalMs: 1_000,
  /** A guest that answers no ping for this long hangs. */
  silentMs: 5_000,
  /** Messages that a guest may begin in a second, where its budget says nothing. */
  messagesPerSecond: 20_000,
  /** Memory outside of the heap, beside Node's own, in megabytes. */
  outsideMB: 192,
};
export type WatchLimits = Readonly<typeof WATCH>;
const PAGE = 4_096;
const PROCESSOR_MS = 10_000;

export interface WatchOptions {
  readonly plugin: string;
  readonly budget: PluginBudget;
  readonly limits: WatchLimits;
  /** Process id of the guest; undefined for a worker, and while there is none. */
  readonly program: () => number | undefined;
  /** Milliseconds so far that the guest waited for a processor. */
  readonly waitedMs: () => number;
  readonly onCrash: (error: CoreError) => void;
  readonly onBusy: (percent: number, allowed: number) => void;
}

/** Finds out that a guest hangs, floods, or takes more memory than it may. */
export class Watch {
  readonly #options: WatchOptions;
  #silent = { ownMs: 0, wallMs: 0 };
  #waitedMs = 0;
  #processor = { at: 0, ms: 0 };
  #second = 0;
  #messages = 0;

  constructor(options: WatchOptions) {
    this.#options = options;
  }

  /** To be called each interval: counts what was not answered, so that a Core that was busy itself blames nobody. */
  tick(): void {
    const { intervalMs, silentMs } = this.#options.limits;
    const { ownMs, wallMs } = this.#silent;
    if (ownMs >= silentMs) {
      const spent = { ownMs: Math.round(ownMs), wallMs };
      this.#crash(
        `it hangs: it did not answer for ${wallMs > silentMs * 2 ? spentText(silentMs, spent) : `${wallMs} ms`}`,
      );
    }
    const waitedMs = this.#options.waitedMs();
    // A guest that got no processor could not answer; by the clock it has six times as long at most.
    this.#silent.ownMs += Math.max(intervalMs / STRETCH, intervalMs - (waitedMs - this.#waitedMs));
    this.#silent.wallMs += intervalMs;
    this.#waitedMs = waitedMs;
    this.#checkResident(this.#options.program());
  }

  alive({ heapBytes, externalBytes, cpuMs }: GuestUsage): void {
    this.#silent = { ownMs: 0, wallMs: 0 };
    this.#checkProcessor(cpuMs);
    const allowed = this.#heapMB + this.#options.limits.outsideMB;
    if (heapBytes + externalBytes > allowed * 2 ** 20)
      this.#crash(`its memory grew to ${toMB(heapBytes + externalBytes)} MB, ${allowed} MB are allowed`);
  }

  /** To be called for each message that the guest begins. */
  message(): void {
    const limit = this.#options.budget.messagesPerSecond ?? this.#options.limits.messagesPerSecond;
    const second = Math.floor(performance.now() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#messages = 0;
    }
    this.#messages++;
    if (this.#messages === limit + 1) this.#crash(`it flooded the Core: more than ${limit} messages in a second`);
  }

  /** More than its budget for ten seconds is told; it harms others only as far as the system lets it. */
  #checkProcessor(cpuMs: number): void {
    const { cpuPercent } = this.#options.budget;
    const now = performance.now();
    const { at, ms } = this.#processor;
    if (at > 0 && now - at < PROCESSOR_MS) return;
    this.#processor = { at: now, ms: cpuMs };
    const percent = Math.round(((cpuMs - ms) / (now - at)) * 100);
    if (at > 0 && cpuPercent !== undefined && percent > cpuPercent) this.#options.onBusy(percent, cpuPercent);
  }

  get #heapMB(): number {
    return this.#options.budget.heapMB ?? HEAP_MB;
  }

  /** Buffers do not count as heap, but as memory of the process. */
  #checkResident(pid: number | undefined): void {
    if (pid === undefined) return;
    let pages: number;
    try {
      pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1]);
    } catch {
      return; // it has just ended, which is told elsewhere
    }
    const allowed = this.#heapMB + this.#options.limits.outsideMB;
    if (pages * PAGE > allowed * 2 ** 20)
      this.#crash(`its memory grew to ${toMB(pages * PAGE)} MB, ${allowed} MB are allowed`);
  }

  #crash(reason: string): void {
    this.#options.onCrash(crash(this.#options.plugin, reason));
  }
}

function toMB(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
