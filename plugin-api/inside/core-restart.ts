import { CoreError } from '../contract/errors.ts';
import type { Scope } from '../contract/scope.ts';
import { MACHINE_ACTS, type Machine, type MachineAct } from './services/machine.ts';

/** Milliseconds in which the answer to the caller goes out. */
const BREATH_MS = 500;

export interface CoreRestart {
  /** True where the boot loader or the service manager starts the Core again when it ends. */
  readonly supervised: boolean;
  readonly reason: string;
  /** The Core ends in order, soon. */
  begin(): void;
}

/** Restart of the Core by itself: it ends, and its starter starts it again. `end` is the Core's own signal unless a test says otherwise. */
export function coreRestart(
  scope: Pick<Scope, 'timeout'>,
  env: Readonly<Record<string, string | undefined>> = process.env,
  end: () => void = () => void process.kill(process.pid, 'SIGTERM'),
): CoreRestart {
  return {
    supervised: Boolean(env.DEVICE_BOOT || env.NOTIFY_SOCKET),
    reason: 'the Core was started by hand: no supervisor would start it again',
    begin: () => void scope.timeout('end of the Core', BREATH_MS, end),
  };
}

/** For sentences: cannot power off. */
export const ACT_WORDS: Readonly<Record<MachineAct, string>> = {
  restart: 'restart',
  reboot: 'reboot',
  powerOff: 'power off',
};

export interface Acting {
  /** Acts possible now besides ending the Core. */
  readonly others: () => Promise<readonly MachineAct[]>;
  /** Why not all of that can be done. */
  readonly reason: string;
  /** Requests the act. A plain restart needs no request: the Core ends. */
  readonly order: (act: MachineAct, safeMode: boolean) => Promise<unknown>;
}

/** The machine as a provider of slots has it. */
export function machineOf(restart: CoreRestart, { others, reason, order }: Acting): Machine {
  const able = async () => {
    const acts = [...(restart.supervised ? ['restart' as const] : []), ...(await others())];
    if (acts.length === MACHINE_ACTS.length) return { acts };
    return { acts, reason: restart.supervised ? reason : restart.reason };
  };
  return {
    able,
    async act(act, { safeMode = false } = {}) {
      const { acts, reason = '' } = await able();
      if (!acts.includes(act)) throw new CoreError('SLOTS_UNAVAILABLE', { verb: ACT_WORDS[act], reason });
      if (act !== 'restart' || safeMode) await order(act, safeMode);
      if (act === 'restart') restart.begin();
    },
  };
}
