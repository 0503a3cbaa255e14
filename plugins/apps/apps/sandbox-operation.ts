/** apps.sandbox: what a run of an app sees, and what the system is told of it. */

import { maybe } from '@device-core/plugin-api';
import type { AppSpec } from '@device-core/plugin-api/inside/app-spec';
import type { AppSupervisor, EnforcementReport } from '@device-core/plugin-api/inside/services/app-supervisor';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { BY_APP } from './app-operations.ts';
import type { Supervisor } from './supervisor.ts';

/** Stands in a unit that is only shown, where no user is given to apps. */
const SHOWN_UID = 40_000;

export interface Sandbox {
  readonly spec: AppSpec;
  readonly enforcement: EnforcementReport;
  /** Words of the command; the filter of system calls is fed to descriptor 3. */
  readonly bwrap: readonly string[];
  readonly unit: string;
  readonly egressUnit?: string;
  readonly apparmor: string;
  /** Why no run can be made of it. */
  readonly problem?: string;
}

const TEXT = { type: 'string' } as const;

export function sandboxOperation(
  supervisor: Supervisor,
  walls: AppSupervisor,
  run: () => string,
): Operation<{ readonly id: string }, Sandbox> {
  return {
    name: 'apps.sandbox',
    summary: 'View of a run of an app, with its orders to bubblewrap, systemd and AppArmor',
    description:
      'The specification is made anew from its manifest and what is granted now. `by` says which of the supervisors runs apps here; what is for another is shown as it would be.',
    params: exactly({ id: BY_APP }),
    result: {
      type: 'object',
      required: ['spec', 'enforcement', 'bwrap', 'unit', 'apparmor'],
      properties: {
        spec: { type: 'object', description: 'Program, files, sockets, network, hosts, devices, limits, user.' },
        enforcement: {
          type: 'object',
          required: ['by', 'enforced', 'reasons'],
          properties: {
            by: { enum: ['systemd', 'process'] },
            enforced: { type: 'object' },
            reasons: { type: 'object' },
            users: { type: 'object', description: 'Range of the users of apps, where the Core is not root.' },
          },
        },
        bwrap: { type: 'array', items: TEXT },
        unit: TEXT,
        egressUnit: { ...TEXT, description: 'The way out of an app with named hosts.' },
        apparmor: TEXT,
        problem: { ...TEXT, description: 'Why no run can be made of it.' },
      },
    },
    capability: 'system.apps',
    rest: { method: 'GET', path: '/apps/:id/sandbox' },
    errors: ['APP_NOT_FOUND', 'MANIFEST_INVALID', 'CAPABILITY_UNKNOWN'],
    async run({ id }) {
      const [{ apparmorOf, appSpecProblem, egressUnitOf, unitOf }, { bwrapCommandOf }] = await Promise.all([
        import('@device-core/plugin-api/inside/app-spec'),
        import('@device-core/plugin-api/inside/sandbox'),
      ]);
      const spec = await supervisor.find(id).spec();
      const enforcement = await walls.enforcement(spec);
      const user: AppSpec = { ...spec, uid: spec.uid ?? SHOWN_UID };
      const folders = { run: run() };
      const egressUnit = egressUnitOf(user, folders);
      const problem = appSpecProblem(spec);
      return {
        spec,
        enforcement,
        bwrap: bwrapCommandOf('bwrap', spec, { seccomp: 3 }),
        unit: unitOf(user, folders),
        ...maybe({ egressUnit }),
        apparmor: apparmorOf(spec),
        ...maybe({ problem }),
      };
    },
  };
}
