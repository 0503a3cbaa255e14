import { chmod, lstat, mkdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Clock, CoreError, type Logger, reasonOf, type Scope, settlesWithin } from '@device-core/plugin-api';
import { type AppSpec, appSpecProblem } from '@device-core/plugin-api/inside/app-spec';
import type {
  AppSupervisor,
  EnforcementReport,
  GuestEnd,
  GuestRun,
  GuestStart,
  GuestUsage,
  OutputLine,
} from '@device-core/plugin-api/inside/services/app-supervisor';
import { ForkWatch, tooManyForks } from '../shared/new-tasks/fork-watch.ts';
import { GroupCount, tasksFile, tasksIn } from '../shared/new-tasks/group-count.ts';
import type { Credentials } from './credentials.ts';
import { enforcementOf, lacking } from './enforcement.ts';
import type { GuestOutput } from './guest-output.ts';
import type { Remains } from './remains.ts';
import type { SystemBus } from './system-bus.ts';
import { UnitRun } from './unit-run.ts';
import { usageOf } from './unit-usage.ts';
import type { WardenClient } from './warden-client.ts';

export interface SystemdSupervisorOptions {
  readonly warden: WardenClient;
  readonly bus: SystemBus;
  readonly output: GuestOutput;
  /** Throws UNAVAILABLE where systemd cannot be given a token; absent where guests have none. */
  readonly credentials?: () => Credentials;
  /** The guest of this user is known before it could reach anything. */
  readonly launched: (spec: AppSpec) => Promise<void>;
  /** Guests of the other kind are left alone. */
  readonly kind: AppSpec['kind'];
  /** `<run>` and `<var>` of the device. */
  readonly run: string;
  readonly state: string;
  readonly remains: Remains;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly log: Logger;
}

/** Time for SIGKILL to take effect, and for systemd to notice it. */
const KILL_MS = 5_000;
/** Time for an unexpected run to end in peace. */
const STOP_MS = 1_000;
/** Runs that are over, of which ended() still tells. */
const MOST_OVER = 64;

interface Run {
  readonly unit: UnitRun;
  readonly cpuPercent: number | undefined;
}

/** `agenda` of `app-agenda`. */
const shortOf = (name: string) => name.replace(/^(app|plugin)-/, '');

/** Guests of one kind as units of systemd: the warden changes them, the bus of the system tells what becomes of them. */
export class SystemdSupervisor implements AppSupervisor {
  readonly #options: SystemdSupervisorOptions;
  readonly #runs = new Map<string, Run>();
  #forks: ForkWatch | undefined;
  #count = 0;

  constructor(options: SystemdSupervisorOptions) {
    this.#options = options;
  }

  async enforcement(): Promise<EnforcementReport> {
    return enforcementOf();
  }

  async prepare(spec: AppSpec): Promise<void> {
    const problem = appSpecProblem(spec) ?? (spec.uid === undefined ? 'it has no separate user' : undefined);
    if (problem) throw new CoreError('PARAMS_INVALID', { where: `the unit of ${spec.name}`, reason: problem });
    for (const folder of [spec.data, spec.cache]) {
      if (folder === undefined) continue;
      await mkdir(dirname(folder), { recursive: true, mode: 0o750 });
      await mkdir(folder, { recursive: true, mode: 0o700 });
    }
    await mkdir(spec.run, { recursive: true });
    // The warden looks for sockets in it, and the guest goes through it.
    await chmod(spec.run, 0o755);
    await this.#put(spec);
    await this.#options.warden.ask({ verb: 'own', name: spec.name });
  }

