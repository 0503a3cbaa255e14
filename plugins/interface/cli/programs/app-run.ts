import { basename, dirname } from 'node:path';
import { pause } from '@device-core/plugin-api/inside/program';
import { defineProgram, EXIT, Failure, type ProgramOutput } from '@device-core/plugin-api/program';
import type { AppStatus } from '@device-core/plugin-api/services/apps';
import { AppFolder } from '../desk/app-folder.ts';
import { followLogs } from '../desk/log-lines.ts';
import { Saves, savedNames } from '../desk/saves.ts';
import { Simulator } from '../desk/simulator.ts';
import { tellState } from '../desk/told-state.ts';

/** The Core waits until a file was left alone for 150 ms, and looks 200 ms later. */
const MANIFEST_MS = 1_000;
const AGAIN_MS = 200;

interface RunOptions {
  readonly folder: string;
  readonly port?: number;
}

/** `devicectl app run` */
export const program = defineProgram<RunOptions>({
  description:
    'A simulated device with the app, its log, and a restart at each save, until Ctrl-C. It is granted all that its app.yaml claims. Other terminals reach the device as they reach `npm start`.',
  params: {
    type: 'object',
    properties: {
      folder: { type: 'string', default: '.', description: 'of the app' },
      port: { type: 'integer', minimum: 0, maximum: 65535, description: 'of REST over TCP (default: no TCP)' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ args, out, target, signal }) {
    const folder = new AppFolder(args.folder);
    const root = basename(target.run) === 'run' ? dirname(target.run) : target.run;
    const { port } = args;
    // From the first moment on: what is saved while the device starts would be missed.
    using saves = new Saves(folder.path);
    const began = Date.now();
    await using device = await Simulator.start({ folder: folder.path, grants: grantsOf(folder), root, port }, signal);
    await out.line(`${folder.id} on a simulated device, in ${root}; stop it with Ctrl-C`);
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener('abort', end);
    const ended = device.ended.then(end);
    // The Core starts the app by itself: it may have said something by now.
    const logs = followLogs(device.client, device.app, out, over.signal, began).catch((error: unknown) => {
      if (!over.signal.aborted) throw error;
    });
    try {
      await tellState(out, await stateOf(device, 'start'), 'it runs');
      await Promise.all([logs, restartAtSaves(device, folder.path, saves, out, over.signal)]);
    } finally {
      over.abort();
      signal.removeEventListener('abort', end);
    }
    if (signal.aborted) return;
    await ended;
    throw new Failure(EXIT.unreachable, 'UNAVAILABLE', 'the simulated device has ended');
  },
});

async function restartAtSaves(
  device: Simulator,
  path: string,
  saves: Saves,
  out: ProgramOutput,
  signal: AbortSignal,
): Promise<void> {
  for (let names = await saves.next(signal); names; names = await saves.next(signal)) {
    const began = performance.now();
    try {
      // The Core notices a changed manifest by itself; its new claims are granted with it.
      if (names.includes('app.yaml')) device.grant(grantsOf(new AppFolder(path)));
      if (names.every((name) => name === 'app.yaml')) {
        await tellManifest(device, out, signal);
        continue;
      }
      const app = await stateOf(device, 'restart');
      await tellState(out, app, `${savedNames(names)}: runs again after ${Math.round(performance.now() - began)} ms`);
    } catch (error) {
      if (signal.aborted) return;
      if (!(error instanceof Failure)) throw error;
      await out.line(out.paint('red', `${savedNames(names)}: ${error.message}`));
    }
  }
}

/** The Core hears of the manifest by itself, a moment after the save. */
async function tellManifest(device: Simulator, out: ProgramOutput, signal: AbortSignal): Promise<void> {
  let app: AppStatus;
  let ms = MANIFEST_MS;
  do {
    await pause(ms, signal);
    const { body } = await device.client.get(`/apps/${encodeURIComponent(device.app)}`);
    app = body.app as AppStatus;
    ms = AGAIN_MS;
    // The Core bounds a start.
  } while (app.state === 'starting');
  const { complaint, ...status } = app;
  if (complaint !== undefined) await out.line(out.paint('red', `app.yaml: ${complaint}; the former one is in force`));
  else await tellState(out, status, 'app.yaml: it is in order and in force');
}

async function stateOf(device: Simulator, verb: 'start' | 'restart'): Promise<AppStatus> {
  const path = `/apps/${encodeURIComponent(device.app)}/${verb}`;
  const { body } = await device.client.post(path, {}, { timeoutMs: 165_000 });
  return body.app as AppStatus;
}

function grantsOf({ id, claims }: AppFolder): Readonly<Record<string, readonly string[]>> {
  return { [id]: claims.map((claim) => claim.id) };
}
