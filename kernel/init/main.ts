/**
 * The boot loader's program: `main.js choose | ready | ended | run | self-check`. systemd calls the first three around
 * the Core's unit; `run` does the same without systemd.
 */
import type { ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { type BootReport, bootWords } from '../../plugin-api/inside/boot-report.ts';
import { endedNow, readyNow } from './heard.ts';
import { type Here, hereOf } from './here.ts';

const USAGE = `usage: main.js choose|ready|ended|self-check [--service NAME] [--system DIR] [--run DIR] [--core DIR]
       main.js run [...] [-- OPTIONS OF THE CORE]   start the Core, and end as it does`;
const TEXT = { type: 'string' } as const;
const options = { service: { ...TEXT, default: 'device' }, system: TEXT, run: TEXT, core: TEXT } as const;

async function main(): Promise<number> {
  process.umask(0o022);
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command = '', ...rest] = positionals;
  const { service, ...paths } = values;
  const here = hereOf(service, paths);
  if (command === 'run') return await run(here, rest);
  if (rest.length > 0) throw new Error(USAGE);
  if (command === 'choose') return (await chosen(here)) === undefined ? 1 : 0;
  if (command === 'ready') return told(here, readyNow(here));
  if (command === 'ended') return told(here, endedNow(here, process.env));
  if (command === 'self-check') return told(here, ...(await import('./loader.ts')).selfCheck(here));
  throw new Error(USAGE);
}

function told({ tell }: Here, ...problems: readonly (string | undefined)[]): number {
  const said = problems.filter((one) => one !== undefined);
  for (const problem of said) tell(problem);
  return said.length === 0 ? 0 : 1;
}

async function chosen(here: Here): Promise<BootReport | undefined> {
  try {
    // Not where a start is only heard of: it would be half of what that costs.
    const report = await (await import('./loader.ts')).chooseNow(here);
    return report.slot === undefined ? undefined : report;
  } catch (error) {
    here.tell(`nothing can be started: ${(error as Error).message}`);
    await here.wait(10, 'the loader itself failed');
    return undefined;
  }
}

/**
 * The Core says READY=1 over the descriptor that READY_FD names. It ends with the signals that this process gets, and
 * this process ends as it does.
 */
async function run(here: Here, words: readonly string[]): Promise<number> {
  const report = await chosen(here);
  if (report === undefined) return 1;
  const { spawn } = await import('node:child_process');
  const { service, core, run: folder, system } = here;
  const state = { STATE_DIRECTORY: `/var/lib/${service}`, CONFIGURATION_DIRECTORY: `/etc/${service}` };
  const boot = { DEVICE_BOOT: join(folder, 'boot.json'), READY_FD: '3' };
  const args = [join(folder, 'slot/kernel/start.js'), '--system', ...bootWords(join(system, 'slots'), report)];
  let endSignal: NodeJS.Signals | undefined;
  let child: ChildProcess | undefined;
  // Signals are handled before the child starts: one in between would leave it alone.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT'] as const)
    process.on(signal, () => {
      endSignal = signal;
      child?.kill(signal);
    });
  child = spawn(join(folder, 'slot/bin/node'), [...args, ...words], {
    env: { ...state, RUNTIME_DIRECTORY: core, ...process.env, ...boot },
    stdio: ['inherit', 'inherit', 'inherit', 'pipe'],
  });
  let isReady = false;
  child.stdio[3]!.on('data', (bytes: Buffer) => {
    if (isReady || !bytes.toString('latin1').includes('READY=1')) return;
    isReady = true;
    told(here, readyNow(here));
  });
  const [code, signal, failure] = await new Promise<[number | null, NodeJS.Signals | null, string?]>((done) => {
    child!.once('error', (error) => done([126, null, error.message]));
    child!.once('exit', (...end) => done(end));
  });
  const orderly = (code === 0 && (isReady || endSignal !== undefined)) || (signal !== null && signal === endSignal);
  const result = orderly ? 'success' : signal !== null ? 'signal' : code === 0 ? 'protocol' : 'exit-code';
  const end = { EXIT_CODE: signal === null ? 'exited' : 'killed', EXIT_STATUS: failure ?? `${signal ?? code}` };
  told(here, endedNow(here, { SERVICE_RESULT: result, ...end }));
  return signal === null ? (code ?? 1) : 128 + constants.signals[signal];
}

process.exitCode = await main();
