import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { reasonOf, settlesWithin } from '@device-core/plugin-api';
import { httpServer } from '@device-core/plugin-api/inside/services/http-server';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import { systemClock } from '../clock.ts';
import type { Kernel } from '../kernel.ts';
import type { Resolved } from '../resolved.ts';
import { shown } from './manifests.ts';

const EVERY_MS = 5_000;
/** Probes of the health that take longer are not waited for. */
const HEALTH_MS = 2_000;
const MOST_TROUBLES = 5;

/** A start is not silent: what begins, and on a slow board every few seconds what is still on its way. Ends when it is disposed. */
export function tellStart(kernel: Kernel, { sku, plugins }: Resolved): Disposable {
  process.stderr.write(`${sku?.title} starts: ${plugins.filter(({ enabled }) => enabled).length} plugins\n`);
  let over = false;
  const tell = async () => {
    const { plugins: all } = await kernel.status();
    if (over) return;
    const of = (state: string) => all.filter((plugin) => plugin.state === state).map(({ id }) => id);
    process.stderr.write(
      `  ${of('active').length} of ${all.length} are active, on the way: ${of('starting').join(' ')}\n`,
    );
    timer = systemClock.after(EVERY_MS, () => void tell());
  };
  let timer = systemClock.after(EVERY_MS, () => void tell());
  return {
    [Symbol.dispose]() {
      over = true;
      timer[Symbol.dispose]();
    },
  };
}

/** Prints the state and the addresses of the Core for the person who started it. */
export async function printBanner(kernel: Kernel, { sku }: Resolved, folder: string): Promise<void> {
  const { plugins, state } = await kernel.status();
  const server = plugins.find((plugin) => plugin.provides['http-server'] && plugin.state === 'active');
  const addresses = server ? await kernel.service(httpServer).addresses() : [];
  const active = plugins.filter((plugin) => plugin.state === 'active');
  // The kernel only knows that all plugins are active; they report their health a moment later.
  const up = state === 'ok' ? 'up' : state;
  console.log(`${sku?.title} (SKU ${sku?.id}) is ${up}: ${active.length} of ${plugins.length} plugins active`);
  for (const { id, state, reason } of plugins) {
    if (state !== 'active') console.log(`  ${state.padEnd(9)} ${id}${reason ? `: ${reason}` : ''}`);
  }
  console.log(`  plugins   ${active.map(({ id }) => id).join(' ')}`);
  for (const address of addresses) console.log(`  listens   ${address}`);
  const tcp = addresses.find((address) => address.startsWith('http'));
  const unix = addresses.find((address) => address.startsWith('unix:'))?.slice('unix:'.length);
  const ctl = devicectl(folder);
  if (tcp) console.log(`  try       curl ${tcp}/health`);
  else if (unix) console.log(`  try       curl --unix-socket ${shown(unix)} http://localhost/health`);
  if (unix) console.log(`            ${ctl} status`);
  if (tcp && active.some(({ id }) => id === 'web')) console.log(`  page      ${ctl} web`);
  if (sku?.auth === 'open') console.log('  WARNING   auth is open: every caller on this machine is trusted');
  console.log('  stop      Ctrl-C');
}

/**
 * After the banner, as probes take their time: what is wrong although all plugins are active, and the command that
 * shows it. Never rejects.
 */
export async function tellTrouble(kernel: Kernel, folder: string, stops: () => boolean): Promise<void> {
  const troubles = new Map<string, string>();
  let over = false;
  const report: HealthReport = {
    add: (component, { status, message = status }) => {
      if (!over && (status === 'error' || status === 'blocked')) troubles.set(component, message);
    },
    bridge: () => undefined,
    warn: () => undefined,
  };
  const collect = kernel.parts.hooks.caller('health.collect');
  const probes = collect.promise(report).catch((error: unknown) => report.add('probes', failed(reasonOf(error))));
  if (!(await settlesWithin(systemClock, HEALTH_MS, probes)))
    report.add('probes', failed(`no answer yet from ${(await collect.unanswered()).join(', ')}`));
  over = true;
  if (stops()) return;
  // One that is not active has a line of the banner already.
  for (const { id, state } of (await kernel.status()).plugins) if (state !== 'active') troubles.delete(id);
  if (troubles.size === 0) return;
  console.log(`  health    degraded; see: ${devicectl(folder)} status`);
  for (const [component, message] of [...troubles].slice(0, MOST_TROUBLES))
    console.log(`            ${component}: ${message}`);
}

const failed = (message: string) => ({ status: 'error', message }) as const;

/** On a device there is no npm: its program lies in the run folder. */
function devicectl(folder: string): string {
  if (!existsSync(join(import.meta.dirname, '../../node_modules/.package-lock.json')))
    return ['run/devicectl', 'devicectl'].map((name) => join(folder, name)).find(existsSync) ?? 'devicectl';
  const root = folder === join(import.meta.dirname, '../../.device') ? '' : ` --root ${shown(folder)}`;
  return `npm run -s devicectl --${root}`;
}
