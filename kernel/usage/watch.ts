/**
 * Watches the event loop and what the plugins take of it. A callback that takes long is known to the plugin it was made
 * into (UsageBoard); a delay that no such callback explains is counted, and looked for by sampling if it comes again.
 */
import { availableParallelism, totalmem } from 'node:os';
import type {
  CallbackKind,
  CoreLoad,
  Logger,
  LoopUsage,
  PluginUsage,
  SampledUsage,
  UsageWarning,
} from '@device-core/plugin-api';
import { Delays } from './delays.ts';
import { Processor } from './processor.ts';
import { type Folder, Sampler } from './sampler.ts';
import { type PluginMeter, UsageBoard } from './usage.ts';

/** How often lateness is measured: seldom while the event loop has next to nothing to do, for waking up costs more than the rest. */
const TICK_MS = { active: 20, idle: 1_000 };
/** The loop is idle again when its thread ran for less than this share of every second, for so long. */
const IDLE = { below: 0.05, afterMs: 10_000 };
/** A delay of the event loop that users notice. */
const STALL_MS = 50;
const WINDOW_MS = 10_000;
/** Looks at the accounts, ten seconds apart: shares of the processor cover one minute. */
const LOOKS = 7;
const SECOND_MS = 1_000;
/** A timer may be due a moment before its time. */
const EARLY_MS = 5;
/** How long a warning stands, and how often it is logged for one plugin at most. */
const WARNING_MS = 60_000;
/**
 * Sampling begins when this many delays without a culprit came within WARNING_MS, not more often than this, and gives
 * up after this time.
 */
const HUNT = { delays: 3, everyMs: 300_000, forMs: 10_000 };

/** Sums of processor time so far, in milliseconds. */
interface Look {
  readonly at: number;
  readonly process: number;
  readonly plugins: ReadonlyMap<PluginMeter, number>;
}

export class Watch {
  readonly usage = new UsageBoard();
  readonly #log: Logger;
  readonly #sampler: Sampler;
  readonly #logged = new Map<string, { at: number; untold: number }>();
  /** Busy milliseconds by plugin, a list for each of the last ten seconds. */
  #history: { readonly at: number; readonly busy: ReadonlyMap<PluginMeter, number> }[] = [];
  #looks: Look[] = [];
  #timer: NodeJS.Timeout | undefined;
  #tickMs = TICK_MS.active;
  #activeAt = 0;
  readonly #processor: Processor;
  #last = 0;
  /** Milliseconds of long callbacks since the last tick. */
  #explained = 0;
  readonly #delays = new Delays();
  /** The same without the wait for a processor. */
  readonly #own = new Delays();
  #since = performance.eventLoopUtilization();
  #formerSince = this.#since;
  #windowEnds = 0;
  #secondEnds = 0;
  #stalls = 0;
  #unattributed = 0;
  #unknown: number[] = [];
  #hunt: Promise<void> | undefined;
  #hunted = Number.NEGATIVE_INFINITY;

  constructor(log: Logger, processor = new Processor(performance.now())) {
    this.#log = log;
    this.#processor = processor;
    this.#sampler = new Sampler(() => this.#folders());
    this.usage.onLong = (meter, kind, ms) => this.#long(meter, kind, ms);
  }

  start(): void {
    this.stop();
    this.#last = performance.now();
    this.#windowEnds = this.#last + WINDOW_MS;
    this.#activeAt = this.#last;
    this.#looks = [this.#look(this.#last)];
    this.#since = performance.eventLoopUtilization();
    this.#formerSince = this.#since;
    this.#tickEvery(TICK_MS.active);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#sampler.finish();
  }

  /** Questions that administrators of the device may ask. */
  readonly told = {
    usage: async () => this.plugins(),
    eventLoop: async () => this.loop(),
    load: async () => this.load(),
    sample: (ms: number) => this.sample(ms),
  };

