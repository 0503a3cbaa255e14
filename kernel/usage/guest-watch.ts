import { type PluginBudget, STRETCH, spentText } from '@device-core/plugin-api';

/** Time and memory of a guest so far, as it tells them itself. */
export interface GuestUsage {
  readonly cpuMs: number;
  readonly heapBytes: number;
  /** Memory outside of the heap: buffers. */
  readonly externalBytes: number;
  /** The system's number of a worker's thread. */
  readonly thread?: number;
}

export const GUEST_LIMITS = {
  /** Between two pings. */
  intervalMs: 1_000,
  /** A guest that answers no ping for this long hangs. */
  silentMs: 5_000,
  /** Its messages keep the event loop for this long at most, before everybody else has a turn. */
  turnMs: 1,
  /** Memory of a process beside its heap, Node's own among it, in megabytes. */
  outsideMB: 192,
  /** Buffers of a worker count against its heap; so much more may wait for V8 to collect it, in megabytes. */
  uncollectedMB: 64,
};
export type GuestLimits = Readonly<typeof GUEST_LIMITS>;
/**
 * Percent of the Core's busy time that the messages of a guest may take, where its budget says nothing; less than half
 * of that of all time is nothing. More is too loud when it took that part of ten seconds of a processor; half of that
 * is forgiven for each second without.
 */
const LOUD = { percent: 25, ofMs: 10_000 };
const PROCESSOR_MS = 10_000;

export interface GuestWatchOptions {
  readonly budget: PluginBudget;
  readonly limits: GuestLimits;
  /** Bytes that it holds, buffers included, asked without its help; undefined when it has just ended. Never rejects. */
  readonly memory: () => Promise<number | undefined>;
  /** Milliseconds so far that the guest waited for a processor. */
  readonly waitedMs: () => number;
  /** The guest must be ended, for that reason; `all`: any plugin of its worker may be the culprit. */
  readonly onVerdict: (reason: string, blame: 'it' | 'all') => void;
  readonly heapMB: number;
  /** It is a thread of the Core: Node's own memory is not among what it holds. */
  readonly isThread?: boolean;
  readonly onBusy: (percent: number, allowed: number) => void;
}

/** Finds out that a guest hangs, floods, or takes more memory than it may. */
export class GuestWatch {
  readonly #options: GuestWatchOptions;
  #silent = { ownMs: 0, wallMs: 0 };
  #waitedMs = 0;
  #asking = false;
  #processor = { at: 0, ms: 0 };
  #tokens = Number.NaN;
  #refilled = 0;
  #spentMs = 0;
  #loudMs = 0;
  #loop = performance.eventLoopUtilization();
  #cpu = process.threadCpuUsage();

  constructor(options: GuestWatchOptions) {
    this.#options = options;
  }

  /** The owner calls it each interval: it counts the time without an answer, so that a busy Core blames no guest. */
  tick(): void {
    const { intervalMs, silentMs } = this.#options.limits;
    const { ownMs, wallMs } = this.#silent;
    if (ownMs >= silentMs) {
      const spent = { ownMs: Math.round(ownMs), wallMs };
      const told = wallMs > silentMs * 2 ? spentText(silentMs, spent) : `${wallMs} ms`;
      this.#options.onVerdict(`it hangs: it did not answer for ${told}`, 'all');
    }
    const waitedMs = this.#options.waitedMs();
    // A guest that got no processor could not answer; by the clock it has six times as long at most.
    this.#silent.ownMs += Math.max(intervalMs / STRETCH, intervalMs - (waitedMs - this.#waitedMs));
    this.#silent.wallMs += intervalMs;
    this.#waitedMs = waitedMs;
    this.#checkShare();
    void this.#checkMemory();
  }

  alive({ cpuMs }: GuestUsage): void {
    this.#silent = { ownMs: 0, wallMs: 0 };
    this.#checkProcessor(cpuMs);
  }

  /** To be called for each message that the guest begins: its own manifest may say how many are too many. */
  message(): void {
    const { messagesPerSecond: rate } = this.#options.budget;
    if (rate === undefined) return;
    const now = performance.now();
    const refill = ((now - this.#refilled) / 1_000) * rate;
    this.#refilled = now;
    // The Core may have been late itself.
    this.#tokens = Number.isNaN(this.#tokens) ? rate : Math.min(STRETCH * rate, this.#tokens + refill);
    this.#tokens--;
    if (this.#tokens < 0) this.#options.onVerdict(`it flooded the Core: more than ${rate} messages in a second`, 'it');
  }

  /**
   * To be called with the milliseconds that its messages took of the Core. Who is heard lives: who never reads is soon
   * not let send, either.
   */
  spent(ms: number): void {
    this.#silent = { ownMs: 0, wallMs: 0 };
    this.#spentMs += ms;
  }

  /**
   * Whether its messages are too loud. Both times of a share stretch alike where the Core has to wait for a processor;
   * the verdict counts processor time, which does not.
   */
  #checkShare(): void {
    const { active, idle } = performance.eventLoopUtilization(this.#loop);
    const { user, system } = process.threadCpuUsage(this.#cpu);
    const share = Math.min(1, this.#spentMs / Math.max(1, active));
    const ofAll = this.#spentMs / Math.max(1, active + idle);
    this.#loop = performance.eventLoopUtilization();
    this.#cpu = process.threadCpuUsage();
    this.#spentMs = 0;
    const percent = this.#options.budget.busyPercent ?? LOUD.percent;
    if (share * 100 < percent || ofAll * 200 < percent) {
      this.#loudMs /= 2;
      return;
    }
    this.#loudMs += (share * (user + system)) / 1_000;
    if (this.#loudMs < (percent / 100) * LOUD.ofMs) return;
    const took = `its messages took ${Math.round(this.#loudMs)} ms of the Core's processor time`;
    this.#options.onVerdict(`it flooded the Core: ${took}, more than ${percent} % all the while`, 'it');
  }

  /** Use above the budget for ten seconds is reported; the system's limits protect the others. */
  #checkProcessor(cpuMs: number): void {
    const { cpuPercent } = this.#options.budget;
    const now = performance.now();
    const { at, ms } = this.#processor;
    if (at > 0 && now - at < PROCESSOR_MS) return;
    this.#processor = { at: now, ms: cpuMs };
    const percent = Math.round(((cpuMs - ms) / (now - at)) * 100);
    if (at > 0 && cpuPercent !== undefined && percent > cpuPercent) this.#options.onBusy(percent, cpuPercent);
  }

  async #checkMemory(): Promise<void> {
    const { memory, heapMB, isThread = false, limits, onVerdict } = this.#options;
    if (this.#asking) return;
    this.#asking = true;
    const bytes = await memory();
    this.#asking = false;
    const beside = isThread ? limits.uncollectedMB : limits.outsideMB;
    const allowed = heapMB + beside;
    if (bytes !== undefined && bytes > allowed * 2 ** 20) {
      const sum = `heapMB of ${heapMB}, and ${beside}`;
      onVerdict(`its memory grew to ${toMB(bytes)} MB, ${allowed} MB are allowed (${sum})`, 'all');
    }
  }
}

function toMB(bytes: number): number {
  return Math.ceil(bytes / 2 ** 20);
}
