import { readdir } from 'node:fs/promises';
import { flushCompileCache, getCompileCacheDir } from 'node:module';
import { join } from 'node:path';
import { API_VERSION, CoreError, reasonOf } from '@device-core/plugin-api';
import { sweepFolders } from '@device-core/plugin-api/durable';
import { finishPending, remainsFolder, remainsOf } from '@device-core/plugin-api/inside/pending-state';
import { originOf } from '../blame.ts';
import { systemClock } from '../clock.ts';
import { CORE_VERSION, Kernel } from '../kernel.ts';
import { folderOf } from '../records.ts';
import type { Problem, Resolve } from '../resolved.ts';
import type { Arguments } from './arguments.ts';
import { printBanner, tellStart, tellTrouble } from './banner.ts';
import { resolveSku } from './check.ts';
import { claimInstance } from './instance.ts';
import { openLog } from './log.ts';
import { shown, useKnownGood } from './manifests.ts';
import { ownProcesses } from './own-processes.ts';
import { reportOf } from './report.ts';
import { RunRecord } from './run-record.ts';

const EXIT = { sku: 1, alreadyRunning: 3, internal: 70 } as const;

const format = ({ file, line, code, message }: Problem) => `${file}:${line}: ${code} ${message}`;

export const printVersion = () =>
  console.log(`device-core ${CORE_VERSION}, plugin-api ${API_VERSION}, node ${process.version}`);

/** `check FILE`: one problem per line; exit status 1 if there is one. */
export function checkSku({ sku: file, settings, json }: Arguments): number {
  const found = resolveSku(file, settings);
  const { sku, plugins, problems } = found;
  if (json) console.log(JSON.stringify({ ok: problems.length === 0, problems, ...reportOf(found) }, null, 2));
  else if (problems.length > 0) console.log(problems.map(format).join('\n'));
  else console.log(`${shown(file)}: SKU ${sku?.id} is fine, ${plugins.length} plugins`);
  return problems.length === 0 ? 0 : EXIT.sku;
}

/** The folders that files of state lie in: those of apps are their own. */
async function stateFolders({ var: state, run }: Arguments['paths']): Promise<readonly string[]> {
  const entries = await readdir(state, { withFileTypes: true }).catch(() => []);
  const inside = entries
    .filter((entry) => entry.isDirectory() && entry.name !== 'apps')
    .map(({ name }) => join(state, name));
  return [run, state, ...inside];
}

/** Finishes the act on the state that a former Core ordered. A failing disk leaves the order for the next start; /health reports it. */
function finishState(state: string): void {
  try {
    const act = finishPending(state);
    if (!act) return;
    const remains = remainsOf(state);
    console.error(`state: the ${act} that was ordered is done${remains.length > 0 ? ' with remains' : ''}`);
    for (const { path, reason } of remains) console.error(`state: ${JSON.stringify(path)} is left: ${reason}`);
    if (remains.length > 0) console.error(`state: root removes what is left: rm -rf ${remainsFolder(state)}`);
  } catch (error) {
    console.error(`warning: what was ordered of the state is not done: ${reasonOf(error)}`);
  }
}

/** Runs the Core until a signal ends it. */
export async function runCore(args: Arguments): Promise<void> {
  const instance = await claimInstance(args.paths.run);
  if (!instance.mine) {
    const error = new CoreError('ALREADY_RUNNING', { pid: instance.pid, root: shown(args.root) });
    console.error(error.toWire());
    console.error('  stop that one (Ctrl-C where it runs), or give this one a place of its own: --root DIR --port N');
    process.exit(EXIT.alreadyRunning);
  }
  finishState(args.paths.var);
  await sweepFolders(await stateFolders(args.paths));
  const { log, control: logs, scan } = openLog({ ...args.log, stderr: true });
  const record = new RunRecord(log);
  record.starts(shown(args.sku), args.safeMode);
  // Safe mode trusts nothing that a former start left; what an image remembers was signed with it (docs/adr/0124).
  const inImage = import.meta.filename.endsWith('.js');
  const caches = !args.safeMode && getCompileCacheDir() !== undefined;
  const memory = inImage ? join(import.meta.dirname, '../../manifests') : join(args.paths.var, 'cache');
  const known = inImage || caches ? useKnownGood(memory, !inImage) : undefined;
  const keep = async () =>
    known?.keep().catch((err) => log.warn({ err }, 'the next start will check every manifest again'));
  const state = args.safeMode ? undefined : args.paths.var;
  const resolve: Resolve = (change) => resolveSku(args.sku, args.settings, state, change, args.saved);
  const resolved = resolve();
  for (const problem of resolved.problems) record.problem(problem, format(problem));
  if (resolved.problems.some(({ stops }) => stops === 'core')) {
    instance.release();
    record.ends(EXIT.sku);
  }
  const processes = await ownProcesses(log);
  const kernel = new Kernel({ resolved, paths: args.paths, log, resolve, logs, processes });
  record.blamed = (error) => {
    const here = kernel.sets().running.plugins.filter(({ isolation }) => isolation === 'inline');
    return originOf(
      error,
      here.map((entry) => [entry.id, folderOf(entry)] as const),
    )?.owner;
  };
  scan.use(kernel.parts.hooks.caller('log.line'));
  kernel.parts.hooks.last('health.collect', logs.tell);
  let stopping = false;
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      if (stopping) record.ends(128 + (signal === 'SIGINT' ? 2 : 15));
      stopping = true;
      record.stops(signal);
      void kernel.stop().then(async () => {
        await keep();
        instance.release();
        record.ends(0);
      });
    });
  }
  // An unhandled rejection arrives here, too: the Core goes on only if one plugin can be named and restarted.
  process.on('uncaughtException', (err) => {
    log.fatal({ err }, `unhandled error: ${reasonOf(err)}`);
    if (!kernel.crashed(err)) record.ends(EXIT.internal);
  });
  const telling = tellStart(kernel, resolved);
  await kernel.start();
  telling[Symbol.dispose]();
  if (stopping) return;
  record.ready((await kernel.status()).state);
  await printBanner(kernel, resolved, args.root);
  void tellTrouble(kernel, args.root, () => stopping);
  // So that they survive a power cut without slowing the start.
  systemClock.after(5_000, () => {
    flushCompileCache();
    void keep();
  });
}