  async start(spec: AppSpec, { token, demand }: GuestStart): Promise<GuestRun> {
    const { clock, credentials, launched, output, warden } = this.#options;
    await this.prepare(spec);
    const report = await this.enforcement();
    const short = lacking(demand, report);
    if (short.length > 0)
      throw new CoreError('SANDBOX_UNAVAILABLE', {
        what: spec.name,
        walls: short.join(', '),
        reason: short.map((kind) => report.reasons[kind] ?? 'it is not enforced').join('; '),
      });
    const name = shortOf(spec.name);
    const run = `${name}.${++this.#count}`;
    if (token !== '') output.conceal(spec.name, token);
    const unit = await this.#attend(run, spec.name);
    // Not before: a run of systemd's own would fetch it.
    using _ = credentials?.().offer(spec.name, token);
    this.#runs.set(run, { unit, cpuPercent: spec.limits.cpuPercent });
    this.#forgetOver();
    await launched(spec);
    const since = clock.now();
    try {
      await warden.ask({ verb: 'start', name: spec.name });
    } catch (thrown) {
      unit.abandon({ cause: 'start', reason: reasonOf(thrown) });
      this.#runs.delete(run);
      throw thrown;
    }
    await unit.begun();
    output.began(spec.name, unit.invocation, { run, since });
    void unit.ended.then(() => output.over(spec.name, unit.invocation));
    await this.#watchOver(unit);
    return unit.guest;
  }

  ended(run: string): Promise<GuestEnd> {
    return this.#find(run).then(({ unit }) => unit.ended);
  }

  async ready(run: string): Promise<GuestRun> {
    const { unit, cpuPercent } = await this.#find(run);
    if (cpuPercent !== undefined && !unit.over)
      await this.#options.warden.ask({ verb: 'limit', name: unitName(unit), cpuPercent });
    return unit.guest;
  }

  async stop(run: string, graceMs: number): Promise<readonly number[]> {
    const { unit } = await this.#find(run);
    if (unit.over) return [];
    const { clock, warden } = this.#options;
    unit.stopped = true;
    const name = unitName(unit);
    await warden.ask({ verb: graceMs > 0 ? 'stop' : 'kill', name });
    if (graceMs > 0 && (await settlesWithin(clock, graceMs, unit.ended))) return [];
    await warden.ask({ verb: 'kill', name });
    if (await settlesWithin(clock, KILL_MS, unit.ended)) return [];
    const { pid } = unit.guest.leader;
    unit.abandon({ cause: 'stopped', reason: 'its processes could not be ended' });
    return [pid];
  }

