import { existsSync, readFileSync } from 'node:fs';
import { maybe } from '@device-core/plugin-api';
import {
  ENFORCED,
  type Enforced,
  type EnforcementReport,
  type GuestStart,
} from '@device-core/plugin-api/inside/services/app-supervisor';

const CGROUPS = '/sys/fs/cgroup';

/** Paths that profiles of guests take, with the reason where one is missing. */
const PROFILES: Readonly<Record<string, string>> = {
  '/sys/kernel/security/apparmor/features': 'the kernel runs without AppArmor',
  '/sbin/apparmor_parser': 'the Debian package apparmor is not installed',
};

/** Enforcement for units of systemd on this device. */
export function enforcementOf(cgroups = CGROUPS, profiles = PROFILES): EnforcementReport {
  const limits = controllers(cgroups);
  const limited = (name: string) => (limits.includes(name) ? 'kernel' : 'none');
  const [memory, tasks] = [limited('memory'), limited('pids')] as const;
  // The warden asks the same, and starts no guest without its profile then.
  const lacks = Object.entries(profiles).find(([path]) => !existsSync(path))?.[1];
  const absent = 'the system has no control group for it';
  return {
    by: 'systemd',
    enforced: {
      user: 'kernel',
      files: 'kernel',
      devices: 'kernel',
      network: 'kernel',
      syscalls: 'kernel',
      memory,
      tasks,
      mac: lacks === undefined ? 'kernel' : 'none',
    },
    reasons: {
      ...maybe({ mac: lacks }),
      ...(memory === 'none' ? { memory: absent } : {}),
      ...(tasks === 'none' ? { tasks: absent } : {}),
    },
  };
}

/** Controllers: version 2 lists them in one file, version 1 has a folder for each. */
function controllers(cgroups: string): readonly string[] {
  const file = `${cgroups}/cgroup.controllers`;
  if (existsSync(file)) return readFileSync(file, 'utf8').trim().split(' ');
  return ['memory', 'pids'].filter((name) => existsSync(`${cgroups}/${name}`));
}

/** Demanded walls that are missing. */
export function lacking(demand: GuestStart['demand'] = {}, { enforced }: EnforcementReport): readonly Enforced[] {
  return ENFORCED.filter((kind) => {
    const asked = demand[kind];
    return asked !== undefined && enforced[kind] !== 'kernel' && !(asked === 'watched' && enforced[kind] === 'watched');
  });
}
