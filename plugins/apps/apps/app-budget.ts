/** Usage of an app against its budgets. Pure; it reads no clock. */

import type { GuestLimits } from '@device-core/plugin-api/inside/app-spec';
import type { GuestUsage } from '@device-core/plugin-api/inside/services/app-supervisor';

export const BUDGETS = ['memory', 'cpu', 'tasks', 'storage', 'cache'] as const;
export type Budget = (typeof BUDGETS)[number];

/** In the units of the manifest: MB, percent of one processor, processes and threads. */
export interface BudgetUse {
  readonly budget: Budget;
  readonly used: number;
  readonly limit: number;
  /** Share of the limit. */
  readonly percent: number;
  /** The most that was seen since the Core started. */
  readonly peak: number;
  /** Limit to write into a manifest, derived from the peak. */
  readonly proposed: number;
}

export type BudgetState = 'near' | 'over' | 'back';
export interface BudgetChange {
  readonly budget: Budget;
  readonly used: number;
  readonly limit: number;
  readonly state: BudgetState;
}

const MIB = 1024 * 1024;
const NEAR = 0.8;
/** A budget that was near stays near until usage is well below NEAR. */
const BACK = 0.75;
/** Over what was seen, and to numbers that people write. */
const ROOM = 1.5;
const STEP: Readonly<Record<Budget, number>> = { memory: 16, cpu: 10, tasks: 8, storage: 8, cache: 8 };
const LIMIT: Readonly<Record<Budget, keyof GuestLimits>> = {
  memory: 'memoryMaxMB',
  cpu: 'cpuPercent',
  tasks: 'tasksMax',
  storage: 'storageMB',
  cache: 'cacheMB',
};

/** Uses of one app. */
export class AppBudget {
  readonly #limits: GuestLimits;
  readonly #used = new Map<Budget, number>();
  readonly #peaks = new Map<Budget, number>();
  readonly #states = new Map<Budget, BudgetState>();
  #last: { readonly run: string; readonly cpuMs: number; readonly at: number } | undefined;

  constructor(limits: GuestLimits) {
    this.#limits = limits;
  }

  /** A look at a run; `at` is monotonic. Returns the budgets that are in another state now. */
  measured(run: string, { memory, memoryPeak, cpuMs, tasks }: GuestUsage, at: number): readonly BudgetChange[] {
    const last = this.#last;
    if (last?.run !== run || at > last.at) this.#last = { run, cpuMs, at };
    const cpu = last?.run === run && at > last.at ? (100 * (cpuMs - last.cpuMs)) / (at - last.at) : undefined;
    if (memoryPeak !== undefined) this.#peak('memory', memoryPeak / MIB);
    return [
      ...this.#set('memory', memory / MIB),
      ...(cpu === undefined ? [] : this.#set('cpu', Math.max(0, cpu))),
      ...this.#set('tasks', tasks),
    ];
  }

  /** Adds the sizes of the data and cache folders, bytes. */
  stored(data: number, cache: number): readonly BudgetChange[] {
    return [...this.#set('storage', data / MIB), ...this.#set('cache', cache / MIB)];
  }

  /** It runs no more: it takes nothing but what it stored. */
  ended(): readonly BudgetChange[] {
    this.#last = undefined;
    return (['memory', 'cpu', 'tasks'] as const).flatMap((budget) =>
      this.#used.has(budget) ? this.#set(budget, 0) : [],
    );
  }

  isOver(budget: Budget): boolean {
    return this.#states.get(budget) === 'over';
  }

  /** Latest measurements. */
  uses(): readonly BudgetUse[] {
    return BUDGETS.flatMap((budget) => {
      const used = this.#used.get(budget);
      if (used === undefined) return [];
      const limit = this.#limits[LIMIT[budget]];
      const peak = this.#peaks.get(budget) ?? used;
      const proposed = Math.max(1, Math.ceil((peak * ROOM) / STEP[budget])) * STEP[budget];
      return [
        { budget, used: round(used), limit, percent: Math.round((100 * used) / limit), peak: round(peak), proposed },
      ];
    });
  }

  #peak(budget: Budget, value: number): void {
    this.#peaks.set(budget, Math.max(value, this.#peaks.get(budget) ?? 0));
  }

  #set(budget: Budget, used: number): readonly BudgetChange[] {
    this.#used.set(budget, used);
    this.#peak(budget, used);
    const limit = this.#limits[LIMIT[budget]];
    const before = this.#states.get(budget);
    const troubled = before === 'near' || before === 'over';
    const state = used > limit ? 'over' : used >= (troubled ? BACK : NEAR) * limit ? 'near' : 'back';
    if (state === before || (state === 'back' && !troubled)) return [];
    this.#states.set(budget, state);
    return [{ budget, used: round(used), limit, state }];
  }
}

function round(value: number): number {
  return Math.round(10 * value) / 10;
}
