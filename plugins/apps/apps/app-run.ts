import { reasonOf } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import type { AppSupervisor, GuestEnd, GuestStart } from '@device-core/plugin-api/inside/services/app-supervisor';

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

export function describeEnd({ code, signal, reason }: GuestEnd): string {
  return reason ?? (signal === undefined ? `it ended with code ${code}` : `it was ended by ${signal}`);
}