  plugins(): readonly PluginUsage[] {
    const now = performance.now();
    const list = [...this.usage.meters].map((meter) => {
      const before = this.#looks[0]?.plugins.get(meter) ?? 0;
      return { ...meter.usage(), minutePercent: this.#percent(takenOf(meter) - before, now) };
    });
    return list.sort((a, b) => (a.plugin < b.plugin ? -1 : 1));
  }

  loop(): LoopUsage {
    const { utilization } = performance.eventLoopUtilization(this.#formerSince);
    return {
      ...this.#delays.told(),
      utilization: Math.round(utilization * 1000) / 1000,
      stalls: this.#stalls,
      unattributed: this.#unattributed,
      ownP99Ms: this.#own.told().p99Ms,
    };
  }

  load(): CoreLoad {
    const { rss, heapUsed } = process.memoryUsage();
    return {
      minutePercent: this.#percent(processMs() - (this.#looks[0]?.process ?? 0), performance.now()),
      residentBytes: rss,
      heapBytes: heapUsed,
      processors: availableParallelism(),
      memory: { totalBytes: totalmem(), availableBytes: process.availableMemory() },
    };
  }

  /** Samples all running code for `ms`, from any caller. Rejects with BUSY during another sample. */
  async sample(ms: number): Promise<readonly SampledUsage[]> {
    if (this.#hunt) this.#sampler.finish();
    await this.#hunt;
    return this.#sampler.run(ms);
  }

  #look(at: number): Look {
    const plugins = new Map([...this.usage.meters].map((meter) => [meter, takenOf(meter)]));
    return { at, process: processMs(), plugins };
  }

  /** A plugin that began anew counts from nothing. */
  #percent(ms: number, now: number): number {
    const over = Math.max(SECOND_MS, now - (this.#looks[0]?.at ?? now));
    return Math.max(0, Math.round((ms / over) * 1000) / 10);
  }

  #tickEvery(ms: number): void {
    clearInterval(this.#timer);
    this.#tickMs = ms;
    this.#timer = setInterval(() => this.#tick(), ms).unref();
  }

  #folders(): readonly Folder[] {
    return [...this.usage.meters].flatMap(({ plugin, folder }) => (folder === undefined ? [] : [[plugin, folder]]));
  }

  #tick(): void {
    const now = performance.now();
    const late = Math.max(0, now - this.#last - this.#tickMs);
    this.#last = now;
    const own = late >= STALL_MS ? this.#processor.own(late) : late; // a short delay blames no plugin
    this.#delays.record(late);
    this.#own.record(own);
    if (late >= STALL_MS) this.#stalled(late, own, now);
    this.#processor.ticked();
    this.#explained = 0;
    if (now + EARLY_MS >= this.#secondEnds) this.#second(now);
    if (now >= this.#windowEnds) this.#rotate(now);
  }

  #stalled(late: number, own: number, now: number): void {
    this.#stalls++;
    // A thread without a processor shows no code, and a search would take the little time that it has.
    if (this.#explained >= late / 2 || own < STALL_MS) return;
    this.#activeAt = now; // a loop that is blocked, too, is looked at often: it does not run
    if (this.#sampler.running) {
      if (this.#hunt && this.#sampler.looking) this.#sampler.finish();
      return;
    }
    this.#unattributed++;
    this.#unknown = [...this.#unknown.filter((at) => now - at < WARNING_MS), now].slice(-HUNT.delays);
    this.#log.debug({ ms: Math.round(late) }, 'the event loop was late, and no callback explains it');
    if (this.#unknown.length < HUNT.delays || now - this.#hunted < HUNT.everyMs) return;
    this.#hunted = now;
    this.#hunt = this.#seek().finally(() => {
      this.#hunt = undefined;
    });
  }

  /** Waits for the next such delay with the sampler on: it sees continuations and what Node calls directly. */
  async #seek(): Promise<void> {
    try {
      const found = await this.#sampler.run(HUNT.forMs);
      for (const { plugin, longestMs, where } of found) {
        const meter = this.usage.find(plugin);
        if (!meter || longestMs < meter.budget.stallMs) continue;
        meter.continued(longestMs);
        meter.stalls++;
        const what = `it blocked the event loop for ${Math.round(longestMs)} ms outside of a callback of the host, in ${where}`;
        this.#warn(meter, 'STALL', what, { ms: longestMs, where });
      }
    } catch (err) {
      this.#log.debug({ err }, 'cannot look for what delays the event loop');
    }
  }

  #long(meter: PluginMeter, kind: CallbackKind, ms: number): void {
    this.#explained += ms;
    const { stallMs } = meter.budget;
    if (ms < stallMs || kind === 'lifecycle') return;
    meter.stalls++;
    const what = `it blocked the event loop for ${Math.round(ms)} ms in one callback (${kind}), its budget is ${stallMs} ms`;
    this.#warn(meter, 'STALL', what, { kind, ms });
  }

  #second(now: number): void {
    this.#secondEnds = now + SECOND_MS;
    if (this.#processor.busy(now) >= IDLE.below) this.#activeAt = now;
    const wanted = now - this.#activeAt < IDLE.afterMs ? TICK_MS.active : TICK_MS.idle;
    if (wanted !== this.#tickMs) this.#tickEvery(wanted);
    const meters = [...this.usage.meters];
    const oldest = this.#history[0];
    for (const meter of meters) {
      const busy = meter.busyMs - (oldest?.busy.get(meter) ?? 0);
      meter.busyPercent = Math.round((busy / Math.max(WINDOW_MS, now - (oldest?.at ?? now))) * 1000) / 10;
      const { busyPercent } = meter.budget;
      if (meter.busyPercent >= busyPercent) {
        const what = `it kept the event loop busy for ${meter.busyPercent} % of ten seconds, its budget is ${busyPercent} %`;
        this.#warn(meter, 'BUSY', what, { busyPercent: meter.busyPercent });
      } else if (meter.warning && now - meter.warned > WARNING_MS) meter.warning = undefined;
    }
    this.#history.push({ at: now, busy: new Map(meters.map((meter) => [meter, meter.busyMs])) });
    if (this.#history.length > WINDOW_MS / SECOND_MS) this.#history.shift();
  }

  /** Told in /health for a minute; in the log once a minute, with the number of those that were not logged. */
  #warn(meter: PluginMeter, code: UsageWarning['code'], message: string, details: object): void {
    const at = performance.now();
    meter.warning = { code, message, at: Date.now() };
    meter.warned = at;
    const { plugin } = meter;
    const told = this.#logged.get(`${plugin} ${code}`) ?? { at: Number.NEGATIVE_INFINITY, untold: 0 };
    this.#logged.set(`${plugin} ${code}`, told);
    if (at - told.at < WARNING_MS) {
      told.untold++;
      return;
    }
    this.#log.warn({ plugin, code, ...details, untold: told.untold }, `plugin ${plugin}: ${message}`);
    Object.assign(told, { at, untold: 0 });
  }

  #rotate(now: number): void {
    this.#windowEnds = now + WINDOW_MS;
    this.#looks.push(this.#look(now));
    if (this.#looks.length > LOOKS) this.#looks.shift();
    this.#delays.rotate();
    this.#own.rotate();
    this.#formerSince = this.#since;
    this.#since = performance.eventLoopUtilization();
  }
}

/** Time of callbacks here plus that of the plugin's thread or process, if it has one. */
const takenOf = ({ busyMs, guest }: PluginMeter): number => busyMs + (guest.cpuMs ?? 0);

function processMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
