import type { PluginStatus, SkuChange } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { cell, type Output } from '../output.ts';
import { installedPlugins, storeRemarks, unlessMissing } from './plugin-store.ts';

/** Those that run. */
export function addPlugins(plugins: Command): void {
  plugins
    .command('list', { isDefault: true })
    .description('every plugin and its state')
    .action(
      action(async (cli) => {
        const { client, out } = cli;
        const answer = await client.get('/plugins');
        if (out.json) return out.line(answer.text);
        const running = answer.body.plugins as readonly PluginStatus[];
        const store = await installedPlugins(cli);
        const remarks = storeRemarks(store);
        const rows = running.map((one) => [
          one.id,
          one.version,
          one.state,
          one.isolation,
          one.startMs === undefined ? '' : `${Math.round(one.startMs)} ms`,
          String(one.generation),
          [remarks.get(one.id), cell(remarkOf(one))].filter(Boolean).join('; '),
        ]);
        for (const { id, version } of [...store.plugins, ...store.rolledBack]) {
          const known = rows.some(([other]) => other === id);
          if (!known) rows.push([id, version, 'not running', '', '', '', remarks.get(id) ?? '']);
        }
        await out.table(['PLUGIN', 'VERSION', 'STATE', 'RUNS', 'START', 'STARTS', 'REMARK'], rows, { state: 2 });
      }),
    );
  for (const [verb, text] of [
    ['restart', 'stop a plugin and its dependents, and start them again'],
    ['release', 'start a plugin that failed or is in quarantine'],
  ] as const)
    plugins
      .command(`${verb} <plugin>`)
      .description(text)
      .action(
        action<[string]>(async ({ client, out }, [id]) => {
          const answer = await client.post(`/plugins/${encodeURIComponent(id)}/${verb}`);
          if (out.json) return out.line(answer.text);
          const plugin = answer.body.plugin as PluginStatus;
          // The plugins that carry this answer restart after it.
          await out.line(answer.body.deferred ? `${plugin.id} restarts now` : stateOf(out, plugin));
        }),
      );
  for (const [verb, text] of [
    ['enable', 'start a plugin that was disabled'],
    ['disable', 'stop a plugin for good; with --now-only, or without a plugin-store, until the Core starts again'],
  ] as const)
    plugins
      .command(`${verb} <plugin>`)
      .description(text)
      .option('--now-only', 'forget it at the next start of the Core')
      .action(
        action<[string], { readonly nowOnly?: boolean }>(async ({ client, out }, [id], { nowOnly = false }) => {
          const path = `/plugins/${encodeURIComponent(id)}`;
          const answer =
            (nowOnly
              ? undefined
              : await unlessMissing(client.post(`${path}/switch`, { enabled: verb === 'enable' }))) ??
            (await client.post(`${path}/${verb}`));
          if (out.json) return out.line(answer.text);
          await out.line(stateOf(out, (answer.body.plugin ?? answer.body) as Switched));
        }),
      );
  plugins
    .command('apply')
    .description('read the SKU again and apply what changed, whole or not at all')
    .option('--check', 'only tell what would change')
    .action(
      action<[], { readonly check?: boolean }>(async ({ client, out }, _none, { check = false }) => {
        const answer = await client.post('/plugins/apply', { check });
        if (out.json) return out.line(answer.text);
        const change = answer.body.change as SkuChange;
        const told = answer.body.deferred ? 'is applied now' : check ? 'would be applied' : 'was applied';
        for (const line of linesOf(change)) await out.line(line);
        await out.line(change.affected.length > 0 || change.device ? `the change ${told}` : 'nothing has changed');
      }),
    );
}

interface Switched {
  readonly id: string;
  readonly enabled?: boolean;
  /** Absent where the plugin is not part of what runs now. */
  readonly state?: string;
  readonly reason?: string;
}

function stateOf(out: Output, { id, enabled, state, reason }: Switched): string {
  if (state === undefined) return `${id} is ${enabled ? 'enabled' : 'disabled'}; it is no part of what runs now`;
  return `${id} is ${out.state(state)}${reason ? `: ${cell(reason)}` : ''}`;
}

/** Why it does not run, or when it will; else what it is for. */
function remarkOf({ state, reason, summary, nextStartAt, restarts = 0 }: PluginStatus): string {
  if (nextStartAt !== undefined)
    return `${reason}; starts again in ${Math.max(0, Math.ceil((nextStartAt - Date.now()) / 1000))} s`;
  if (state === 'quarantined') return `${reason}; "devicectl plugin release" starts it again`;
  return reason ?? (restarts > 0 ? `${summary} (started again ${restarts} times after a failure)` : summary);
}

function linesOf({ added, removed, changed, affected, stale }: SkuChange): readonly string[] {
  const with_ = affected.filter((id) => ![added, removed, changed].some((list) => list.includes(id)));
  const rows = [
    ['added', added],
    ['removed', removed],
    ['changed', changed],
    ['restarted with them', with_],
    ['new version at the next start of the Core', stale],
  ] as const;
  return rows.filter(([, ids]) => ids.length > 0).map(([what, ids]) => `${what}: ${ids.join(', ')}`);
}
