import { constants } from 'node:fs';
import { access, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Clock, CoreError, type Logger, maybe, reasonOf, type Scope } from '@device-core/plugin-api';
import { storageError } from '@device-core/plugin-api/durable';
import { type AppSpec, TASKS_ABOVE } from '@device-core/plugin-api/inside/app-spec';
import { HeldMemory } from '@device-core/plugin-api/inside/held-memory';
import type {
  AppSupervisor,
  EnforcementReport,
  GuestEnd,
  GuestRun,
  GuestStart,
  GuestUsage,
  OutputLine,
} from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Identity } from '@device-core/plugin-api/inside/services/identity';
import type { Launcher } from '@device-core/plugin-api/inside/services/launcher';
import { isInSpan, type UserRange } from '@device-core/plugin-api/inside/user-range';
import { ForkWatch, tooManyForks } from '../shared/new-tasks/fork-watch.ts';
import { NamespaceCount, tasksInside } from '../shared/new-tasks/namespace-count.ts';
import { enforcementOf, lacking, wallsFor } from './enforcement.ts';
import type { FormerRecord, ProcessRecords } from './former-processes.ts';
import { GuestLog } from './guest-log.ts';
import { describeFailure, type Exit, GuestProcess } from './guest-process.ts';
import { type Excess, GuestWatch } from './guest-watch.ts';
import { limitWords } from './limits.ts';
import { type Owner, plainOwner } from './owner.ts';
import { writePrivateFile } from './private-file.ts';
import { membersOf, programOf } from './process-session.ts';
import { treeOf, usageOf } from './process-usage.ts';
import { type TaskGroup, TaskGroups } from './task-group.ts';

export interface ProcessSupervisorOptions {
  readonly identity: Identity;
  readonly launcher: Launcher;
  readonly records: ProcessRecords;
  /** Folder of log files, and the size at which one is put aside, bytes. */
  readonly logs: string;
  readonly logBytes: number;
  /** Folder of what could not be removed. */
  readonly remains: string;
  /** Folder in which each app has one of its own, with its data. */
  readonly data: string;
  /** Takes secrets out of texts. */
  readonly hide: (texts: readonly string[]) => Promise<readonly string[]>;
  readonly clock: Clock;
  readonly scope: Scope;
  readonly log: Logger;
}

/** How long, and how often, it is looked for a program inside its walls. */
const PROGRAM_MS = 2_000;
const LOOK_MS = 10;
/** Between two pieces of output that are dropped: the guest waits at its pipe meanwhile. */
const DROP_PACE_MS = 25;

/** A run of a Core before this one. */
interface FormerRun extends FormerRecord {
  readonly guest: GuestRun;
  readonly ended: PromiseWithResolvers<GuestEnd>;
}

interface Run {
  readonly guest: GuestRun;
  readonly spec: AppSpec;
  readonly process: GuestProcess;
  readonly group: TaskGroup | undefined;
  readonly held: HeldMemory;
  readonly ended: PromiseWithResolvers<GuestEnd>;
  over: boolean;
  watched?: DisposableStack;
  /** It took too much, which is why it was ended. */
  excess?: Excess;
  /** It did not end by itself. */
  stopped: boolean;
}

/** The short name of a guest, from that of its sandbox. */
const nameOf = ({ kind, name }: Pick<AppSpec, 'kind' | 'name'>) => name.slice(kind.length + 1);
const homeOf = ({ env, run }: AppSpec) => env.HOME ?? run;

/** Outside, where the guest may see it in another place. */
function credentialsOf({ env, run, files }: AppSpec): string {
  const seen = env.CREDENTIALS_DIRECTORY ?? join(run, 'credentials');
  return files.placed?.[seen] ?? seen;
}

/** Guests as child processes, inside the walls that the kernel's launcher makes. */
export class ProcessSupervisor implements AppSupervisor {
  readonly #options: ProcessSupervisorOptions;
  readonly #runs = new Map<string, Run>();
  readonly #former = new Map<string, FormerRun>();
  /** By guest, the last one whose program was not there. */
  readonly #unstarted = new Map<string, { readonly run: string; readonly end: GuestEnd }>();
  readonly #logs = new Map<string, GuestLog>();
  readonly #watch: GuestWatch;
  readonly #forks: ForkWatch;
  /** Found out when first asked for: a Core without guests needs none. */
  readonly #groups = lazily(() => TaskGroups.open());
  #ranged: Owner | undefined;
  #count = 0;

