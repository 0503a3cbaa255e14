import { maybe } from '@device-core/plugin-api';
import type { Enforced, Enforcement, EnforcementReport } from '@device-core/plugin-api/inside/services/app-supervisor';
import type { Wall, WallsReport } from '@device-core/plugin-api/inside/services/launcher';

/** The walls of the launcher that stand for a kind; what is missing here needs no wall of it. */
const WALLS_OF: Readonly<Partial<Record<Enforced, readonly Wall[]>>> = {
  user: ['user'],
  // A guest that may signal or trace the processes of others need not read their files.
  files: ['files', 'signals'],
  devices: ['files'],
  network: ['network'],
  syscalls: ['syscalls'],
};

/** Walls that have to be made where this is demanded. */
export function wallsFor(demand: Readonly<Partial<Record<Enforced, 'kernel' | 'watched'>>>): readonly Wall[] {
  const kinds = Object.entries(demand) as readonly (readonly [Enforced, 'kernel' | 'watched'])[];
  return [...new Set(kinds.flatMap(([kind, least]) => (least === 'kernel' ? (WALLS_OF[kind] ?? []) : [])))];
}

const NO_GROUP =
  'no control group of the Core counts it; the Core looks every two seconds, and ends what took too much';

/** Kinds that are not enforced as well as is demanded, of those for which there is no wall: the launcher speaks of those. */
export function lacking(
  demand: Readonly<Partial<Record<Enforced, 'kernel' | 'watched'>>>,
  { enforced }: EnforcementReport,
): readonly Enforced[] {
  return (Object.keys(demand) as Enforced[]).filter((kind) => {
    if (WALLS_OF[kind] && kind !== 'devices') return false;
    return enforced[kind] === 'none' || (demand[kind] === 'kernel' && enforced[kind] === 'watched');
  });
}

/** Enforcement for a guest without a separate user and without the network. `groups`: control groups limit tasks. */
export function enforcementOf({ by, walls, reason, tasks, range }: WallsReport, groups = false): EnforcementReport {
  const why = reason ?? `${by} does not keep it`;
  const kept = (kind: Enforced) =>
    WALLS_OF[kind]?.every((wall) => walls[wall] === 'kernel') === true ? ('kernel' as const) : ('none' as const);
  const enforced: Enforcement = {
    user: kept('user'),
    files: kept('files'),
    // Without a root of its own a guest opens whatever its user may.
    devices: by === 'bubblewrap' ? kept('devices') : 'none',
    network: kept('network'),
    syscalls: kept('syscalls'),
    memory: 'watched',
    tasks: groups ? 'kernel' : (tasks ?? 'watched'),
    mac: 'none',
  };
  const reasons: Partial<Record<Enforced, string>> = {
    memory: NO_GROUP,
    ...maybe({ tasks: enforced.tasks === 'watched' ? NO_GROUP : undefined }),
    mac: 'only supervisor-systemd loads profiles of AppArmor',
  };
  for (const kind of Object.keys(WALLS_OF) as Enforced[]) if (enforced[kind] === 'none') reasons[kind] = why;
  const users = range && { first: range.first, count: range.count };
  return { by: 'process', enforced, reasons, ...maybe({ users }) };
}
