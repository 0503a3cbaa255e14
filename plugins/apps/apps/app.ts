import { CoreError, maybe, reasonOf, spentText } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import { limitsOf } from '@device-core/plugin-api/inside/app-spec';
import type { GuestEnd } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppManifest, AppState, AppStatus } from '@device-core/plugin-api/services/apps';
import { AppBudget } from './app-budget.ts';
import type { AppContext } from './app-context.ts';
import { AppCrashes } from './app-crashes.ts';
import { AppGrants } from './app-grants.ts';
import { AppLease, type Lent } from './app-lease.ts';
import { AppOutput } from './app-output.ts';
import { AppPhase } from './app-phase.ts';
import { type AppPlace, placeOf } from './app-place.ts';
import { type AppRun, describeEnd, settleRun, startRun } from './app-run.ts';
import { AppSessions } from './app-sessions.ts';
import { CrashAccount } from './crash-account.ts';
import { specOfRun, userOf } from './guest-spec.ts';
import { LastHeard } from './last-heard.ts';
import { Turns } from './turns.ts';

/** Told with their code: somebody has to do something about them. */
const REFUSALS: readonly string[] = ['SANDBOX_UNAVAILABLE', 'APP_CHANGED'];
const STOP_MS = 3_000;
/** Longest stop of an app when the whole plugin stops: less than the plugin's limit. */
const LAST_STOP_MS = 5_000;

type Ending = 'stopped' | 'failed' | 'quarantined';

/** One app and its state, which changes in turns. */
export class App {
  readonly manifest: AppManifest;
  readonly folder: string;
  readonly grants: AppGrants;
  readonly budget: AppBudget;
  readonly output: AppOutput;
  readonly sessions: AppSessions;
  /** Folders of its data and cache. */
  readonly folders: AppPlace;
  readonly #context: AppContext;
  readonly #lease: AppLease;
  readonly #crashes: AppCrashes;
  readonly #changed: (app: App) => void;
  readonly #turns: Turns;
  readonly #phase: AppPhase;
  readonly #account: CrashAccount;
  #restarts = 0;
  #process: AppRun | undefined;
  #retry: Disposable | undefined;
  /** When it last reported its health, or began to run. */
  readonly heard: LastHeard;
  #complaint: CoreError | undefined;

  constructor(manifest: AppManifest, folder: string, context: AppContext, changed: (app: App) => void) {
    this.manifest = manifest;
    this.folder = folder;
    this.#context = context;
    this.#changed = changed;
    this.#turns = new Turns((reason) => context.log.error({ app: manifest.id, reason }, 'a change of an app failed'));
    this.folders = placeOf(manifest, context.device.paths);
    this.#lease = new AppLease(manifest, context);
    const { scope, device, config, log } = context;
    this.heard = new LastHeard(scope.clock);
    this.#crashes = new AppCrashes({ manifest, limits: config.crash, paths: device.paths, clock: scope.clock, log });
    this.#phase = new AppPhase(scope.clock, this.#crashes.quarantine, () => this.#changed(this));
    this.grants = new AppGrants(manifest, folder, context);
    this.budget = new AppBudget(limitsOf(manifest.resources, context.config.ceilings));
    this.output = new AppOutput(this, context);
    this.#account = new CrashAccount(this, context);
    this.sessions = new AppSessions({
      manifest,
      context,
      turns: this.#turns,
      process: () => this.#process,
      isRunning: () => this.#phase.state === 'running',
      crashed: (reason) => this.#crashed(reason),
    });
  }

  get state(): AppState {
    return this.#phase.state;
  }

  /** Why it is in its state, without the output of the app, which may hold what others must not read. */
  get reason(): string | undefined {
    return this.#phase.reason;
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
    return this.#phase.isActive;
  }

