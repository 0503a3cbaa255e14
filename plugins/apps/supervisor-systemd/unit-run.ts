import { readFileSync } from 'node:fs';
import { maybe } from '@device-core/plugin-api';
import type { DBusValue } from '@device-core/plugin-api/inside/dbus';
import type { GuestEnd, GuestRun } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { SystemBus } from './system-bus.ts';
import { endOf } from './unit-end.ts';

type Properties = ReadonlyMap<string, DBusValue>;
const OVER = ['inactive', 'failed'];

export interface UnitRunOptions {
  readonly run: string;
  /** Short name of the guest. */
  readonly name: string;
  readonly unit: string;
  readonly bus: SystemBus;
}

/**
 * One run of a unit, from before its start to its end. systemd tells of each change with its values, and they are kept:
 * it forgets a unit as soon as that has ended in peace.
 */
export class UnitRun {
  readonly options: UnitRunOptions;
  readonly #ended = Promise.withResolvers<GuestEnd>();
  readonly #begun = Promise.withResolvers<void>();
  /** Latest properties of both interfaces. */
  readonly #known = new Map<string, DBusValue>();
  #former = '';
  #invocation = '';
  /** Whatever began before is another run. */
  #since = 0n;
  #path = '';
  #ran = false;
  #over = false;
  #asked = false;
  #changes = 0;
  #leader: GuestRun['leader'] = { pid: 0, startTime: '' };
  #watch: Disposable | undefined;
  stopped = false;
  /** Reason for which the supervisor ended it, for people. */
  excess: string | undefined;

  constructor(options: UnitRunOptions) {
    this.options = options;
  }

  get over(): boolean {
    return this.#over;
  }

  /** A run of before still goes on, or has just been begun by somebody else. */
  get busy(): boolean {
    return !OVER.includes(String(this.#known.get('ActiveState')));
  }

  get ended(): Promise<GuestEnd> {
    return this.#ended.promise;
  }

  /** Which start of the unit this is, by systemd's own name; empty before it began. */
  get invocation(): string {
    return this.#invocation;
  }

  get guest(): GuestRun {
    const { run, name } = this.options;
    const { pid } = this.#leader;
    return { run, name, leader: this.#leader, ...(pid > 0 && !this.#over ? { pid } : {}) };
  }

  /** Looks on from now; what runs already is another run, unless it is this one that is looked for. */
  async attend(running = false): Promise<void> {
    await this.#follow();
    if (!running) {
      // systemd tells CLOCK_MONOTONIC in microseconds, too.
      this.#since = process.hrtime.bigint() / 1_000n;
      this.#former = this.#invocation;
      this.#invocation = '';
    }
    this.#asked = running;
    this.#see();
  }

  /** systemd was asked to start it. Resolves when the program runs, or will not. */
  async begun(): Promise<void> {
    // Its answer comes after all that it told before: whether there is a job is known then.
    await this.#look();
    this.#asked = true;
    this.#see();
    await this.#begun.promise;
  }

  /** The bus is there again: what happened meanwhile is read. */
  async resume(): Promise<void> {
    if (this.#over) return;
    await this.#follow();
    this.#see();
  }

  /** It will not be started, or not be seen to end. */
  abandon(end: GuestEnd): void {
    this.#finish(end);
  }

  properties(): Promise<Properties> {
    return this.options.bus.ask(this.options.unit, (units) => units.properties(this.#path, 'Service'));
  }

  async #follow(): Promise<void> {
    const { bus, unit } = this.options;
    this.#watch?.[Symbol.dispose]();
    await bus.ask(unit, async (units) => {
      this.#path = await units.path(unit);
      this.#watch = await units.watch(this.#path, (changed) => {
        this.#changes++;
        this.#keep(changed);
        this.#see();
      });
    });
    await this.#look();
  }

  async #look(): Promise<void> {
    let both: readonly [Properties, Properties];
    let changes: number;
    do {
      // Changes meanwhile arrive as signals, and may be newer than the answer.
      changes = this.#changes;
      both = await this.options.bus.ask(this.options.unit, (units) =>
        Promise.all([units.properties(this.#path, 'Unit'), units.properties(this.#path, 'Service')]),
      );
    } while (changes !== this.#changes);
    // A unit that was forgotten knows nothing of its last run any more.
    if (invocationOf(both[0]) !== '' || this.#invocation === '') for (const one of both) this.#keep(one);
    else if (!this.#over) this.#finish({ cause: 'stopped', reason: 'it ended unobserved' });
  }

  #keep(told: Properties): void {
    for (const [name, value] of told) this.#known.set(name, value);
    const invocation = invocationOf(this.#known);
    const anew = timeOf(this.#known, 'InactiveExit') >= this.#since;
    if (invocation !== this.#former && anew) this.#invocation = invocation;
  }

  #see(): void {
    if (this.#over || !this.#asked) return;
    const state = this.#known;
    const active = String(state.get('ActiveState'));
    if (this.#invocation === '') {
      // A job that has gone without a start: something that it needs was not there, or there was nothing to do.
      const runs = active === 'active';
      const reason = `systemd did not start it: ${runs ? 'a run of before still goes on' : 'a need of its unit is missing'}`;
      if (jobOf(state) === 0 && (runs || !this.busy))
        this.#finish({ cause: this.stopped ? 'stopped' : 'start', reason });
      return;
    }
    const pid = Number(state.get('MainPID') ?? 0) || Number(state.get('ExecMainPID') ?? 0);
    if (this.#leader.pid === 0 && pid > 0) this.#leader = { pid, startTime: startOf(pid, state) };
    // A program that was executed and has ended may never have been seen active.
    this.#ran ||= active === 'active' || hasRun(state);
    if (this.#ran) this.#begun.resolve();
    if (OVER.includes(active)) this.#finish(endOf(state, this.#ran, this.stopped));
  }

  #finish(end: GuestEnd): void {
    this.#over = true;
    this.#watch?.[Symbol.dispose]();
    this.#begun.resolve();
    this.#ended.resolve(end.cause === 'signal' ? { ...end, ...maybe({ reason: this.excess }) } : end);
  }
}

/** It was active after it had been inactive for the last time. */
function hasRun(state: Properties): boolean {
  const entered = timeOf(state, 'ActiveEnter');
  return entered > 0n && entered >= timeOf(state, 'InactiveExit');
}

function timeOf(state: Properties, name: string): bigint {
  return (state.get(`${name}TimestampMonotonic`) as bigint | undefined) ?? 0n;
}

function invocationOf(state: Properties): string {
  return Buffer.from((state.get('InvocationID') as Uint8Array | undefined) ?? []).toString('hex');
}

function jobOf(state: Properties): number {
  return Number((state.get('Job') as readonly [number] | undefined)?.[0] ?? 0);
}

/** Clock ticks since boot. Where the process is hidden or gone, by the time that systemd kept. */
function startOf(pid: number, service: Properties): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '';
  } catch {
    return String((Number(service.get('ExecMainStartTimestampMonotonic') ?? 0n) / 10_000) | 0);
  }
}
