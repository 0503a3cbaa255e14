/** Limits that the system's kernel enforces on the apps of this device, and remedies for those it cannot. */
import { maybe } from '@device-core/plugin-api';
import {
  type AppSupervisor,
  ENFORCED,
  type Enforced,
  type EnforcementReport,
} from '@device-core/plugin-api/inside/services/app-supervisor';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Operation } from '@device-core/plugin-api/services/operations';

/** Enforcement that the SKU demands; below it no app starts. */
export type Demand = Readonly<Partial<Record<Enforced, 'kernel' | 'watched'>>>;

export interface Checked {
  readonly kind: Enforced;
  readonly enforced: 'kernel' | 'watched' | 'none';
  readonly demanded?: 'kernel' | 'watched';
  /** It is enforced less than is demanded. */
  readonly lacking?: true;
  readonly reason?: string;
  readonly remedy?: string;
}

const RANK = { none: 0, watched: 1, kernel: 2 } as const;
const BUBBLEWRAP = 'install the Debian package bubblewrap, and allow user namespaces';
const SYSTEMD = 'run the device as a service of systemd, with supervisor-systemd in the SKU';
const REMEDIES: Readonly<Record<Enforced, string>> = {
  user: BUBBLEWRAP,
  files: BUBBLEWRAP,
  devices: BUBBLEWRAP,
  network: BUBBLEWRAP,
  syscalls: BUBBLEWRAP,
  memory: SYSTEMD,
  tasks: SYSTEMD,
  mac: `use a system with AppArmor; ${SYSTEMD}`,
};

export function check({ enforced, reasons }: EnforcementReport, demand: Demand): readonly Checked[] {
  return ENFORCED.map((kind) => {
    const least = demand[kind];
    const reason = reasons[kind];
    return {
      kind,
      enforced: enforced[kind],
      ...maybe({ demanded: least }),
      ...(least !== undefined && RANK[enforced[kind]] < RANK[least] ? { lacking: true as const } : {}),
      ...(enforced[kind] === 'kernel' ? {} : { ...maybe({ reason }), remedy: REMEDIES[kind] }),
    };
  });
}

/** Component `apps.walls`. What is demanded and missing is an error, unless the SKU runs apps all the same; then it is a warning. */
export async function enforcementHealth(
  health: HealthReport,
  supervisor: AppSupervisor,
  demand: Demand,
  insecure: boolean,
): Promise<void> {
  const report = await supervisor.enforcement();
  const kinds = check(report, demand);
  const lacking = kinds.filter((one) => one.lacking).map(({ kind }) => kind);
  const weak = [...new Set(kinds.flatMap(({ enforced, reason }) => (enforced === 'none' && reason ? [reason] : [])))];
  const message = [kinds.map(({ kind, enforced }) => `${kind}: ${enforced}`).join(', '), ...weak].join('; ');
  const bad = lacking.length > 0 && !insecure;
  const names = lacking.join(', ');
  health.add('apps.walls', {
    status: bad ? 'error' : 'okay',
    ...(bad ? { code: 'SANDBOX_UNAVAILABLE' } : {}),
    message: bad ? `no app starts, for ${names} ${lacking.length > 1 ? 'are' : 'is'} demanded; ${message}` : message,
  });
  if (lacking.length > 0 && insecure)
    health.warn('APPS_INSECURE', `apps.insecure: apps start although nothing keeps ${names}; see devicectl app doctor`);
}

interface Diagnosis {
  readonly by: 'systemd' | 'process';
  readonly insecure: boolean;
  readonly kinds: readonly Checked[];
}

export function doctorOperation(
  supervisor: AppSupervisor,
  demand: Demand,
  insecure: boolean,
): Operation<object, Diagnosis> {
  const level = { enum: ['kernel', 'watched', 'none'] };
  return {
    name: 'apps.doctor',
    summary:
      'What the system enforces of apps, what is only watched and what not at all, with the reason and the remedy',
    params: { type: 'object', additionalProperties: false, properties: {} },
    result: {
      type: 'object',
      required: ['by', 'insecure', 'kinds'],
      properties: {
        by: { enum: ['systemd', 'process'], description: 'The supervisor.' },
        insecure: { type: 'boolean', description: 'Apps start below what is demanded, too.' },
        kinds: {
          type: 'array',
          items: {
            type: 'object',
            required: ['kind', 'enforced'],
            properties: {
              kind: { enum: ENFORCED },
              enforced: level,
              demanded: { enum: ['kernel', 'watched'] },
              lacking: { type: 'boolean', description: 'It is enforced less than the SKU demands: no app starts.' },
              reason: { type: 'string' },
              remedy: { type: 'string' },
            },
          },
        },
      },
    },
    capability: 'system.apps',
    cli: { columns: ['kind', 'enforced', 'demanded', 'lacking', 'reason', 'remedy'] },
    rest: { method: 'GET', path: '/apps/doctor' },
    errors: [],
    async run() {
      const report = await supervisor.enforcement();
      return { by: report.by, insecure, kinds: check(report, demand) };
    },
  };
}
