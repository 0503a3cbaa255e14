import { dirname, join } from 'node:path';
import { afterOwnTime, type Clock, CoreError, maybe, reasonOf, type Spent, spentText } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { limitsOf } from '@device-core/plugin-api/inside/app-spec';
import type { GuestEnd, OutputLine } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppManifest, AppState, AppStatus } from '@device-core/plugin-api/services/apps';
import { AppBudget } from './app-budget.ts';
import type { AppContext } from './app-context.ts';
import { AppCrashes } from './app-crashes.ts';
import { AppGrants } from './app-grants.ts';
import { AppLease, type Lent } from './app-lease.ts';
import { type AppPlace, placeOf } from './app-place.ts';
import { type AppRun, describeEnd, startRun } from './app-run.ts';
import { type CrashLine, crashLine } from './crash-line.ts';
import { specOfRun, userOf } from './guest-spec.ts';
import { LastHeard } from './last-heard.ts';
import { lastWords } from './last-words.ts';
import { Liveness, processorWait } from './liveness.ts';
import { pingApp, pingLimits } from './ping.ts';
import { RateLimit } from './rate-limit.ts';
import { refusalsSince } from './refusals.ts';
import { Turns } from './turns.ts';

/** Told with their code: somebody has to do something about them. */
const REFUSALS: readonly string[] = ['SANDBOX_UNAVAILABLE', 'APP_CHANGED'];
const START_MS = 10_000;
const STOP_MS = 3_000;
const STANDS_MS = 1_000;
/** Longest stop of an app when the whole plugin stops: less than the plugin's limit. */
const LAST_STOP_MS = 5_000;

type Outcome = 'ready' | 'cancelled' | { readonly late: Spent } | GuestEnd;

/** One app and its state, which changes in turns. */
export class App {
  readonly manifest: AppManifest;
  readonly folder: string;
  readonly grants: AppGrants;
  readonly budget: AppBudget;
  /** Limit of log.write. */
  readonly logRate: RateLimit;
  /** Limit of output lines shown in the terminal. */
  readonly outputRate: RateLimit;
  /** Its folder was named by somebody: it is a developer's, not installed. */
  readonly #named: boolean;
  #shouting: Disposable | undefined;
  readonly #place: AppPlace;
  readonly #context: AppContext;
  readonly #lease: AppLease;
  readonly #crashes: AppCrashes;
  readonly #changed: (app: App) => void;
  readonly #turns: Turns;
  #state: AppState = 'stopped';
  #reason: string | undefined;
  #crash: CrashLine | undefined;
  /** Refusals of the run that crashed. */
  #refused = '';
  #launchedAt = 0;
  /** How it last came to an end by itself, and how often it did. */
  #lastEnd: AppStatus['lastEnd'];
  #liveness: Liveness | undefined;
  #since: number;
  /** The same moment, monotonic. */
  #entered: number;
  #restarts = 0;
  #process: AppRun | undefined;
  #retry: Disposable | undefined;
  #lostSession: Disposable | undefined;
  /** Open sessions by id; whoever waits for the first one is in `#opened`. */
  readonly #sessions = new Set<string>();
  #opened: (() => void) | undefined;
  #health: AppStatus['health'];
  /** When it last reported its health, or began to run. */
  readonly heard: LastHeard;
  #complaint: CoreError | undefined;

