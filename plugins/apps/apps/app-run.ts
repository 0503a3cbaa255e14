import { reasonOf } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import type { AppSupervisor, GuestEnd, GuestStart } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { AppContext } from './app-context.ts';

/** The current run of an app. */
export interface AppRun {
  /** The supervisor's name for it. */
  readonly run: string;
  /** Pid of the first process, which may be that of the sandbox. */
  readonly leader: number;
  /** Pid of the program itself, as far as it is known. */
  pid: number;
  /** Never rejects. */
  readonly ended: Promise<GuestEnd>;
}

export async function startRun(supervisor: AppSupervisor, spec: AppSpec, start: GuestStart): Promise<AppRun> {
  const { run, leader, pid } = await supervisor.start(spec, start);
  // The end of the supervisor ends its apps as well.
  const ended = supervisor.ended(run).catch((thrown): GuestEnd => ({ cause: 'stopped', reason: reasonOf(thrown) }));
  return { run, leader: leader.pid, pid: pid ?? leader.pid, ended };
}

/** Limits that would have held up its start hold from now on, and by now its program is known. */
export async function settleRun(process: AppRun, app: string, { appSupervisor, log }: AppContext): Promise<void> {
  try {
    process.pid = (await appSupervisor.ready(process.run)).pid ?? process.pid;
  } catch (thrown) {
    log.warn({ app, reason: reasonOf(thrown) }, 'cannot set the limits of an app');
  }
}

export function describeEnd({ code, signal, reason }: GuestEnd): string {
  return reason ?? (signal === undefined ? `it ended with code ${code}` : `it was ended by ${signal}`);
}