  constructor(options: ProcessSupervisorOptions) {
    this.#options = options;
    this.#watch = new GuestWatch(options.scope);
    this.#forks = new ForkWatch(options);
  }

  async enforcement(spec?: Pick<AppSpec, 'bare'>): Promise<EnforcementReport> {
    const { tasks, ...report } = await this.#options.launcher.report();
    // The limit of tasks is set inside by prlimit(1), which a bare guest does not see.
    const counted = spec?.bare ? undefined : tasks;
    return enforcementOf({ ...report, ...maybe({ tasks: counted }) }, this.#groups() !== undefined);
  }

  async prepare(asked: AppSpec): Promise<void> {
    const { specProblem } = await import('@device-core/plugin-api/inside/sandbox');
    const problem = asked.kind === 'app' ? specProblem(asked) : 'plugins are no guests of this supervisor';
    if (problem) throw new CoreError('PARAMS_INVALID', { where: `the sandbox of ${asked.name}`, reason: problem });
    const { owner, spec } = await this.#owned(asked);
    for (const folder of [spec.data, spec.cache]) {
      if (folder === undefined) continue;
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await owner.giveTree(spec.uid, folder);
    }
    await owner.give(spec.uid, join(spec.run, 'rpc.sock'), ...(spec.wayOut === undefined ? [] : [spec.wayOut]));
  }

  async start(asked: AppSpec, { token, demand = {} }: GuestStart): Promise<GuestRun> {
    const { clock, identity, launcher, records } = this.#options;
    await this.prepare(asked);
    const { owner, range, spec } = await this.#owned(asked);
    const name = nameOf(spec);
    const report = await this.enforcement(spec);
    const short = lacking(demand, report);
    if (short.length > 0)
      throw new CoreError('SANDBOX_UNAVAILABLE', {
        what: spec.name,
        walls: short.join(', '),
        reason: [...new Set(short.map((kind) => report.reasons[kind] ?? 'it is not enforced'))].join('; '),
      });
    const walled = await launcher.prepare(spec, { demand: wallsFor(demand), limits: await limitWords(spec) });
    const log = this.#log(name);
    log.conceal(token);
    log.limit(spec.limits.logKBps);
    const file = join(credentialsOf(spec), 'token');
    await writePrivateFile(file, token);
    await owner.give(spec.uid, ...(range ? [] : [credentialsOf(spec)]), file);
    for (const [id, { guest, over }] of this.#runs) if (over && guest.name === name) this.#runs.delete(id);
    const run = `${name}.${++this.#count}`;
    // Inside walls it would be bubblewrap that ends.
    const absent = await access(spec.program, constants.X_OK).then(() => undefined, describeFailure);
    if (absent !== undefined) {
      this.#unstarted.set(name, { run, end: { cause: 'start', reason: absent } });
      await this.#void(spec);
      return { run, name, leader: { pid: 0, startTime: '' } };
    }
    const group = this.#groups()?.make(run, spec.limits.tasksMax + TASKS_ABOVE);
    const process = new GuestProcess({
      walled,
      ...maybe({ uid: spec.uid }),
      home: homeOf(spec),
      run,
      log,
      clock,
      group,
    });
    // In this very turn, so that no connection of the process is taken for somebody else's.
    const known = process.spawned
      ? identity.launched({
          app: spec.id,
          pid: process.leader.pid,
          ...maybe({ uid: spec.uid }),
        })
      : Promise.resolve();
    if (process.spawned) records.write(name, process.leader, homeOf(spec));
    const entry: Run = {
      guest: { run, name, leader: process.leader },
      spec,
      process,
      group,
      held: new HeldMemory(),
      ended: Promise.withResolvers<GuestEnd>(),
      over: false,
      stopped: false,
    };
    this.#runs.set(run, entry);
    if (process.spawned) this.#watchOver(entry);
    this.#end(entry).catch((thrown: unknown) =>
      this.#options.log.error({ guest: name, reason: reasonOf(thrown) }, 'the end of a guest failed'),
    );
    await known;
    return this.#told(entry);
  }

  async ended(run: string): Promise<GuestEnd> {
    const former = this.#former.get(run);
    if (former) return former.ended.promise;
    const unstarted = this.#unstartedOf(run);
    if (unstarted) return unstarted;
    return this.#find(run).ended.promise;
  }

  async ready(run: string): Promise<GuestRun> {
    const entry = this.#find(run);
    const { clock } = this.#options;
    // Walls take a few milliseconds until the program is there.
    const end = clock.monotonic() + PROGRAM_MS;
    while (entry.process.pid === undefined && !entry.over && clock.monotonic() < end) await clock.sleep(LOOK_MS);
    return this.#told(entry);
  }

  async stop(run: string, graceMs: number): Promise<readonly number[]> {
    const former = this.#former.get(run);
    if (former) {
      const left = await this.#options.records.end(former);
      this.#former.delete(run);
      former.ended.resolve({ cause: 'stopped' });
      return left;
    }
    if (this.#unstartedOf(run)) return [];
    const entry = this.#find(run);
    if (entry.over) return entry.ended.promise.then(() => []);
    entry.stopped = true;
    const left = await entry.process.end(graceMs);
    // A process that cannot be ended may never report its end.
    if (left.length > 0) await this.#finish(entry, left, { code: null, signal: null });
    await entry.ended.promise;
    return left;
  }

  async usage(run: string): Promise<GuestUsage> {
    return this.#usage(this.#find(run));
  }

  output(name: string, lines: number, run?: string): Promise<readonly OutputLine[]> {
    return this.#log(name).lines(lines, run);
  }

  write(name: string, line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    return this.#log(name).write(line);
  }

  onOutput(name: string, listener: (line: OutputLine) => void): Disposable {
    return this.#log(name).listen(listener);
  }

  async former(): Promise<readonly GuestRun[]> {
    for (const found of await this.#options.records.former()) {
      const guest = { run: `${found.name}.former`, name: found.name, leader: found.leader };
      if (!this.#former.has(guest.run))
        this.#former.set(guest.run, { ...found, guest, ended: Promise.withResolvers() });
    }
    return [...this.#former.values()].map(({ guest }) => guest);
  }

  async forget(name: string): Promise<void> {
    for (const [run, { guest }] of this.#runs) {
      if (guest.name !== name) continue;
      await this.stop(run, 0);
      this.#runs.delete(run);
    }
    this.#logs.delete(name);
    await rm(this.#options.records.folder(name), { recursive: true, force: true });
  }

  async release(app: string): Promise<void> {
    const { owner } = await this.#owner();
    await owner.takeTree(join(this.#options.data, app, 'data'));
  }

  async sweep(): Promise<void> {
    const { remains } = this.#options;
    const { owner } = await this.#owner();
    await owner.remove(remains).catch((thrown: unknown) => {
      throw storageError(remains, thrown);
    });
  }

  /** The owner of files, and what a guest has of its specification: a user where one can be given. */
  async #owned(asked: AppSpec) {
    const { owner, range, users } = await this.#owner();
    const given = users && (range === undefined || (asked.uid !== undefined && isInSpan(range, asked.uid)));
    return { owner, range, spec: given ? asked : withoutUser(asked) };
  }

  async #owner(): Promise<{ readonly owner: Owner; readonly users: boolean; readonly range: UserRange | undefined }> {
    const { launcher, scope } = this.#options;
    const { by, users, range } = await launcher.report();
    if (range) this.#ranged ??= new (await import('./range-owner.ts')).RangeOwner(range, scope);
    return { owner: this.#ranged ?? plainOwner, users: users && by === 'bubblewrap', range };
  }

  /** Nothing of any run is left. */
  async endAll(): Promise<void> {
    await Promise.all([...this.#runs.keys()].map((run) => this.stop(run, 0)));
  }

  /** When the first process ended, what it left behind goes, too, and then all its words are there. */
  async #end(entry: Run): Promise<void> {
    const { process } = entry;
    const exit = await process.exited.catch((thrown: unknown) => ({ failure: describeFailure(thrown) }));
    await this.#finish(entry, await process.end(0), exit);
  }

  async #finish(entry: Run, left: readonly number[], exit: Exit | { readonly failure: string }): Promise<void> {
    if (entry.over) return;
    entry.over = true;
    entry.watched?.[Symbol.dispose]();
    const { guest, spec } = entry;
    const { log, records } = this.#options;
    try {
      if (left.length > 0) log.error({ guest: guest.name, processes: left }, 'processes of a guest could not be ended');
      else await records.remove(guest.name);
    } catch (thrown) {
      log.warn({ guest: guest.name, reason: reasonOf(thrown) }, 'cannot remove the record of a guest');
    }
    entry.group?.remove();
    await this.#void(spec);
    entry.ended.resolve(endOf(exit, entry));
  }

  /** Inside walls nothing leaves the tree of processes; without them it is looked for among all. */
  #usage({ process, spec, held }: Run): GuestUsage {
    const { leader, walled } = process;
    if (!walled) return usageOf(membersOf(leader, homeOf(spec), 'recent'), held);
    return usageOf(treeOf(leader.pid), held, programOf(leader.pid, 1));
  }

  #watchOver(entry: Run): void {
    const over = (excess: Excess) => {
      entry.excess ??= excess;
      entry.process.kill();
    };
    const { leader, walled } = entry.process;
    entry.watched = new DisposableStack();
    const { limits } = entry.spec;
    entry.watched.use(this.#watch.add({ limits, usage: () => (entry.over ? undefined : this.#usage(entry)), over }));
    // Without walls it has no pid namespace, which alone tells its tasks from those of others.
    if (walled)
      entry.watched.use(
        this.#forks.add(
          () => new NamespaceCount(() => tasksInside(programOf(leader.pid, 1))),
          (perSecond) => over({ of: 'tasks', reason: tooManyForks(perSecond) }),
        ),
      );
  }

  /** Its token is of no more use. */
  async #void(spec: AppSpec): Promise<void> {
    try {
      await rm(credentialsOf(spec), { recursive: true, force: true });
    } catch (thrown) {
      this.#options.log.warn({ guest: spec.name, reason: reasonOf(thrown) }, 'cannot remove the token of a guest');
    }
  }

  #unstartedOf(run: string): GuestEnd | undefined {
    return [...this.#unstarted.values()].find((one) => one.run === run)?.end;
  }

  #told({ guest, process }: Run): GuestRun {
    const { pid } = process;
    return { ...guest, ...maybe({ pid }) };
  }

  #find(run: string): Run {
    const found = this.#runs.get(run);
    if (!found) throw new CoreError('PARAMS_INVALID', { where: 'run', reason: `there is no run ${run}` });
    return found;
  }

  #log(name: string): GuestLog {
    let log = this.#logs.get(name);
    if (!log) {
      const { clock, logs, logBytes } = this.#options;
      const onError = (thrown: unknown) =>
        this.#options.log.warn({ guest: name, reason: reasonOf(thrown) }, "cannot write a guest's log");
      const onDrop = () =>
        this.#options.log.warn({ guest: name }, 'a guest writes more than it may: lines are dropped');
      const file = join(logs, `${name}.log`);
      const paced = () => clock.sleep(DROP_PACE_MS);
      log = new GuestLog({ file, limit: logBytes, clock, onError, onDrop, paced, hide: this.#options.hide });
      this.#logs.set(name, log);
    }
    return log;
  }
}

/**
 * A Core that is not root and has no range has no user to give: the guest has the Core's, in a separate namespace.
 * Without bubblewrap its folders would have to be passable for every user of the system.
 */
function withoutUser({ uid: _, groups: __, ...spec }: AppSpec): AppSpec {
  return spec;
}

function endOf(
  exit: Exit | { readonly failure: string },
  { stopped, excess }: Pick<Run, 'stopped' | 'excess'>,
): GuestEnd {
  if ('failure' in exit) return { cause: 'start', reason: exit.failure };
  const { code, signal } = exit;
  const how = { ...(code === null ? {} : { code }), ...(signal === null ? {} : { signal }) };
  if (excess) return { ...how, cause: excess.of === 'memory' ? 'memory' : 'signal', reason: excess.reason };
  return { ...how, cause: stopped ? 'stopped' : signal === null ? 'exit' : 'signal' };
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