  constructor(manifest: AppManifest, folder: string, context: AppContext, changed: (app: App) => void) {
    this.#named = dirname(folder) !== join(context.device.paths.var, 'apps');
    this.manifest = manifest;
    this.folder = folder;
    this.#context = context;
    this.#changed = changed;
    this.#since = context.scope.clock.now();
    this.#entered = context.scope.clock.monotonic();
    this.heard = new LastHeard(context.scope.clock);
    this.#turns = new Turns((reason) => context.log.error({ app: manifest.id, reason }, 'a change of an app failed'));
    this.#place = placeOf(manifest, context.device.paths);
    this.#lease = new AppLease(manifest, context);
    const { scope, device, config, log } = context;
    this.#crashes = new AppCrashes({ manifest, limits: config.crash, paths: device.paths, clock: scope.clock, log });
    this.#reason = this.#crashes.quarantine;
    if (this.#reason !== undefined) this.#state = 'quarantined';
    this.grants = new AppGrants(manifest, folder, context);
    this.budget = new AppBudget(limitsOf(manifest.resources, context.config.ceilings));
    this.logRate = new RateLimit(context.config.logRate);
    this.outputRate = new RateLimit(context.config.logRate);
  }

  get state(): AppState {
    return this.#state;
  }

  /** Why it is in its state, without the output of the app, which may hold what others must not read. */
  get reason(): string | undefined {
    return this.#reason;
  }

  /** Fault of the present app.yaml, because of which the last good one is in force. */
  get complaint(): CoreError | undefined {
    return this.#complaint;
  }

  /** True where this is news. Undefined: the file is in order again. */
  complain(error: CoreError | undefined): boolean {
    if (this.#complaint?.message === error?.message) return false;
    this.#complaint = error;
    this.#changed(this);
    return true;
  }

  /** It runs, or will again by itself. */
  get active(): boolean {
    return this.#state === 'starting' || this.#state === 'running' || this.#state === 'backoff';
  }

  status(): AppStatus {
    const { id, name, version, title } = this.manifest;
    const pid = this.#process?.pid;
    const reason = this.#reason;
    return {
      id,
      name,
      version,
      title,
      state: this.#state,
      since: this.#since,
      restarts: this.#restarts,
      ...(reason === undefined ? {} : { reason: this.#isTroubled ? this.#withOutput(reason) : reason }),
      ...(this.#complaint ? { complaint: this.#complaint.toWire() } : {}),
      ...(pid ? { pid } : {}),
      ...maybe({ lastEnd: this.#lastEnd }),
      capabilities: this.grants.decision.granted,
      denied: this.grants.decision.denied,
      leftOut: this.#lease.leftOut,
      ...maybe({ health: this.#health }),
    };
  }

  /** Resolves when it runs or failed to. The operator's word also ends a pause and a quarantine. */
  start(): Promise<void> {
    return this.#turns.take(async () => {
      if (this.#state === 'running') return;
      this.#crashes.forgive();
      await this.#launch();
    });
  }

  /** Resolves when it has ended or has run for a moment: without a session nothing says that it is ready. */
  async stands(): Promise<void> {
    if (this.#state !== 'running' || this.#awaitsSession) return;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    using _ = this.#ownTime(STANDS_MS, resolve);
    void this.#process?.ended.then(resolve);
    await promise.then(() => this.#turns.take(async () => undefined)); // its end has changed the state by then
  }

  /** Resolves when nothing of it runs any more. A start that is under way is given up. */
  stop(reason: string): Promise<void> {
    return this.#turns.takeToStop(async () => {
      this.#retry?.[Symbol.dispose]();
      if (this.#state !== 'stopped') await this.#end(reason, 'stopped');
    });
  }

  /**
   * As stop() and start(), but its functions stay: whoever calls one meanwhile waits for the new run. A stop that comes
   * meanwhile holds.
   */
  restart(reason: string): Promise<void> {
    return this.#turns.takeToStop(async () => {
      if (this.#state !== 'stopped') await this.#end(reason, 'stopped', () => this.#lease.voidToken());
      this.#crashes.forgive();
      await this.#launch();
      if (this.#state === 'stopped') await this.#lease.end();
    });
  }

  /** Does `work` while nothing of it runs and nothing can start it; what ran before runs again. */
  still(reason: string, work: () => Promise<void>): Promise<void> {
    return this.#turns.take(async () => {
      const ran = this.active;
      const { stopTimeoutMs = STOP_MS } = this.manifest.lifecycle ?? {};
      // A stop that fails throws before any change: the app runs on.
      if (this.#process) await this.#context.appSupervisor.stop(this.#process.run, stopTimeoutMs);
      if (ran) await this.#end(reason, 'stopped');
      await work().finally(() => (ran ? this.#launch() : undefined));
    });
  }

  /** Ends it for good, until somebody starts it. */
  fail(reason: string): Promise<void> {
    return this.#turns.take(async () => {
      if (this.active) await this.#end(reason, 'failed');
    });
  }

  /** The supervisor's name for what runs of it now. */
  get run(): string | undefined {
    return this.#process?.run;
  }

  /** Folders of its data and cache. */
  get folders(): { readonly data: string; readonly cache: string } {
    return this.#place;
  }

  /** Takes what is granted now. True: it is something else, and the app runs with what it was told before. */
  decideAgain(): boolean {
    return this.grants.decideAgain() && this.active;
  }

  reportHealth(status: string, message: string | undefined): void {
    this.#health = { status, ...maybe({ message }), at: this.#clock.now() };
    this.heard.now();
  }

  sessionOpened(session: string): void {
    this.#sessions.add(session);
    this.#lostSession?.[Symbol.dispose]();
    this.#lostSession = undefined;
    this.#opened?.();
  }

  sessionClosed(session: string): void {
    this.#sessions.delete(session);
    if (this.#sessions.size === 0 && this.#state === 'running') this.#awaitSession();
  }

  /** It has none, and is given as long as for its start. */
  #awaitSession(): void {
    if (!this.#awaitsSession || this.#context.scope.signal.aborted) return;
    const limit = this.#startTimeout;
    const process = this.#process;
    this.#lostSession?.[Symbol.dispose]();
    this.#lostSession = this.#ownTime(limit, (spent) =>
      this.#turns.takeQuietly(async () => {
        if (this.#process === process && this.#sessions.size === 0)
          await this.#crashed(`it has had no session for ${spentText(limit, spent)}`);
      }),
    );
  }

  /** Manifest parts are told to a registry that has just come. */
  async describe(): Promise<void> {
    await this.#lease.describeConfig();
    if (this.active) await this.#lease.registerFunctions();
  }

  /** Ways out have come again. */
  async openWayOut(): Promise<void> {
    if (this.active) await this.#lease.openWayOut();
  }

  /** The registry of functions has changed. */
  async lookForFunctions(): Promise<void> {
    if (this.active) await this.#lease.lookForFunctions();
  }

  get hasSession(): boolean {
    return this.#sessions.size > 0;
  }

  get #awaitsSession(): boolean {
    return this.manifest.health?.kind !== 'none';
  }

  get #startTimeout(): number {
    return this.manifest.lifecycle?.startTimeoutMs ?? START_MS;
  }

  async #launch(): Promise<void> {
    if (this.#turns.signal.aborted || this.#context.scope.signal.aborted) return;
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
    this.#health = undefined;
    this.#sessions.clear();
    this.#crash = undefined;
    this.#refused = '';
    this.#enter('starting');
    this.#launchedAt = this.#since;
    await this.#endProcess(0); // of a stop that failed
    let process: AppRun;
    try {
      await this.#context.stored.check(this.folder);
      const uid = await userOf(this, this.#context);
      process = await this.#spawn(await this.#lease.take(await this.grants.settle(), uid));
    } catch (thrown) {
      const refused = thrown instanceof CoreError && REFUSALS.includes(thrown.code);
      await this.#end(refused ? thrown.toWire() : reasonOf(thrown), 'failed');
      return;
    }
    const outcome = await this.#outcome(process);
    if (outcome === 'cancelled') return;
    if (outcome === 'ready') {
      const known = this.#ready(process);
      // With a session the app runs already, so that this takes no time.
      if (this.#awaitsSession) await known;
      this.#enter('running');
      this.heard.now();
      this.#watch(process);
      if (this.#sessions.size === 0) this.#awaitSession();
      void process.ended.then((end) => this.#turns.takeQuietly(() => this.#exited(process, end)));
    } else if (typeof outcome === 'object' && 'late' in outcome) {
      await this.#crashed(`it was not ready after ${spentText(this.#startTimeout, outcome.late)}`);
    } else if (outcome.cause === 'start') {
      await this.#end(`cannot run ${this.manifest.exec.command}: ${outcome.reason}`, 'failed');
    } else {
      await this.#crashed(`${describeEnd(outcome)} before it was ready`, outcome);
    }
  }

  /** Spec of the present run, or of the next one. */
  spec(addresses?: Lent['addresses']): Promise<AppSpec> {
    return specOfRun(this, this.grants.decision, this.#context, addresses);
  }

  async #spawn({ addresses, token }: Lent): Promise<AppRun> {
    const { config, appSupervisor } = this.#context;
    const { manifest } = this;
    const spec = await this.spec(addresses);
    await this.#lease.openWayOut(spec);
    if (this.#named) this.#shouting = appSupervisor.onOutput(manifest.name, (line) => this.#shout(line));
    const demand = config.insecure ? {} : config.demand;
    this.#process = await startRun(appSupervisor, spec, { token, demand });
    return this.#process;
  }

  #outcome(process: AppRun): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    void process.ended.then(resolve);
    if (this.#turns.signal.aborted) return Promise.resolve('cancelled');
    const cancelled = () => resolve('cancelled');
    this.#turns.signal.addEventListener('abort', cancelled, { once: true });
    this.#opened = () => resolve('ready');
    if (!this.#awaitsSession || this.hasSession) resolve('ready');
    const timer = this.#ownTime(this.#startTimeout, (late) => resolve({ late }));
    return promise.finally(() => {
      timer[Symbol.dispose]();
      this.#turns.signal.removeEventListener('abort', cancelled);
      this.#opened = undefined;
    });
  }

  /** Limits that would have held up its start hold from now on, and by now its program is known. */
  async #ready(process: AppRun): Promise<void> {
    try {
      process.pid = (await this.#context.appSupervisor.ready(process.run)).pid ?? process.pid;
    } catch (thrown) {
      this.#context.log.warn({ app: this.manifest.id, reason: reasonOf(thrown) }, 'cannot set the limits of an app');
    }
  }

  /** Asks it while it runs, and ends it when it does not answer. */
  #watch(process: AppRun): void {
    if (!this.#awaitsSession) return;
    const { id, health } = this.manifest;
    const limits = pingLimits(this.#context.config.ping, health?.liveness);
    this.#liveness = new Liveness({
      label: id,
      scope: this.#context.scope,
      limits,
      pid: process.leader,
      ask: (signal) => pingApp(this.#context.appSockets, id, [...this.#sessions], limits, signal),
      hung: (reason) =>
        void this.#turns.takeQuietly(async () => {
          if (this.#process === process && this.#state === 'running') await this.#crashed(reason);
        }),
    });
  }

  /** Pings in a row that it has not answered. */
  get unanswered(): number {
    return this.#liveness?.misses ?? 0;
  }

  /** A limit of its own time: neither a busy event loop nor the wait for a processor counts (decisions D12a). */
  #ownTime(ms: number, over: (spent: Spent) => void): Disposable {
    const clock = this.#clock;
    const pid = this.#process?.leader ?? 0;
    return afterOwnTime(clock, ms, over, [() => clock.taken(), processorWait(pid)]);
  }

  get #clock(): Clock {
    return this.#context.scope.clock;
  }

  async #exited(process: AppRun, exit: GuestEnd): Promise<void> {
    if (this.#process !== process) return;
    if (this.active) await this.#crashed(describeEnd(exit), exit);
    else await this.#end(describeEnd(exit), 'stopped'); // after a stop that failed
  }

  /** It ended by itself or had to be ended: what the manifest and the crash policy say happens next. */
  async #crashed(reason: string, exit?: GuestEnd): Promise<void> {
    const now = this.#clock.monotonic();
    const ran = this.#state === 'running' ? now - this.#entered : 0;
    const restart = this.manifest.lifecycle?.restart ?? 'on-failure';
    const wellDone = exit?.code === 0 && this.#state === 'running';
    const { appSupervisor } = this.#context;
    const run = this.#process?.run;
    const words = wellDone || run === undefined ? [] : await lastWords(appSupervisor, this.manifest.name, run);
    if (!wellDone) {
      this.#crash = crashLine(words, this.folder);
      this.#refused = await refusalsSince(this.#context.grants, this.manifest.id, this.#launchedAt);
    }
    this.#lastEnd = { reason: this.#withOutput(reason), at: this.#clock.now(), count: (this.#lastEnd?.count ?? 0) + 1 };
    if (wellDone && restart !== 'always') return this.#end(reason, 'stopped');
    if (restart === 'never') return this.#end(reason, 'failed');
    const pause = this.#crashes.failed(now, ran, reason);
    if (pause === undefined)
      return this.#end(`${this.#crashes.count} crashes in a short time; the last one: ${reason}`, 'quarantined');
    await this.#lease.voidToken();
    await this.#endProcess(0);
    if (this.#context.scope.signal.aborted) return;
    this.#enter('backoff', reason);
    this.#retry = this.#context.scope.timeout(`restart of ${this.manifest.id}`, pause, () =>
      this.#turns.takeQuietly(async () => {
        if (this.#state !== 'backoff') return;
        this.#restarts += 1;
        await this.#launch();
      }),
    );
  }

  /** For good, until somebody starts it. */
  async #end(
    reason: string,
    state: 'stopped' | 'failed' | 'quarantined',
    giveBack = () => this.#lease.end(),
  ): Promise<void> {
    if (this.#process) this.#enter('stopping', reason);
    await this.#lease.closeSocket(reason);
    const grace = state === 'stopped' ? (this.manifest.lifecycle?.stopTimeoutMs ?? STOP_MS) : 0;
    await this.#endProcess(this.#context.scope.signal.aborted ? Math.min(grace, LAST_STOP_MS) : grace);
    await giveBack();
    this.#enter(state, reason);
  }

  async #endProcess(graceMs: number): Promise<void> {
    for (const one of [this.#lostSession, this.#liveness, this.#shouting]) one?.[Symbol.dispose]();
    [this.#lostSession, this.#liveness, this.#shouting] = [undefined, undefined, undefined];
    const process = this.#process;
    if (!process) return;
    await this.#context.appSupervisor.stop(process.run, graceMs).catch(async (thrown: unknown) => {
      // It stays known: the next start or stop tries again.
      await this.#lease.closeSocket('its processes could not be ended');
      await this.#lease.end();
      this.#enter('failed', `its processes could not be ended: ${reasonOf(thrown)}`);
      throw thrown;
    });
    // Last, so that nobody sees an app that runs without a process.
    this.#process = undefined;
    this.#sessions.clear();
  }

  #enter(state: AppState, reason?: string): void {
    this.#state = state;
    this.#since = this.#clock.now();
    this.#entered = this.#clock.monotonic();
    this.#reason = reason;
    this.#changed(this);
  }

  /** Type of the error and place in its code, where it has just crashed: nothing of what it works with. */
  get crashPlace(): string | undefined {
    return this.#isTroubled ? this.#crash?.place : undefined;
  }

  get #isTroubled(): boolean {
    return this.#state === 'backoff' || this.#state === 'failed' || this.#state === 'quarantined';
  }

  #withOutput(reason: string): string {
    const wrote = this.#crash && `it wrote: ${this.#crash.text}`;
    return [reason, wrote, this.#refused].filter(Boolean).join('; ');
  }

  /** A line of log.write. */
  write(line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void> {
    return this.#context.appSupervisor.write(this.manifest.name, line);
  }

  /** Complaints of a developer's app go to the terminal, too, at a readable rate. */
  #shout({ level, from, text }: OutputLine): void {
    const { log } = this.#context;
    const quiet = level === 'debug' || level === 'info' || from === 'log';
    if (quiet || this.outputRate.take(this.#clock.monotonic()) > 0) return;
    log[level]({ app: this.manifest.id, from }, text);
  }
}