  status(): AppStatus {
    const { id, name, version, title } = this.manifest;
    const pid = this.#process?.pid;
    const reason = this.#phase.reason;
    return {
      id,
      name,
      version,
      title,
      state: this.#phase.state,
      since: this.#phase.since,
      restarts: this.#restarts,
      ...(reason === undefined ? {} : { reason: this.#phase.isTroubled ? this.#account.explain(reason) : reason }),
      ...(this.#complaint ? { complaint: this.#complaint.toWire() } : {}),
      ...(pid ? { pid } : {}),
      ...maybe({ lastEnd: this.#account.lastEnd }),
      capabilities: this.grants.decision.granted,
      denied: this.grants.decision.denied,
      leftOut: this.#lease.leftOut,
      ...maybe({ health: this.heard.health }),
    };
  }

  /** Resolves when it runs or failed to. The operator's word also ends a pause and a quarantine. */
  start(): Promise<void> {
    return this.#turns.take(async () => {
      if (this.#phase.state === 'running') return;
      this.#crashes.forgive();
      await this.#launch();
    });
  }

  /** Resolves when a run that has begun has shown that it stands: without a session nothing says that it is ready. */
  async stands(): Promise<void> {
    if (this.#phase.state !== 'running' || !this.#process) return;
    await this.sessions.stands(this.#process);
    await this.#turns.take(async () => undefined); // its end has changed the state by then
  }

  /** Resolves when nothing of it runs any more. A start that is under way is given up. */
  stop(reason: string): Promise<void> {
    return this.#turns.takeToStop(async () => {
      this.#retry?.[Symbol.dispose]();
      if (this.#phase.state !== 'stopped') await this.#end(reason, 'stopped');
    });
  }

  /**
   * As stop() and start(), but its functions stay: whoever calls one meanwhile waits for the new run. A stop that comes
   * meanwhile holds.
   */
  restart(reason: string): Promise<void> {
    return this.#turns.takeToStop(async () => {
      if (this.#phase.state !== 'stopped') await this.#end(reason, 'stopped', () => this.#lease.voidToken());
      this.#crashes.forgive();
      await this.#launch();
      if (this.#phase.state === 'stopped') await this.#lease.end();
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

  /** Takes what is granted now. True: it is something else, and the app runs with what it was told before. */
  decideAgain(): boolean {
    return this.grants.decideAgain() && this.active;
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

  async #launch(): Promise<void> {
    if (this.#turns.signal.aborted || this.#context.scope.signal.aborted) return;
    this.#retry?.[Symbol.dispose]();
    this.#retry = undefined;
    this.heard.forget();
    this.sessions.clear();
    this.#phase.enter('starting');
    this.#account.begin(this.#phase.since);
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
    const outcome = await this.sessions.first(process);
    if (outcome === 'cancelled') return;
    if (outcome === 'ready') {
      const known = settleRun(process, this.manifest.id, this.#context);
      // With a session the app runs already, so that this takes no time.
      if (this.sessions.expected) await known;
      this.#phase.enter('running');
      this.heard.now();
      this.sessions.watch(process);
      void process.ended.then((end) => this.#turns.takeQuietly(() => this.#exited(process, end)));
    } else if (typeof outcome === 'object' && 'late' in outcome) {
      await this.#crashed(`it was not ready after ${spentText(this.sessions.startLimitMs, outcome.late)}`);
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
    const spec = await this.spec(addresses);
    await this.#lease.openWayOut(spec);
    this.output.show();
    const demand = config.insecure ? {} : config.demand;
    this.#process = await startRun(appSupervisor, spec, { token, demand });
    return this.#process;
  }

  async #exited(process: AppRun, exit: GuestEnd): Promise<void> {
    if (this.#process !== process) return;
    if (this.active) await this.#crashed(describeEnd(exit), exit);
    else await this.#end(describeEnd(exit), 'stopped'); // after a stop that failed
  }

  /** It ended by itself or had to be ended: what the manifest and the crash policy say happens next. */
  async #crashed(reason: string, exit?: GuestEnd): Promise<void> {
    const now = this.#context.scope.clock.monotonic();
    const ran = this.#phase.ranMs;
    const restart = this.manifest.lifecycle?.restart ?? 'on-failure';
    const wellDone = exit?.code === 0 && this.#phase.state === 'running';
    if (!wellDone) await this.#account.read(this.#process?.run);
    this.#account.ended(reason);
    if (wellDone && restart !== 'always') return this.#end(reason, 'stopped');
    if (restart === 'never') return this.#end(reason, 'failed');
    const pause = this.#crashes.failed(now, ran, reason);
    if (pause === undefined)
      return this.#end(`${this.#crashes.count} crashes in a short time; the last one: ${reason}`, 'quarantined');
    await this.#lease.voidToken();
    await this.#endProcess(0);
    if (this.#context.scope.signal.aborted) return;
    this.#phase.enter('backoff', reason);
    this.#retry = this.#context.scope.timeout(`restart of ${this.manifest.id}`, pause, () =>
      this.#turns.takeQuietly(async () => {
        if (this.#phase.state !== 'backoff') return;
        this.#restarts += 1;
        await this.#launch();
      }),
    );
  }

  /** For good: the next start is the operator's. */
  async #end(reason: string, state: Ending, giveBack = () => this.#lease.end()): Promise<void> {
    if (this.#process) this.#phase.enter('stopping', reason);
    await this.#lease.closeSocket(reason);
    const grace = state === 'stopped' ? (this.manifest.lifecycle?.stopTimeoutMs ?? STOP_MS) : 0;
    await this.#endProcess(this.#context.scope.signal.aborted ? Math.min(grace, LAST_STOP_MS) : grace);
    await giveBack();
    this.#phase.enter(state, reason);
  }

  async #endProcess(graceMs: number): Promise<void> {
    this.sessions.unwatch();
    this.output.hide();
    const process = this.#process;
    if (!process) return;
    await this.#context.appSupervisor.stop(process.run, graceMs).catch(async (thrown: unknown) => {
      // It stays known: the next start or stop tries again.
      await this.#lease.closeSocket('its processes could not be ended');
      await this.#lease.end();
      this.#phase.enter('failed', `its processes could not be ended: ${reasonOf(thrown)}`);
      throw thrown;
    });
    // Last, so that nobody sees an app that runs without a process.
    this.#process = undefined;
    this.sessions.clear();
  }

  /** Type of the error and place in its code, where it has just crashed: nothing of what it works with. */
  get crashPlace(): string | undefined {
    return this.#phase.isTroubled ? this.#account.place : undefined;
  }
}
