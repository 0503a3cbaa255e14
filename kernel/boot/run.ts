import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { API_VERSION, CoreError, httpServer, reasonOf } from '@device-core/plugin-api';
import { CORE_VERSION, Kernel } from '../kernel.ts';
import { createLog } from '../log.ts';
import type { Problem, Resolved } from '../resolved.ts';
import type { Arguments } from './arguments.ts';
import { resolveSku } from './check.ts';
import { claimInstance } from './instance.ts';
import { shown } from './manifests.ts';

const EXIT = { sku: 1, alreadyRunning: 3, internal: 70 } as const;

const format = ({ file, line, code, message }: Problem) => `${file}:${line}: ${code} ${message}`;

export function printVersion(): void {
  console.log(`device-core ${CORE_VERSION}, plugin-api ${API_VERSION}, node ${process.version}`);
}

/** `check FILE`: every problem on a line of its own, exit status 1 if there is one. */
export function checkSku({ sku: file, settings, json }: Arguments): number {
  const { sku, plugins, problems } = resolveSku(file, settings);
  if (json) console.log(JSON.stringify({ ok: problems.length === 0, problems }, null, 2));
  else if (problems.length > 0) console.log(problems.map(format).join('\n'));
  else console.log(`${shown(file)}: SKU ${sku?.id} is fine, ${plugins.length} plugins`);
  return problems.length === 0 ? 0 : EXIT.sku;
}

/** Runs the Core until a signal ends it. */
export async function runCore(args: Arguments): Promise<void> {
  const instance = await claimInstance(args.paths.run);
  if (!instance.mine) {
    const error = new CoreError('ALREADY_RUNNING', { pid: instance.pid, root: shown(args.root) });
    console.error(error.toWire());
    process.exit(EXIT.alreadyRunning);
  }
  const resolved = resolveSku(args.sku, args.settings);
  for (const problem of resolved.problems) console.error(format(problem));
  if (resolved.problems.some(({ stops }) => stops === 'core')) {
    instance.release();
    process.exit(EXIT.sku);
  }
  const log = createLog({ ...args.log, stderr: true });
  const kernel = new Kernel({ resolved, paths: args.paths, log });
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) process.exit(128 + (signal === 'SIGINT' ? 2 : 15));
      stopping = true;
      log.info({ signal }, 'stopping');
      void kernel.stop().then(() => {
        instance.release();
        process.exit(0);
      });
    });
  }
  // A rejection nobody handles arrives here, too: the Core goes on only where one plugin can be named and restarted.
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, `unhandled error: ${reasonOf(err)}`);
    if (!kernel.crashed(err)) process.exit(EXIT.internal);
  });
  await kernel.start();
  if (stopping) return;
  await banner(kernel, resolved, args);
  setTimeout(flushCompileCache, 5_000).unref(); // so that it survives a power cut without slowing the start
}

async function banner(kernel: Kernel, { sku }: Resolved, args: Arguments): Promise<void> {
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
  const root = args.root === join(import.meta.dirname, '../../.device') ? '' : ` --root ${shown(args.root)}`;
  if (tcp) console.log(`  try       curl ${tcp}/health`);
  else if (unix) console.log(`  try       curl --unix-socket ${shown(unix)} http://localhost/health`);
  if (unix) console.log(`            npm run -s devicectl --${root} status`);
  if (sku?.auth === 'open') console.log('  WARNING   auth is open: every caller on this machine is trusted');
  console.log('  stop      Ctrl-C');
}
