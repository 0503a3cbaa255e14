import type { AppSpec } from '../../contract/app-spec.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { UserSpan } from '../user-range.ts';

/** Walls that the system's kernel can set around an app. */
export const ENFORCED = ['user', 'files', 'devices', 'network', 'syscalls', 'memory', 'tasks', 'mac'] as const;
export type Enforced = (typeof ENFORCED)[number];
/** `watched`: the Core looks now and then, and ends what took too much. */
export type Enforcement = Readonly<Record<Enforced, 'kernel' | 'watched' | 'none'>>;

export interface EnforcementReport {
  readonly by: 'systemd' | 'process';
  readonly enforced: Enforcement;
  /** Why nothing better stands, by kind, for people. */
  readonly reasons: Readonly<Partial<Record<Enforced, string>>>;
  /** Range that the users of apps are taken from, where the Core is not root: number n of the store is its user n. */
  readonly users?: UserSpan;
}

/** One run of a guest, by the supervisor's own name for it. */
export interface GuestRun {
  /** Never used again while the Core runs. */
  readonly run: string;
  /** Short name of the guest: `agenda`. */
  readonly name: string;
  /** First process of the run; with walls it is the outermost. */
  readonly leader: { readonly pid: number; readonly startTime: string };
  /** Process of the program itself, where it is known. */
  readonly pid?: number;
}

export interface GuestEnd {
  readonly code?: number;
  readonly signal?: string;
  /** `start`: the program could not be executed; `memory`: it took more than its budget. */
  readonly cause: 'exit' | 'signal' | 'memory' | 'start' | 'stopped';
  /** For people, where the cause alone does not say it. */
  readonly reason?: string;
}

/** Present use of a run: bytes, and milliseconds of processor time since its start. */
export interface GuestUsage {
  readonly memory: number;
  readonly memoryPeak?: number;
  readonly cpuMs: number;
  readonly tasks: number;
  readonly ioBytes?: number;
}

/** `log`: it came by write(). */
export type OutputStream = 'stdout' | 'stderr' | 'log';

export interface OutputLine {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly from: OutputStream;
  readonly text: string;
  /** The run that wrote it; absent for what was written before this Core began. */
  readonly run?: string;
  /** Other members of a line of JSON. */
  readonly fields?: Readonly<Record<string, unknown>>;
}

export interface GuestStart {
  /**
   * Handed over as the file `token` in $CREDENTIALS_DIRECTORY, for this run only; never in the environment, on a
   * command line or in a log.
   */
  readonly token: string;
  /** Walls that must hold at least; none, if absent. A granted network needs no wall. */
  readonly demand?: Readonly<Partial<Record<Enforced, 'kernel' | 'watched'>>>;
}

/**
 * Runs guests inside what the system's kernel enforces (decisions D14). Two providers, systemd units and bubblewrap,
 * one contract suite. Plain data both ways, so that a provider may run at every level. When a guest is started again,
 * how often and why not, is its caller's business.
 */
export interface AppSupervisor {
  /** For this guest, or for one with the system's libraries: a program that sees none of them has fewer limits. */
  enforcement(spec?: Pick<AppSpec, 'bare'>): Promise<EnforcementReport>;
  /**
   * Makes the user, folders and unit that a start needs. Idempotent. Throws PARAMS_INVALID for an impossible
   * specification, WARDEN_REFUSED.
   */
  prepare(spec: AppSpec): Promise<void>;
  /**
   * Resolves when the program runs or could not be executed, which ended() reports. Identity gets the run (`launched`) before a peer could
   * trust it. Throws SANDBOX_UNAVAILABLE where a demanded wall cannot be made, and the codes of prepare().
   */
  start(spec: AppSpec, start: GuestStart): Promise<GuestRun>;
  /** Resolves when nothing of the run is left but what stop() could not end. */
  ended(run: string): Promise<GuestEnd>;
  /** It is ready: limits that would only hold up its start hold from now on. Resolves with what is known of it now, `pid` among it. */
  ready(run: string): Promise<GuestRun>;
  /** SIGTERM to the program, SIGKILL to all of it when the grace is over. Resolves with processes that could not be ended. */
  stop(run: string, graceMs: number): Promise<readonly number[]>;
  usage(run: string): Promise<GuestUsage>;
  /**
   * The newest lines that a guest wrote, in this run and before, the oldest first. With a run its alone, and then of
   * each stream the last ones at least, so that a guest that talks much does not push out why it failed.
   */
  output(name: string, lines: number, run?: string): Promise<readonly OutputLine[]>;
  /** A line that its owner adds to what it wrote itself (log.write). Resolves when it is written as durably as the others. */
  write(name: string, line: Pick<OutputLine, 'level' | 'text' | 'fields'>): Promise<void>;
  /** Called with each line from now on. */
  onOutput(name: string, listener: (line: OutputLine) => void): Disposable;
  /** Runs that a killed Core left behind. */
  former(): Promise<readonly GuestRun[]>;
  /** Nothing of this guest is wanted any more: unit and run folder go, its data stays. */
  forget(name: string): Promise<void>;
  /**
   * The data of the app with this id are the Core's from now until its next start: to be read, copied, put back, kept.
   * Nothing of it may run meanwhile; a start hands them over again. What the app alone can reach stays as it is. Throws
   * WARDEN_REFUSED, UNAVAILABLE.
   */
  release(app: string): Promise<void>;
  /**
   * Removes what could not be removed and was moved to `<var>/remains`. Throws WARDEN_REFUSED, UNAVAILABLE, and the
   * codes of a disk, with something left.
   */
  sweep(): Promise<void>;
}

export const appSupervisor = serviceRef<AppSupervisor>('app-supervisor', '1.1.0', 'tree');
