import type { AppStatus } from '@device-core/plugin-api';
import type { Command } from 'commander';
import { action, type Cli } from '../cli.ts';
import { cell, duration } from '../output.ts';

/** The Core answers when the app runs, is gone, or did not make it within the limits of its manifest. */
const CHANGE_TIMEOUT_MS = 165_000;

export function addApps(program: Command): void {
  const apps = program.command('apps').description('the apps of the device');
  apps
    .command('list', { isDefault: true })
    .description('every app and its state')
    .action(
      action(async ({ client, out }) => {
        const answer = await client.get('/apps');
        if (out.json) return out.line(answer.text);
        const rows = (answer.body.apps as readonly AppStatus[]).map((app) => [
          app.id,
          app.version,
          app.state,
          // An app that cannot be used never came into a state.
          app.since === 0 ? '-' : duration(Date.now() - app.since),
          String(app.restarts),
          cell(app.reason ?? (app.denied.length > 0 ? `${app.denied.length} capabilities not granted` : '')),
        ]);
        await out.table(['APP', 'VERSION', 'STATE', 'SINCE', 'RESTARTS', 'REMARK'], rows, {
          state: 2,
          empty: 'no apps; add one with: npm start -- --app <folder>',
        });
      }),
    );
  apps
    .command('show <app>')
    .description('one app, what it holds and what it was not granted')
    .action(action<[string]>(async (cli, [id]) => show(cli, await cli.client.get(`/apps/${encodeURIComponent(id)}`))));
  for (const [verb, text] of [
    ['start', 'start an app; releases it from quarantine'],
    ['stop', 'stop an app'],
    ['restart', 'stop an app and start it again'],
  ] as const)
    apps
      .command(`${verb} <app>`)
      .description(text)
      .action(
        action<[string]>(async (cli, [id]) =>
          show(
            cli,
            await cli.client.post(`/apps/${encodeURIComponent(id)}/${verb}`, {}, { timeoutMs: CHANGE_TIMEOUT_MS }),
          ),
        ),
      );
}

async function show(
  { out }: Cli,
  answer: { readonly text: string; readonly body: Record<string, unknown> },
): Promise<void> {
  if (out.json) return out.line(answer.text);
  const app = answer.body.app as AppStatus;
  await out.line(`${app.id} ${app.version} "${cell(app.title)}"`);
  const pid = app.pid === undefined ? '' : `, process ${app.pid}`;
  await out.line(
    `state    ${out.state(app.state)}${app.reason ? ` (${cell(app.reason)})` : ''}${pid}, ${app.restarts} restarts`,
  );
  if (app.health) await out.line(`health   ${out.state(app.health.status)} ${cell(app.health.message)}`.trimEnd());
  await out.line(`holds    ${app.capabilities.join(', ') || 'no capability'}`);
  for (const { capability, hint } of app.denied) await out.line(`denied   ${capability}; grant it with: ${hint}`);
}
