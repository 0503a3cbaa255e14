/** Timers that ring. They are kept in a file, so that a timer outlives the plugin and the Core; one that ended meanwhile rings late. */
import { mkdir, readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { CoreError, type Logger, newerForm, reasonOf, type Scope } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

export interface Timer {
  readonly id: string;
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly seconds: number;
}

const FORM = 1;

interface Kept {
  readonly format?: unknown;
  readonly timers: readonly Timer[];
}

export type TimerChange = 'set' | 'rang' | 'cancelled';

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
const PAUSE_MS = 1_000;

export class Timers {
  readonly #options: TimersOptions;
  readonly #timers = new Map<string, { readonly timer: Timer; readonly clock: Disposable }>();
  #saving: Promise<void> = Promise.resolve();
  #ringing: AbortController | undefined;
  #count = 0;
  #problem: string | undefined;
  #newer: CoreError | undefined;

  private constructor(options: TimersOptions) {
    this.#options = options;
  }

  static async open(options: TimersOptions): Promise<Timers> {
    const timers = new Timers(options);
    for (const timer of await timers.#read()) timers.#start(timer);
    options.scope.defer('timers are written', () => timers.#saving);
    options.scope.defer('alarm', () => void timers.silence());
    return timers;
  }

  /** Soonest first. */
  get list(): readonly Timer[] {
    return [...this.#timers.values()].map(({ timer }) => timer).sort((one, other) => one.at - other.at);
  }

  get ringing(): boolean {
    return this.#ringing !== undefined;
  }

  /** A newer Core wrote the file, and it is left alone. */
  get newer(): boolean {
    return this.#newer !== undefined;
  }

  /** Why timers would not outlive a restart now. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Resolves when it would survive a loss of power. Rejects with QUEUE_FULL. */
  async set(seconds: number): Promise<Timer> {
    const { most } = this.#options;
    if (this.#timers.size >= most)
      throw new CoreError('QUEUE_FULL', { what: 'a timer', reason: `there are ${most} already`, retryAfterMs: 60_000 });
    this.#count += 1;
    const now = this.#options.scope.clock.now();
    const timer: Timer = { id: `${now.toString(36)}-${this.#count}`, at: now + seconds * 1_000, seconds };
    this.#start(timer);
    this.#options.told('set', timer);
    await this.#save();
    return timer;
  }

  async cancelAll(): Promise<number> {
    const all = [...this.#timers.values()];
    this.#timers.clear();
    for (const { timer, clock } of all) {
      clock[Symbol.dispose]();
      this.#options.told('cancelled', timer);
    }
    if (all.length > 0) await this.#save();
    return all.length;
  }

  /** Ends the alarm. True where there was one. */
  silence(): boolean {
    const was = this.#ringing !== undefined;
    this.#ringing?.abort();
    return was;
  }

  #start(timer: Timer): void {
    const ms = Math.max(0, timer.at - this.#options.scope.clock.now());
    const clock = this.#options.scope.timeout(`timer ${timer.id}`, ms, () => this.#end(timer));
    this.#timers.set(timer.id, { timer, clock });
  }

  async #end(timer: Timer): Promise<void> {
    this.#timers.delete(timer.id);
    this.#options.told('rang', timer);
    const late = this.#options.scope.clock.now() - timer.at;
    if (late > LATEST_MS)
      this.#options.log.warn({ timer, late }, 'a timer ended while the device was off, too long ago to ring');
    await Promise.all([this.#save(), late > LATEST_MS ? undefined : this.#ring()]);
  }

  /** One alarm at a time, whatever ends meanwhile. */
  async #ring(): Promise<void> {
    if (this.#ringing) return;
    const ringing = new AbortController();
    this.#ringing = ringing;
    const { scope, alarm, log } = this.#options;
    using _limit = scope.timeout('end of the alarm', RING_MS, () => ringing.abort());
    const ring = async (signal: AbortSignal) => {
      while (!signal.aborted) {
        await alarm(signal);
        await scope.clock.sleep(PAUSE_MS, signal);
      }
    };
    try {
      await scope.within('the alarm', Number.POSITIVE_INFINITY, ring, { signal: ringing.signal });
    } catch (error) {
      const silenced = ringing.signal.aborted || scope.signal.aborted;
      if (!silenced) log.warn({ error: reasonOf(error) }, 'the alarm of a timer cannot be heard');
    } finally {
      this.#ringing = undefined;
    }
  }

  async #read(): Promise<readonly Timer[]> {
    const { file, log, most } = this.#options;
    try {
      const { format, timers } = JSON.parse(await readFile(file, 'utf8')) as Kept;
      this.#newer = newerForm(file, format, FORM);
      if (this.#newer) {
        this.#problem = this.#newer.message;
        log.warn({ file }, this.#problem);
        return [];
      }
      const good = timers.filter(
        ({ id, at, seconds }) => typeof id === 'string' && Number.isFinite(at) && Number.isFinite(seconds),
      );
      const kept = good
        .filter(({ at }) => at - this.#options.scope.clock.now() <= LONGEST_SECONDS * 1_000)
        .slice(0, most);
      if (kept.length < timers.length)
        log.warn({ file, lost: timers.length - kept.length }, 'some timers of the file make no sense');
      return kept;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT')
        log.warn({ file, error: reasonOf(error) }, 'cannot read the timers: there are none now');
      return [];
    }
  }

  /** One after the other; what changes while one is written is in the next. */
  #save(): Promise<void> {
    const { file, log } = this.#options;
    this.#saving = this.#saving.then(async () => {
      if (this.#newer) return; // told as the problem: the file is of a newer Core
      try {
        await mkdir(dirname(file), { recursive: true });
        await replaceFile(file, JSON.stringify({ format: FORM, timers: this.list }));
        await syncName(file);
        this.#problem = undefined;
      } catch (error) {
        if (this.#problem === undefined)
          log.warn({ file, error: reasonOf(error) }, 'timers do not outlive a restart now');
        this.#problem = reasonOf(error);
      }
    });
    return this.#saving;
  }
}
