import type { PluginStatus } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action } from '../cli.ts';
import { cell } from '../output.ts';

export function addPlugins(program: Command): void {
  const plugins = program.command('plugins').description('the plugins of the Core');
  plugins
    .command('list', { isDefault: true })
    .description('every plugin and its state')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/plugins');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.plugins as readonly PluginStatus[]).map((one) => [
          one.id,
          one.version,
          one.state,
          one.isolation,
          one.startMs === undefined ? '' : `${Math.round(one.startMs)} ms`,
          String(one.generation),
          cell(one.reason ?? one.summary),
        ]);
        await out.table(['PLUGIN', 'VERSION', 'STATE', 'RUNS', 'START', 'STARTS', 'REMARK'], rows, { state: 2 });
      }),
    );
  for (const [verb, text] of [
    ['restart', 'stop a plugin and its dependents, and start them again'],
    ['enable', 'start a plugin that was disabled'],
    ['disable', 'stop a plugin until the Core starts again'],
  ] as const)
    plugins
      .command(`${verb} <plugin>`)
      .description(text)
      .action(
        action<[string]>(async ({ client, out }, [id]) => {
          const answer = await client.post(`/plugins/${encodeURIComponent(id)}/${verb}`);
          if (out.json) return out.line(answer.text);
          const { id: name, state, reason } = answer.body.plugin as PluginStatus;
          // The plugins that carry this answer restart after it.
          if (answer.body.deferred) return out.line(`${name} restarts now`);
          await out.line(`${name} is ${out.state(state)}${reason ? `: ${cell(reason)}` : ''}`);
        }),
      );
}
