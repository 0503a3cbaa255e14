/**
 * How long each plugin keeps the event loop. What is measured is the synchronous part of every callback that a host
 * makes into a plugin: nothing else runs meanwhile. What a callback does after an `await`, and what Node calls directly
 * (sockets, child processes), is not seen here.
 */
import {
  CALLBACK_KINDS,
  type CallbackKind,
  type CallbackUsage,
  FOR_USER,
  maybe,
  type PluginUsage,
  type ServesEachUser,
  type ServiceUser,
  type UsageBudget,
  type UsageWarning,
} from '@device-core/plugin-api';
import { UseBook } from './uses.ts';

export const DEFAULT_BUDGET: UsageBudget = { stallMs: 50, busyPercent: 25 };
/** Milliseconds of a callback above which `onLong` is called, if the budget is not even less. */
const LONG_MS = 10;

type Counter = { -readonly [K in keyof CallbackUsage]: CallbackUsage[K] };

/** The account of one plugin, kept over its restarts. */
export class PluginMeter implements ServiceUser {
  readonly plugin: string;
  outside = false;
  installed = false;
  /** Rights that it used, where it is a guest. */
  readonly uses = new UseBook();
  /** Folder of its code, if it runs in this thread. */
  folder: string | undefined;
  #budget = DEFAULT_BUDGET;
  /** Usage that the other side of an isolated plugin reports; the receiver writes it here. */
  guest: Pick<PluginUsage, 'cpuMs' | 'heapBytes'> = {};
  /** Delays of the event loop that count for the plugin; the watch of the board writes them. */
  stalls = 0;
  busyPercent = 0;
  warning: UsageWarning | undefined;
  /** Time of the warning, in performance.now(). */
  warned = 0;
  readonly #board: UsageBoard;
  #long = LONG_MS;
  readonly #counters = Object.fromEntries(
    CALLBACK_KINDS.map((kind): [CallbackKind, Counter] => [kind, { calls: 0, errors: 0, busyMs: 0, longestMs: 0 }]),
  ) as unknown as Readonly<Record<CallbackKind, Counter>>;

  constructor(plugin: string, board: UsageBoard) {
    this.plugin = plugin;
    this.#board = board;
  }

  get budget(): UsageBudget {
    return this.#budget;
  }

  limit(budget: Partial<UsageBudget> = {}): void {
    const { stallMs = DEFAULT_BUDGET.stallMs, busyPercent = DEFAULT_BUDGET.busyPercent } = budget;
    this.#budget = { stallMs, busyPercent };
    this.#long = Math.min(LONG_MS, this.#budget.stallMs);
  }

  get busyMs(): number {
    return this.#sum('busyMs');
  }

  /** Before a callback; hand the result to leave(). What runs inside of it for other plugins is counted for those alone. */
  enter(): number {
    return performance.now() - this.#board.busyMs;
  }

  /** Like enter(), for one of a row of callbacks: it starts where the one before it ended, which saves looking at the clock. */
  enterNext(): number {
    const { rowMs, busyMs } = this.#board;
    return (rowMs > 0 ? rowMs : performance.now()) - busyMs;
  }

  leave(kind: CallbackKind, mark: number): void {
    const board = this.#board;
    const now = performance.now();
    const ms = now - board.busyMs - mark;
    board.busyMs += ms;
    if (board.rowMs > 0) board.rowMs = now;
    const counter = this.#counters[kind];
    counter.calls++;
    counter.busyMs += ms;
    if (ms > counter.longestMs) counter.longestMs = ms;
    if (ms >= this.#long) board.onLong?.(this, kind, ms);
  }

  failed(kind: CallbackKind): void {
    this.#counters[kind].errors++;
  }

  measured<A extends readonly unknown[], R>(kind: CallbackKind, fn: (...args: A) => R): (...args: A) => R {
    return (...args) => {
      const mark = this.enter();
      try {
        return fn(...args);
      } finally {
        this.leave(kind, mark);
      }
    };
  }

  /** A stall that was found in what this plugin does after an await. */
  continued(ms: number): void {
    this.#continuedMs = Math.max(this.#continuedMs, ms);
  }
  #continuedMs = 0;

  usage(): PluginUsage {
    const { plugin, stalls, busyPercent, budget, warning, guest } = this;
    const callbacks = Object.fromEntries(
      CALLBACK_KINDS.map((kind) => [kind, { ...this.#counters[kind] }]),
    ) as unknown as PluginUsage['callbacks'];
    const steady = CALLBACK_KINDS.filter((kind) => kind !== 'lifecycle').map((kind) => callbacks[kind].longestMs);
    return {
      plugin,
      callbacks,
      busyMs: this.busyMs,
      busyPercent,
      errors: this.#sum('errors'),
      stalls,
      longestMs: Math.max(this.#continuedMs, ...steady),
      budget,
      ...guest,
      ...maybe({ warning }),
    };
  }

  #sum(member: 'busyMs' | 'errors'): number {
    return CALLBACK_KINDS.reduce((total, kind) => total + this.#counters[kind][member], 0);
  }
}

/** The meters of all plugins of one event loop. */
export class UsageBoard {
  /** Milliseconds of all measured callbacks so far. */
  busyMs = 0;
  /** Time of the last look at the clock in a row of callbacks, else 0. The maker of a row sets it before and clears it after. */
  rowMs = 0;
  /** Receives each long callback. */
  onLong: ((meter: PluginMeter, kind: CallbackKind, ms: number) => void) | undefined;
  readonly #meters = new Map<string, PluginMeter>();

  /** For those who make many callbacks in a row: 0 when it is over. */
  row(began: number): void {
    this.rowMs = began;
  }

  /** The meter of a plugin, made when it is first asked for. */
  of(plugin: string): PluginMeter {
    const meter = this.#meters.get(plugin) ?? new PluginMeter(plugin, this);
    this.#meters.set(plugin, meter);
    return meter;
  }

  find(plugin: string): PluginMeter | undefined {
    return this.#meters.get(plugin);
  }

  get meters(): Iterable<PluginMeter> {
    return this.#meters.values();
  }
}

/** A service as one of its users sees it. */
export function viewFor(service: object, user: ServiceUser): object {
  return FOR_USER in service ? (service as ServesEachUser<object>)[FOR_USER](user) : service;
}
