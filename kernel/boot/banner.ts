import { join } from 'node:path';
import { httpServer } from '@device-core/plugin-api';
import { systemClock } from '../clock.ts';
import type { Kernel } from '../kernel.ts';
import type { Resolved } from '../resolved.ts';
import { shown } from './manifests.ts';

const EVERY_MS = 5_000;

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

/** What whoever started the Core wants to know of it. */
export async function printBanner(kernel: Kernel, { sku }: Resolved, folder: string): Promise<void> {
  const { plugins, state } = await kernel.status();
  const server = plugins.find((plugin) => plugin.provides['http-server'] && plugin.state === 'active');
  const addresses = server ? await kernel.service(httpServer).addresses() : [];
  const active = plugins.filter((plugin) => plugin.state === 'active');
  console.log(`${sku?.title} (SKU ${sku?.id}) is ${state}: ${active.length} of ${plugins.length} plugins active`);
  for (const { id, state, reason } of plugins) {
    if (state !== 'active') console.log(`  ${state.padEnd(9)} ${id}${reason ? `: ${reason}` : ''}`);
  }
  console.log(`  plugins   ${active.map(({ id }) => id).join(' ')}`);
  for (const address of addresses) console.log(`  listens   ${address}`);
  const tcp = addresses.find((address) => address.startsWith('http'));
  const unix = addresses.find((address) => address.startsWith('unix:'))?.slice('unix:'.length);
  const root = folder === join(import.meta.dirname, '../../.device') ? '' : ` --root ${shown(folder)}`;
  if (tcp) console.log(`  try       curl ${tcp}/health`);
  else if (unix) console.log(`  try       curl --unix-socket ${shown(unix)} http://localhost/health`);
  if (unix) console.log(`            npm run -s devicectl --${root} status`);
  if (sku?.auth === 'open') console.log('  WARNING   auth is open: every caller on this machine is trusted');
  console.log('  stop      Ctrl-C');
}
