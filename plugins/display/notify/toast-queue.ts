/** Which toast is shown, and which wait. Times are milliseconds of one clock that stands still while nothing can be shown. Pure. */
import { LEVELS, type ToastRequest } from './request.ts';

export interface Toast extends ToastRequest {
  /** Key of the device, for the list. */
  readonly key: string;
  readonly at: number;
  /** How often the same was asked for. */
  readonly count: number;
  /** Counts up with each change of what is seen of it. */
  readonly version: number;
}

export interface QueueLimits {
  /** Waiting toasts of one app. */
  readonly perApp: number;
  /** Waiting toasts of all apps. */
  readonly most: number;
  /** One that waited longer is not shown. */
  readonly freshMs: number;
  /** Equal texts within it are one. */
  readonly equalMs: number;
}

export type DropReason = 'full' | 'late';
/** Toasts that are over, and were never seen. */
export interface Dropped {
  readonly toast: Toast;
  readonly reason: DropReason;
}

/** Those that are over are known for the time in which the same text would be one with them. */
const REMEMBERED = 64;

export class ToastQueue {
  readonly #limits: QueueLimits;
  readonly #newKey: () => string;
  #showing: Toast | undefined;
  #waiting: Toast[] = [];
  #over: Toast[] = [];

  constructor(limits: QueueLimits, newKey: () => string) {
    this.#limits = limits;
    this.#newKey = newKey;
  }

  get showing(): Toast | undefined {
    return this.#showing;
  }

  get waiting(): readonly Toast[] {
    return this.#waiting;
  }

  /** The toast that it became, or became a part of, and what had to go for it. */
  ask(asked: ToastRequest, now: number): { readonly toast: Toast; readonly dropped: readonly Dropped[] } {
    const same = this.#find(
      (one) => one.app === asked.app && one.text === asked.text && now - one.at < this.#limits.equalMs,
    );
    if (same) return { toast: this.#replace(same, { ...same, count: same.count + 1 }), dropped: [] };
    // A named toast replaces the one of the same name, at its place.
    const named = asked.id !== undefined && this.#live((one) => one.app === asked.app && one.id === asked.id);
    if (named) {
      const toast = this.#replace(named, { ...named, ...asked, at: now });
      return { toast, dropped: [] };
    }
    const toast: Toast = { ...asked, key: this.#newKey(), at: now, count: 1, version: 1 };
    this.#waiting.push(toast);
    return { toast, dropped: this.#bound(asked.app) };
  }

  /** Whether something waits for which the one that is shown has to go at once. */
  get interrupted(): boolean {
    const level = this.#showing?.level;
    return (level === 'info' || level === 'success') && this.#waiting.some((one) => one.level === 'error');
  }

  /** The next one is shown: the most urgent, of those the oldest. Nothing else is shown before it is taken away. */
  next(now: number): { readonly toast?: Toast; readonly dropped: readonly Dropped[] } {
    const late = this.#waiting.filter((one) => now - one.at > this.#limits.freshMs);
    this.#waiting = this.#waiting.filter((one) => !late.includes(one));
    const dropped = late.map((toast): Dropped => ({ toast, reason: 'late' }));
    const urgency = (one: Toast) => LEVELS.indexOf(one.level);
    const [toast] = [...this.#waiting].sort((a, b) => urgency(b) - urgency(a));
    if (!toast) return { dropped };
    this.#waiting = this.#waiting.filter((one) => one !== toast);
    this.#showing = toast;
    return { toast, dropped };
  }

  /** The shown toast was seen. */
  done(): void {
    if (!this.#showing) return;
    this.#over = [...this.#over.slice(1 - REMEMBERED), this.#showing];
    this.#showing = undefined;
  }

  /** The shown toast was hardly seen: it waits again, before others of its level. */
  back(): void {
    if (!this.#showing) return;
    this.#waiting.unshift(this.#showing);
    this.#showing = undefined;
  }

  remove(key: string): boolean {
    const found = this.#live((one) => one.key === key);
    if (!found) return false;
    if (this.#showing === found) this.done();
    this.#waiting = this.#waiting.filter((one) => one !== found);
    return true;
  }

  #bound(app: string | undefined): readonly Dropped[] {
    const { perApp, most } = this.#limits;
    const dropped: Dropped[] = [];
    const drop = (of: string | undefined) => {
      const at = this.#waiting.findIndex((one) => one.app === of);
      for (const toast of this.#waiting.splice(at, 1)) dropped.push({ toast, reason: 'full' });
    };
    if (this.#waiting.filter((one) => one.app === app).length > perApp) drop(app);
    if (this.#waiting.length > most) drop(this.#loudest());
    return dropped;
  }

  /** App with the most waiting toasts. */
  #loudest(): string | undefined {
    const counts = new Map<string | undefined, number>();
    for (const { app } of this.#waiting) counts.set(app, (counts.get(app) ?? 0) + 1);
    return [...counts].reduce((most, one) => (one[1] > most[1] ? one : most))[0];
  }

  #live(fits: (toast: Toast) => boolean): Toast | undefined {
    return this.#showing && fits(this.#showing) ? this.#showing : this.#waiting.find(fits);
  }

  #find(fits: (toast: Toast) => boolean): Toast | undefined {
    return this.#live(fits) ?? this.#over.findLast(fits);
  }

  #replace(former: Toast, changed: Toast): Toast {
    const toast = { ...changed, version: former.version + 1 };
    const swap = (one: Toast) => (one === former ? toast : one);
    if (this.#showing === former) this.#showing = toast;
    this.#waiting = this.#waiting.map(swap);
    this.#over = this.#over.map(swap);
    return toast;
  }
}
