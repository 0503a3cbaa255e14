import { readFile } from 'node:fs/promises';
import { type CoreError, newerForm, reasonOf } from '@device-core/plugin-api';
import { replaceFile, syncName } from '@device-core/plugin-api/durable';

/** Seconds of sound that may be sent; absent: without bound. */
export interface BudgetLimits {
  readonly secondsPerDay?: number;
  readonly secondsPerMonth?: number;
}

const FORM = 1;

interface Spent {
  readonly day: string;
  readonly daySeconds: number;
  readonly month: string;
  readonly monthSeconds: number;
}

/** How much of the month and of the day (UTC) has been sent to the cloud. Kept over restarts. */
export class Budget {
  readonly #file: string;
  readonly #limits: BudgetLimits;
  #spent: Spent = { day: '', daySeconds: 0, month: '', monthSeconds: 0 };
  #writing: Promise<void> = Promise.resolve();
  #newer: CoreError | undefined;

  constructor(file: string, limits: BudgetLimits) {
    this.#file = file;
    this.#limits = limits;
  }

  /** Resolves with why it counts from nothing again, where it does not for the first time. */
  async load(): Promise<string | undefined> {
    try {
      const spent = JSON.parse(await readFile(this.#file, 'utf8')) as Partial<Spent> & { readonly format?: unknown };
      const { day, daySeconds, month, monthSeconds } = spent;
      this.#newer = newerForm(this.#file, spent.format, FORM);
      if (this.#newer) return this.#newer.message;
      if (typeof day !== 'string' || typeof month !== 'string') return `${this.#file} is not what was written there`;
      this.#spent = { day, month, daySeconds: Number(daySeconds) || 0, monthSeconds: Number(monthSeconds) || 0 };
      return undefined;
    } catch (error) {
      return (error as NodeJS.ErrnoException).code === 'ENOENT' ? undefined : reasonOf(error);
    }
  }

  /** Why the file is left alone: a newer Core wrote it. What is spent is counted in memory then. */
  get newer(): string | undefined {
    return this.#newer?.message;
  }

  /** Why `seconds` more may not be sent now; undefined where they may. */
  refusal(seconds: number, now: number): string | undefined {
    const { daySeconds, monthSeconds } = this.#at(now);
    const { secondsPerDay = Number.POSITIVE_INFINITY, secondsPerMonth = Number.POSITIVE_INFINITY } = this.#limits;
    if (daySeconds + seconds > secondsPerDay) return `the ${secondsPerDay} s of the day are used up`;
    if (monthSeconds + seconds > secondsPerMonth) return `the ${secondsPerMonth} s of the month are used up`;
    return undefined;
  }

  /** Durable when it resolves. */
  spend(seconds: number, now: number): Promise<void> {
    const { day, daySeconds, month, monthSeconds } = this.#at(now);
    this.#spent = { day, month, daySeconds: daySeconds + seconds, monthSeconds: monthSeconds + seconds };
    const text = JSON.stringify({ format: FORM, ...this.#spent });
    const written = this.#writing.then(async () => {
      if (this.#newer) return; // counted in memory: the file is of a newer Core
      await replaceFile(this.#file, text);
      await syncName(this.#file);
    });
    this.#writing = written.catch(() => undefined); // told to whoever spent
    return written;
  }

  /** What has been used, for people. */
  used(now: number): { readonly daySeconds: number; readonly monthSeconds: number } {
    const { daySeconds, monthSeconds } = this.#at(now);
    return { daySeconds, monthSeconds };
  }

  #at(now: number): Spent {
    const date = new Date(now).toISOString();
    const [day, month] = [date.slice(0, 10), date.slice(0, 7)];
    return {
      day,
      daySeconds: this.#spent.day === day ? this.#spent.daySeconds : 0,
      month,
      monthSeconds: this.#spent.month === month ? this.#spent.monthSeconds : 0,
    };
  }
}
