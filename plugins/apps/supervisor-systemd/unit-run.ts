import { readFileSync } from 'node:fs';
import type { GuestEnd, GuestRun } from '@device-core/plugin-api';
import type { DBusValue, Units } from '@device-core/plugin-api/dbus';
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
  /** Called with what could not be looked at. */
  readonly failed: (thrown: unknown) => void;
}

/** One run of a unit, from before its start to its end. systemd tells of each change; how it ended is read when it is over. */
export class UnitRun {
  readonly options: UnitRunOptions;
  readonly #ended = Promise.withResolvers<GuestEnd>();
  readonly #begun = Promise.withResolvers<void>();
  #former = '';
  #invocation = '';
  #path = '';
  #ran = false;
  #over = false;
  #asked = false;
  #leader: GuestRun['leader'] = { pid: 0, startTime: '' };
  #watch: Disposable | undefined;
  #look: Promise<void> = Promise.resolve();
  stopped = false;

  constructor(options: UnitRunOptions) {
    this.options = options;
  }

  get over(): boolean {
    return this.#over;
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
    await this.options.bus.ask(this.options.unit, async (units) => {
      this.#path = await units.path(this.options.unit);
      if (!running) this.#former = invocationOf(await units.properties(this.#path, 'Unit'));
      await this.#follow(units);
    });
    this.#asked = running;
    if (running) await this.look();
  }

  /** systemd was asked to start it. Resolves when the program runs, or will not. */
  async begun(): Promise<void> {
    this.#asked = true;
    await this.look();
    await this.#begun.promise;
  }

  /** The bus is there again: what happened meanwhile is read. */
  async resume(): Promise<void> {
    if (this.#over) return;
    await this.options.bus.ask(this.options.unit, (units) => this.#follow(units));
    await this.look();
  }

  /** It will not be started. */
  abandon(end: GuestEnd): void {
    this.#finish(end);
  }

  properties(): Promise<Properties> {
    return this.options.bus.ask(this.options.unit, (units) => units.properties(this.#path, 'Service'));
  }

  /** One look after the other, so that an older one never overtakes a newer. */
  look(): Promise<void> {
    this.#look = this.#look.then(() => this.#see()).catch(this.options.failed);
    return this.#look;
  }

  async #follow(units: Units): Promise<void> {
    this.#watch?.[Symbol.dispose]();
    this.#watch = await units.watch(this.#path, (changed) => {
      if (changed.has('ActiveState') || changed.has('MainPID') || changed.has('Job')) void this.look();
    });
  }

  async #see(): Promise<void> {
    if (this.#over || !this.#asked) return;
    const { bus, unit } = this.options;
    const [state, service] = await bus.ask(unit, (units) =>
      Promise.all([units.properties(this.#path, 'Unit'), units.properties(this.#path, 'Service')]),
    );
    const invocation = invocationOf(state);
    const active = String(state.get('ActiveState'));
    if (invocation === this.#former || invocation === '') {
      // A job that has gone without a start: something that it needs was not there.
      if (jobOf(state) === 0 && OVER.includes(active))
        this.#finish({
          cause: this.stopped ? 'stopped' : 'start',
          reason: 'systemd did not start it: what its unit needs is not there',
        });
      return;
    }
    this.#invocation = invocation;
    const pid = Number(service.get('MainPID') ?? 0) || Number(service.get('ExecMainPID') ?? 0);
    if (this.#leader.pid === 0 && pid > 0) this.#leader = { pid, startTime: startOf(pid, service) };
    // A program that was executed and has ended may never have been seen active.
    this.#ran ||= active === 'active' || (state.get('ActiveEnterTimestampMonotonic') !== 0n && hasRun(state));
    if (this.#ran) this.#begun.resolve();
    if (OVER.includes(active)) this.#finish(endOf(service, this.#ran, this.stopped));
  }

  #finish(end: GuestEnd): void {
    this.#over = true;
    this.#watch?.[Symbol.dispose]();
    this.#begun.resolve();
    this.#ended.resolve(end);
  }
}

/** It was active after it had been inactive for the last time before. */
function hasRun(state: Properties): boolean {
  return (
    BigInt(state.get('ActiveEnterTimestampMonotonic') as bigint) >=
    BigInt(state.get('InactiveExitTimestampMonotonic') as bigint)
  );
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
