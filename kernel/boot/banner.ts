import { join } from 'node:path';
import { httpServer } from '@device-core/plugin-api';
import type { Kernel } from '../kernel.ts';
import type { Resolved } from '../resolved.ts';
import { shown } from './manifests.ts';

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
