import { constants } from 'node:os';
import type { DBusValue } from '@device-core/plugin-api/inside/dbus';
import type { GuestEnd } from '@device-core/plugin-api/inside/services/app-supervisor';

/** CLD_* of wait(2), as systemd tells them. */
const EXITED = 1;
/** Exit codes of systemd itself before the program runs (systemd.exec, "Process Exit Codes"). */
const STEPS: Readonly<Record<number, string>> = {
  200: 'its working folder',
  203: 'its program could not be executed',
  217: 'its user',
  218: 'its capabilities',
  219: 'its control group',
  225: 'its network',
  226: 'its folders',
  228: 'its filter of calls',
  231: 'AppArmor',
  216: 'its group',
  243: 'its token was not handed over',
};

/** Codes that systemd ends with itself (systemd.exec): whoever was never seen to run did not run. */
const OWN_CODES = { first: 200, last: 245 } as const;
const MIB = 1024n * 1024n;
/** Value of systemd for no limit. */
const UNLIMITED = 2n ** 64n - 1n;
const BY_SIGNAL = ['signal', 'core-dump'];

/**
 * How a unit ended, by the properties of its service (org.freedesktop.systemd1.Service). `ran`: it was seen that its
 * program was executed. systemd looks at the end of a program before it looks whether that was executed: one that ended
 * at once is never active.
 */
export function endOf(service: ReadonlyMap<string, DBusValue>, ran: boolean, stopped: boolean): GuestEnd {
  const result = String(service.get('Result') ?? '');
  const code = Number(service.get('ExecMainCode') ?? 0);
  const status = Number(service.get('ExecMainStatus') ?? 0);
  const how = code === 0 ? {} : code === EXITED ? { code: status } : { signal: signalName(status) };
  if (stopped) return { ...how, cause: 'stopped' };
  if (result === 'oom-kill') return { ...how, cause: 'memory', reason: overMemory(service.get('MemoryMax')) };
  const own = status >= OWN_CODES.first && status <= OWN_CODES.last;
  if (!ran && !(code === EXITED ? !own : BY_SIGNAL.includes(result))) {
    const step = code === EXITED ? STEPS[status] : undefined;
    return { cause: 'start', reason: step ?? `systemd could not start it: ${result} (${code}/${status})` };
  }
  if (result === 'success' && code !== EXITED)
    return { ...how, cause: 'stopped', reason: 'another program stopped its unit' };
  return { ...how, cause: code === EXITED ? 'exit' : 'signal' };
}

function overMemory(most: DBusValue | undefined): string {
  const budget = typeof most === 'bigint' && most < UNLIMITED ? `, and its budget is ${most / MIB} MB` : '';
  return `it took too much memory${budget}`;
}

function signalName(number: number): string {
  return Object.entries(constants.signals).find(([, one]) => one === number)?.[0] ?? `signal ${number}`;
}
