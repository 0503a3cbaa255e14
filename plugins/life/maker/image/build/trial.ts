/** An image is started before it is written: to READY on an empty root, and in safe mode. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { EXIT, Failure } from '@device-core/plugin-api/program';

export interface Trial {
  readonly mode: 'normal' | 'safe mode';
  /** `running`, `degraded`. */
  readonly state: string;
  readonly ms: number;
  /** Plugins that did not come up here, with the reason: mostly what this machine has no hardware for. */
  readonly missing: Readonly<Record<string, string>>;
}

interface Line {
  readonly run?: string;
  readonly state?: string;
  readonly plugin?: string;
  readonly msg?: string;
  readonly level?: number;
  readonly err?: { readonly message?: string };
}

const LONGEST_MS = 180_000;
const LOG_WARN = 40;
/** Errors of parts missing in the image rather than on this machine. */
const NOT_THERE = /Cannot find (module|package)|ERR_MODULE_NOT_FOUND|MODULE_NOT_FOUND|is not exported from package/;

/** Apps of a product are started by its warden, which systemd runs on the device: a desk has none, and that is no fault of the image. */
const NO_WARDEN = /cannot reach the warden\b/;

/** Report of a trial for people. */
export function trialLines({ mode, state, ms, missing }: Trial): readonly string[] {
  const all = Object.entries(missing);
  const others = all.filter(([, reason]) => !NO_WARDEN.test(reason));
  const isDesk = all.length > others.length;
  const how = isDesk && others.length === 0 ? 'all but the apps' : state;
  return [
    `  started (${mode}): ${how} after ${(ms / 1000).toFixed(1)} s`,
    ...(isDesk ? ['    note: the warden, which starts the apps, runs on the device and not here'] : []),
    ...others.map(([plugin, reason]) => `    ${plugin}: ${reason}`),
  ];
}

/** Rejects with SYSTEM_IMAGE_INVALID where it does not come up, and where a module is missing in it. */
export async function tryStart(
  { slot, sku, root }: { readonly slot: string; readonly sku: string; readonly root: string },
  mode: Trial['mode'],
  signal: AbortSignal,
): Promise<Trial> {
  signal.throwIfAborted();
  const safe = mode === 'safe mode' ? ['--safe-mode'] : [];
  const words = [...safe, '--sku', join(slot, sku), '--root', root, '--no-tcp', '--log', '-'];
  const started = performance.now();
  // Nothing of who builds reaches what is built.
  const core = spawn(join(slot, 'bin/node'), [join(slot, 'kernel/start.js'), ...words], {
    cwd: slot,
    env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const missing: Record<string, string> = {};
  const said: string[] = [];
  core.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
  const end = (): boolean => core.kill('SIGKILL');
  signal.addEventListener('abort', end, { once: true });
  const late = setTimeout(end, LONGEST_MS);
  const ended = new Promise<void>((resolve) => {
    core.on('close', () => resolve());
    core.on('error', (error) => {
      said.push(error.message);
      resolve();
    });
  });
  let ready: { readonly state: string; readonly ms: number } | undefined;
  try {
    for await (const text of createInterface({ input: core.stdout })) {
      const line = parsed(text);
      const { run, state = '', plugin, msg = '', level = 0, err } = line;
      if (level >= LOG_WARN) said.push(`${msg}\n`);
      if (plugin !== undefined && level > LOG_WARN) missing[plugin] ??= err?.message ?? msg;
      if (run !== 'ready') continue;
      ready = { state, ms: Math.round(performance.now() - started) };
      core.kill('SIGTERM');
    }
    await ended;
  } finally {
    clearTimeout(late);
    signal.removeEventListener('abort', end);
  }
  // It was killed, and says nothing of the image.
  signal.throwIfAborted();
  const problem = said.find((text) => NOT_THERE.test(text)) ?? (ready === undefined ? said.join('') : undefined);
  if (ready === undefined || problem !== undefined)
    throw new Failure(EXIT.answered, 'SYSTEM_IMAGE_INVALID', `it does not start (${mode}): ${String(problem).trim()}`);
  if (core.exitCode !== 0)
    throw new Failure(
      EXIT.answered,
      'SYSTEM_IMAGE_INVALID',
      `it does not end in order (${mode}): ${core.exitCode ?? core.signalCode}`,
    );
  return { mode, ...ready, missing };
}

function parsed(text: string): Line {
  try {
    return Object(JSON.parse(text)) as Line;
  } catch {
    return {}; // for people
  }
}
