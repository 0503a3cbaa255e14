import type { Logger, Scope } from '@device-core/plugin-api';
import { KeptFile, type KeptForm } from '@device-core/plugin-api/durable';
import type { HealthReport } from '@device-core/plugin-api/services/health';

/** Seconds of sound that may be sent; absent: without bound. */
export interface BudgetLimits {
  readonly secondsPerDay?: number;
  readonly secondsPerMonth?: number;
}

interface Spent {
  readonly day: string;
  readonly daySeconds: number;
  readonly month: string;
  readonly monthSeconds: number;
}

const FORM: KeptForm<Spent> = {
  form: 1,
  initial: { day: '', daySeconds: 0, month: '', monthSeconds: 0 },
  consequence: 'no sound is sent to the cloud, for what was sent could not be counted',
  format: (spent) => spent,
  parse({ day, daySeconds, month, monthSeconds }) {
    if (typeof day !== 'string' || typeof month !== 'string') return undefined;
    return { day, month, daySeconds: Number(daySeconds) || 0, monthSeconds: Number(monthSeconds) || 0 };
  },
};

/** How much of the month and of the day (UTC) has been sent to the cloud. Kept over restarts. */
export class Budget {
  readonly #file: KeptFile<Spent>;
  readonly #limits: BudgetLimits;

  private constructor(file: KeptFile<Spent>, limits: BudgetLimits) {
    this.#file = file;
    this.#limits = limits;
  }

  static async open(path: string, limits: BudgetLimits, scope: Scope, log: Logger): Promise<Budget> {
    return new Budget(await KeptFile.open(path, FORM, scope, log), limits);
  }

  /** Why `seconds` more may not be sent now; undefined where they may. */
  refusal(seconds: number, now: number): string | undefined {
    const { daySeconds, monthSeconds } = this.#at(now);
    const { secondsPerDay = Number.POSITIVE_INFINITY, secondsPerMonth = Number.POSITIVE_INFINITY } = this.#limits;
    if (daySeconds + seconds > secondsPerDay) return `the ${secondsPerDay} s of the day are used up`;
    if (monthSeconds + seconds > secondsPerMonth) return `the ${secondsPerMonth} s of the month are used up`;
    return undefined;
  }

  /** Durable when it resolves. Rejects with the codes of replaceFile(): then nothing may be sent. */
  async spend(seconds: number, now: number): Promise<void> {
    const { day, daySeconds, month, monthSeconds } = this.#at(now);
    const spent = { day, month, daySeconds: daySeconds + seconds, monthSeconds: monthSeconds + seconds };
    await this.#file.set(spent).catch((error) => {
      if (!this.#file.newer) throw error; // a file of a newer Core is left alone: counted in memory
    });
  }

  /** Used seconds, for people. */
  used(now: number): { readonly daySeconds: number; readonly monthSeconds: number } {
    const { daySeconds, monthSeconds } = this.#at(now);
    return { daySeconds, monthSeconds };
  }

  tell(report: HealthReport): void {
    this.#file.tell(report, 'voice.budget');
  }

  /** A day that is still to come was written by a clock that went wrong: what was spent counts all the same, today. */
  #at(now: number): Spent {
    const date = new Date(now).toISOString();
    const [day, month] = [date.slice(0, 10), date.slice(0, 7)];
    const spent = this.#file.value;
    return {
      day,
      daySeconds: spent.day >= day ? spent.daySeconds : 0,
      month,
      monthSeconds: spent.month >= month ? spent.monthSeconds : 0,
    };
  }
}
