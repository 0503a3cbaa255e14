/** Timers that ring. They are kept in a file, so that a timer outlives the plugin and the Core; one that ended meanwhile rings late. */
import { CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import { Listeners } from '@device-core/plugin-api/operation-kit';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Timer, TimersState } from '@device-core/plugin-api/services/timers';
import { Bell } from '../shared/bell.ts';

const FORM: KeptForm<readonly Timer[]> = {
  form: 1,
  initial: [],
  consequence: 'timers do not outlive a restart',
  format: (timers) => ({ timers }),
  parse: ({ timers }) => (Array.isArray(timers) ? timers : undefined),
};

/** `stopped`: its alarm is over. */
export type TimerChange = 'set' | 'rang' | 'stopped' | 'cancelled';

export interface TimersOptions {
  readonly file: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly most: number;
  /** Plays the alarm once, and resolves when it was heard; rejects with the reason where it cannot. */
  readonly alarm: (signal: AbortSignal) => Promise<void>;
  readonly told: (change: TimerChange, timer: Timer) => void;
}

export const LONGEST_SECONDS = 24 * 3_600;
/** A timer that ended longer ago than this, while the device was off, is told and not rung. */
const LATEST_MS = 3_600_000;
const RING_MS = 30_000;
const CHANGE = 'change';

interface Running {
  readonly timer: Timer;
  readonly clock: Disposable;
  /** Milliseconds of the monotonic clock. */
  readonly due: number;
}

export class Timers {
  readonly #options: TimersOptions;
  readonly #timers = new Map<string, Running>();
  /** First that rang first. */
  #ringing: readonly Timer[] = [];
  readonly #bell: Bell;
  readonly #listeners: Listeners<TimersState>;
  readonly #file: KeptFile<readonly Timer[]>;
  #count = 0;

  private constructor(options: TimersOptions, file: KeptFile<readonly Timer[]>) {
    this.#options = options;
    const { scope, log, alarm: sound } = options;
    this.#bell = new Bell({ scope, log, what: 'a timer', sound });
    this.#file = file;
    this.#listeners = new Listeners(options.log);
  }

  static async open(options: TimersOptions): Promise<Timers> {
    const { file, scope, log } = options;
    const timers = new Timers(options, await KeptFile.open(file, FORM, scope, log));
    for (const timer of timers.#sound(timers.#file.value)) timers.#start(timer);
    options.scope.defer('alarm', () => void timers.silence());
    return timers;
  }

  /** Soonest first. */
  get list(): readonly Timer[] {
    return [...this.#timers.values()].map(({ timer }) => timer).sort((one, other) => one.at - other.at);
  }

  /** Seconds that each still has, soonest first. */
  get left(): readonly number[] {
    const now = this.#options.scope.clock.monotonic();
    const dues = [...this.#timers.values()].map(({ due }) => due).sort((one, other) => one - other);
    return dues.map((due) => Math.max(0, Math.round((due - now) / 1_000)));
  }

  get state(): TimersState {
    return { running: this.list, ringing: this.#ringing };
  }

  onChange(listener: (state: TimersState) => void): Disposable {
    return this.#listeners.add(CHANGE, listener);
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'intent.timers');
  }

  /**
   * `kept`: it survives a loss of power. One that the disk does not take rings all the same, unless the Core ends
   * before. Rejects with QUEUE_FULL.
   */
  async set(seconds: number): Promise<Timer & { readonly kept: boolean }> {
    const { most } = this.#options;
    if (this.#timers.size >= most)
      throw new CoreError('QUEUE_FULL', { what: 'a timer', reason: `there are ${most} already`, retryAfterMs: 60_000 });
    this.#count += 1;
    const now = this.#options.scope.clock.now();
    const timer: Timer = { id: `${now.toString(36)}-${this.#count}`, at: now + seconds * 1_000, seconds };
    this.#start(timer);
    this.#tell('set', timer);
    return { ...timer, kept: await this.#save() };
  }

  async cancelAll(): Promise<number> {
    const all = [...this.#timers.values()];
    this.#timers.clear();
    for (const { timer, clock } of all) {
      clock[Symbol.dispose]();
      this.#tell('cancelled', timer);
    }
    if (all.length > 0) await this.#save();
    return all.length;
  }

  /** One that runs or rings. False where there is none of this id. */
  async cancel(id: string): Promise<boolean> {
    const rang = this.#ringing.find((timer) => timer.id === id);
    if (rang && this.#ringing.length === 1) return this.silence();
    if (rang) {
      this.#ringing = this.#ringing.filter((timer) => timer !== rang);
      this.#tell('stopped', rang);
      return true;
    }
    const running = this.#timers.get(id);
    if (!running) return false;
    this.#timers.delete(id);
    running.clock[Symbol.dispose]();
    this.#tell('cancelled', running.timer);
    await this.#save();
    return true;
  }

  /** Ends the alarm. True where there was one. */
  silence(): boolean {
    const rang = this.#ringing;
    this.#ringing = [];
    this.#bell.stop();
    for (const timer of rang) this.#tell('stopped', timer);
    return rang.length > 0;
  }

  #tell(change: TimerChange, timer: Timer): void {
    if (this.#options.scope.signal.aborted) return;
    this.#options.told(change, timer);
    this.#listeners.tell(CHANGE, this.state);
  }

  /** From here on the time of day may be set as anybody likes: a timer is a length. */
  #start(timer: Timer): void {
    const { scope } = this.#options;
    const ms = timer.at - scope.clock.now();
    const clock = scope.timeout(`timer ${timer.id}`, Math.max(0, ms), () => this.#end(timer, -ms));
    this.#timers.set(timer.id, { timer, clock, due: scope.clock.monotonic() + ms });
  }

  /** `late`: milliseconds since it should have rung, when the plugin began. */
  async #end(timer: Timer, late: number): Promise<void> {
    const rings = late <= LATEST_MS;
    this.#timers.delete(timer.id);
    if (rings) this.#ringing = [...this.#ringing, timer];
    this.#tell('rang', timer);
    if (!rings) this.#options.log.warn({ timer, late }, 'a timer ended while the device was off, too long ago to ring');
    await Promise.all([this.#save(), rings ? this.#bell.ring(RING_MS, () => void this.silence()) : undefined]);
  }

  /** Timers of a clock that went wrong are kept: none ends later than its length from now. */
  #sound(found: readonly Timer[]): readonly Timer[] {
    const { file, log, most, scope } = this.#options;
    const now = scope.clock.now();
    const kept = found
      .filter(({ id, at, seconds }) => typeof id === 'string' && Number.isFinite(at) && Number.isFinite(seconds))
      .filter(({ seconds }) => seconds >= 0 && seconds <= LONGEST_SECONDS)
      .map((timer) => ({ ...timer, at: Math.min(timer.at, now + timer.seconds * 1_000) }))
      .slice(0, most);
    if (kept.length < found.length)
      log.warn({ file, lost: found.length - kept.length }, 'some timers of the file make no sense');
    return kept;
  }

  /** Resolves with whether they outlive a restart now; if not, the health tells, and they are written as soon as the disk takes them. */
  #save(): Promise<boolean> {
    return this.#file.set(this.list).then(
      () => true,
      () => false,
    );
  }
}
