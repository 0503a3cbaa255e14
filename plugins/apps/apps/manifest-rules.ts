/** Rules for app.yaml beyond its schema. Pure. */

import { implies, parseFilter, reasonOf } from '@device-core/plugin-api';
import { type Complaint, hostOf, hostProblem, isReserved, nodeOf } from '@device-core/plugin-api/inside/app-spec';
import type { AppLeftOut, AppManifest } from '@device-core/plugin-api/services/apps';

const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** Everything that is wrong, in the order of the members. `version` of a range is for whoever has semver. */
export function manifestComplaints(manifest: AppManifest): readonly Complaint[] {
  return [
    ...nameComplaints(manifest),
    ...variableComplaints(manifest),
    ...manifest.capabilities.flatMap((claim, at) => claimComplaints(claim, at)),
    ...topicComplaints(manifest),
    ...lifecycleComplaints(manifest),
    ...uiComplaints(manifest),
  ];
}

function nameComplaints({ name }: AppManifest): readonly Complaint[] {
  if (!name.endsWith('-egress')) return [];
  return [{ path: ['name'], reason: 'names that end in -egress are those of ways out of other apps' }];
}

function variableComplaints({ exec }: AppManifest): readonly Complaint[] {
  return Object.keys(exec.env ?? {})
    .filter(isReserved)
    .map((name) => ({ path: ['exec', 'env', name], reason: `${name} is reserved; a manifest cannot set it` }));
}

function claimComplaints({ id, ports }: AppManifest['capabilities'][number], at: number): readonly Complaint[] {
  const refused = (reason: string, member: 'id' | 'ports' = 'id') => [{ path: ['capabilities', at, member], reason }];
  if (/[/\\]/.test(id)) return refused('capabilities name no paths; a device node has a name in the SKU');
  const node = nodeOf(id);
  if (node === '') return refused(`a device node is named: ${id.split(':')[0]}:<name>`);
  if (node !== undefined && !NODE_NAME.test(node)) return refused(`"${node}" is no name of a device node`);
  const host = hostOf(id);
  const problem = host === undefined ? undefined : hostProblem(host);
  if (problem) return refused(`${id}: ${problem}`);
  if (ports && host === undefined) return refused('ports belong to network.outbound:<host>', 'ports');
  return [];
}

function topicComplaints({ id, events = {} }: AppManifest): readonly Complaint[] {
  const namespace = `app.${id}.`;
  return (['subscribe', 'publish', 'public'] as const).flatMap((list) =>
    (events[list] ?? []).flatMap((filter, at): Complaint | [] => {
      const path = ['events', list, at];
      try {
        parseFilter(filter);
      } catch (thrown) {
        return { path, reason: reasonOf(thrown) };
      }
      if (list === 'public' && !filter.startsWith(namespace))
        return { path, reason: `${filter} is not below ${namespace}` };
      return [];
    }),
  );
}

function lifecycleComplaints({ id, functions = [], lifecycle = {}, health }: AppManifest): readonly Complaint[] {
  const { autostart, after = [], idleStopMs } = lifecycle;
  const self = after.indexOf(id);
  return [
    ...(autostart === 'on-demand' && functions.length === 0
      ? [
          {
            path: ['lifecycle', 'autostart'],
            reason: 'on-demand is started by a call of its functions, and it has none',
          },
        ]
      : []),
    ...(self >= 0 ? [{ path: ['lifecycle', 'after', self], reason: 'it would wait for itself' }] : []),
    ...(idleStopMs !== undefined && autostart !== 'on-demand'
      ? [{ path: ['lifecycle', 'idleStopMs'], reason: 'it belongs to autostart: on-demand' }]
      : []),
    ...(health?.liveness && health.kind === 'none'
      ? [{ path: ['health', 'liveness'], reason: 'an app of kind none has no session by which it could be asked' }]
      : []),
  ];
}

function uiComplaints({ ui, capabilities }: AppManifest): readonly Complaint[] {
  if (!ui?.surfaces?.length || capabilities.some(({ id }) => implies(id, 'display.surface'))) return [];
  return [
    { path: ['ui', 'surfaces'], reason: 'surfaces need the capability display.surface, which it does not claim' },
  ];
}

/**
 * Parts that are right and that this Core has no use for. The list of surfaces is checked against the claims; the
 * surfaces themselves are drawn by operations.
 */
export function inactiveParts({ update, ui }: AppManifest): readonly AppLeftOut[] {
  const parts: readonly (readonly [part: string, there: boolean, reason: string])[] = [
    ['update', update !== undefined, 'this Core looks for no new versions by itself yet'],
    ['ui.settings', ui?.settings === false, 'the settings of every app are shown to the operator'],
  ];
  return parts.flatMap(([part, there, reason]) => (there ? [{ part, reason, unused: true }] : []));
}