  /** Each run of a guest, the one that is being started among them. */
  async end(name: string, graceMs: number): Promise<readonly number[]> {
    const left: number[] = [];
    for (const [run, { unit }] of this.#runs)
      if (unit.options.name === name && !unit.over) left.push(...(await this.stop(run, graceMs)));
    return left;
  }

  async usage(run: string): Promise<GuestUsage> {
    const { unit } = await this.#find(run);
    return usageOf(await unit.properties());
  }

  output(name: string, lines: number, run?: string): Promise<readonly OutputLine[]> {
    return this.#options.output.lines(this.#unitOf(name), lines, run);
  }

  write(name: string, line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    return this.#options.output.write(this.#unitOf(name), line);
  }

  onOutput(name: string, listener: (line: OutputLine) => void): Disposable {
    return this.#options.output.listen(this.#unitOf(name), listener);
  }

  async former(): Promise<readonly GuestRun[]> {
    const { bus, kind, warden } = this.#options;
    const known = [...this.#runs.values()].filter(({ unit }) => !unit.over).map(({ unit }) => unitName(unit));
    const guests = (await warden.ask({ verb: 'list' })) as readonly { readonly name: string }[];
    for (const { name } of guests) {
      if (!name.startsWith(`${kind}-`) || known.includes(name)) continue;
      const [short, run] = [shortOf(name), `${shortOf(name)}.former`];
      const unit = new UnitRun({ run, name: short, unit: `${name}.service`, bus });
      await unit.attend(true);
      if (unit.invocation === '') unit.abandon({ cause: 'stopped' });
      if (!unit.over) this.#runs.set(run, { unit, cpuPercent: undefined });
    }
    return [...this.#runs.values()].flatMap(({ unit }) =>
      !unit.over && unit.options.run.endsWith('.former') ? [unit.guest] : [],
    );
  }

  async forget(name: string): Promise<void> {
    const { kind, output, run, warden } = this.#options;
    await this.end(name, 0);
    for (const [id, { unit }] of this.#runs) if (unit.options.name === name) this.#runs.delete(id);
    const unit = this.#unitOf(name);
    const guests = (await warden.ask({ verb: 'list' })) as readonly { readonly name: string }[];
    if (guests.some((guest) => guest.name === unit)) await warden.ask({ verb: 'drop', name: unit });
    output.forget(unit);
    await rm(`${run}/${kind}s/${name}`, { recursive: true, force: true });
  }

  async release(app: string): Promise<void> {
    const { state, warden } = this.#options;
    const data = await lstat(join(state, 'apps', app, 'data')).catch(() => undefined);
    if (data && data.uid !== process.getuid?.()) await warden.ask({ verb: 'release', id: app });
  }

  async sweep(): Promise<void> {
    await this.#options.remains.sweep();
  }

  /** The bus is there again. */
  async resume(): Promise<void> {
    for (const { unit } of this.#runs.values())
      await unit.resume().catch((thrown: unknown) => {
        this.#options.log.warn({ guest: unit.options.name, reason: reasonOf(thrown) }, 'cannot watch a unit again');
      });
  }

  /** After a reset or restore another guest may have its user: the unit of one that does not run makes room. */
  async #put(spec: AppSpec): Promise<void> {
    const { warden } = this.#options;
    const put = () => warden.ask({ verb: 'put', spec });
    await put().catch(async (thrown: unknown) => {
      const running = [...this.#runs.values()].filter(({ unit }) => !unit.over).map(({ unit }) => unitName(unit));
      const guests = (await warden.ask({ verb: 'list' })) as readonly Pick<AppSpec, 'name' | 'id' | 'uid'>[];
      const isRival = ({ name, id, uid }: Pick<AppSpec, 'name' | 'id' | 'uid'>) =>
        name !== spec.name && name.startsWith(`${spec.kind}-`) && (uid === spec.uid || id === spec.id);
      const rivals = guests.filter(isRival);
      if (rivals.length === 0 || rivals.some(({ name }) => running.includes(name))) throw thrown;
      for (const { name } of rivals) await warden.ask({ verb: 'drop', name });
      await put();
    });
  }

  /**
   * The unit before its next start. With a Core that is restarted systemd starts again what is bound to it, as soon as
   * the Core is ready and without being asked: such a run, which has no token, is ended first.
   */
  async #attend(run: string, unit: string): Promise<UnitRun> {
    const options = { name: shortOf(unit), unit: `${unit}.service`, bus: this.#options.bus };
    const next = new UnitRun({ run, ...options });
    await next.attend();
    if (!next.busy) return next;
    next.abandon({ cause: 'stopped' });
    const former = new UnitRun({ run: `${run}.former`, ...options });
    await former.attend(true);
    this.#runs.set(former.options.run, { unit: former, cpuPercent: undefined });
    await this.stop(former.options.run, STOP_MS);
    const again = new UnitRun({ run, ...options });
    await again.attend();
    return again;
  }

  /** systemd limits the tasks of a unit, and not how many come and go. */
  async #watchOver(unit: UnitRun): Promise<void> {
    const { log, scope, warden } = this.#options;
    const warn = (thrown: unknown) =>
      log.warn({ guest: unit.options.name, reason: reasonOf(thrown) }, 'cannot watch the new tasks of a unit');
    const group = await unit.properties().then((known) => String(known.get('ControlGroup') ?? ''), warn);
    const file = group?.startsWith('/') ? tasksFile(group) : undefined;
    if (file === undefined || unit.over) return;
    this.#forks ??= new ForkWatch({ scope });
    const watched = this.#forks.add(
      () => new GroupCount(() => tasksIn(file)),
      (perSecond) => {
        unit.excess = tooManyForks(perSecond);
        void warden.ask({ verb: 'kill', name: unitName(unit) }).catch(warn);
      },
    );
    void unit.ended.then(() => watched[Symbol.dispose]());
  }

  readonly #unitOf = (name: string) => `${this.#options.kind}-${name}`;

  async #find(run: string): Promise<Run> {
    const found = this.#runs.get(run);
    if (!found) throw new CoreError('PARAMS_INVALID', { where: 'run', reason: `there is no run ${run}` });
    return found;
  }

  #forgetOver(): void {
    const over = [...this.#runs].filter(([, { unit }]) => unit.over).map(([run]) => run);
    for (const run of over.slice(0, -MOST_OVER)) this.#runs.delete(run);
  }
}

function unitName(unit: UnitRun): string {
  return unit.options.unit.replace('.service', '');
}
