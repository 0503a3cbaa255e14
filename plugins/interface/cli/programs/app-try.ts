import { existsSync } from 'node:fs';
import { basename, join } from 'node:path';
import { packApp } from '@device-core/plugin-api/inside/packages';
import {
  defineProgram,
  EXIT,
  type ExitCode,
  Failure,
  type ProgramClient,
  type ProgramOutput,
  usage,
} from '@device-core/plugin-api/program';
import type { AppState } from '@device-core/plugin-api/services/apps';
import { AppFolder } from '../desk/app-folder.ts';
import { followLogs } from '../desk/log-lines.ts';
import { Saves, savedNames } from '../desk/saves.ts';
import { tellState } from '../desk/told-state.ts';

interface TryOptions {
  readonly folder: string;
  readonly grant?: readonly string[];
  readonly once?: boolean;
  readonly stop?: boolean;
}

/** As the device takes it. */
const LIMITS = { files: 20_000, bytes: 32 << 20 } as const;
const CHANGE_MS = 165_000;
/** A person who pressed Ctrl-C waits no longer. */
const END_MS = 20_000;

/** `devicectl app try` */
export const program = defineProgram<TryOptions>({
  description:
    'The app runs on the device as it was saved last, in its sandbox and without a signature, until Ctrl-C. Its log is shown, and each save is tried. With --once it runs until the trial is ended or the Core starts again. The device has to allow it: apps.developer: operator.',
  params: {
    type: 'object',
    properties: {
      folder: { type: 'string', default: '.', description: 'of the app' },
      grant: { type: 'array', items: { type: 'string' }, description: 'a capability to grant it; may be repeated' },
      once: { type: 'boolean', description: 'do not wait for saves, and leave it running' },
      stop: { type: 'boolean', description: 'end the trial: what is installed runs again' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ args, client, out, signal }): Promise<ExitCode> {
    if (args.stop) {
      const id = idOf(args.folder);
      await client.post(forgetting(id), {}, { timeoutMs: CHANGE_MS });
      await out.line(out.json ? JSON.stringify({ ok: true, id }) : `${id} is tried no longer`);
      return EXIT.ok;
    }
    const folder = new AppFolder(args.folder);
    const grants = args.grant ?? [];
    using saves = new Saves(folder.path);
    const first = await attempt(client, folder, grants);
    if (out.json) await out.line(JSON.stringify({ ok: true, ...first }));
    else await tellState(out, first, 'it runs');
    if (args.once || out.json) return first.state === 'running' ? EXIT.ok : EXIT.answered;
    const over = new AbortController();
    const end = () => over.abort();
    signal.addEventListener('abort', end);
    try {
      const logs = followLogs(client, first.id, out, over.signal);
      await Promise.all([logs, trySaves({ client, out, saves, grants, folder, signal: over.signal })]);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      over.abort();
      signal.removeEventListener('abort', end);
    }
    return endTrial(client, out, first.id);
  },
});

/**
 * Nobody looks after the app any longer. Where the Core is gone, or the connection that Ctrl-C ends too, the person is
 * told what is left.
 */
async function endTrial(client: ProgramClient, out: ProgramOutput, id: string): Promise<ExitCode> {
  try {
    await client.post(forgetting(id), {}, { timeoutMs: END_MS });
    await out.line(`${id} is tried no longer`);
    return EXIT.ok;
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    const left = `it goes on until "devicectl app forget ${id}", or until the Core starts again`;
    await out.line(out.paint('red', `cannot end the trial of ${id}: ${error.message}; ${left}`));
    return EXIT.answered;
  }
}

function forgetting(id: string): string {
  return `/apps/${encodeURIComponent(id)}/forget`;
}

/** Id of the app in a folder, or the word itself where it is no folder. */
function idOf(word: string): string {
  if (existsSync(join(word, 'app.yaml'))) return new AppFolder(word).id;
  if (/^[A-Za-z][\w.-]*$/.test(word)) return word;
  throw usage(`${word} is not the folder of an app`, 'name the app: devicectl app forget ID');
}

interface Trial {
  readonly id: string;
  readonly hash: string;
  readonly same: boolean;
  readonly state: AppState;
  readonly reason?: string;
}

interface Trying {
  readonly client: ProgramClient;
  readonly out: ProgramOutput;
  readonly saves: Saves;
  readonly grants: readonly string[];
  readonly folder: AppFolder;
  readonly signal: AbortSignal;
}

async function trySaves({ client, out, saves, grants, folder, signal }: Trying): Promise<void> {
  let refused = false;
  for (let names = await saves.next(signal); names; names = await saves.next(signal)) {
    const began = performance.now();
    try {
      const trial = await attempt(client, folder, grants);
      const again = trial.same ? 'in order again, and as it runs' : `runs again after ${ms(began)}`;
      if (!trial.same || refused) await tellState(out, trial, `${savedNames(names)}: ${again}`);
      refused = false;
    } catch (error) {
      if (signal.aborted) return;
      refused = true;
      // Half a save is no package; the next one may be.
      if (!(error instanceof Failure) && !(error instanceof Error && 'code' in error)) throw error;
      await out.line(out.paint('red', `${savedNames(names)}: ${error.message}`));
    }
  }
}

async function attempt(client: ProgramClient, folder: AppFolder, grants: readonly string[]): Promise<Trial> {
  const { bytes } = await packApp(folder.path, { top: basename(folder.path), limits: LIMITS }).catch((error: Error) => {
    throw new Failure(EXIT.answered, 'PACKAGE_INVALID', error.message);
  });
  const body = { package: bytes.toString('base64'), ...(grants.length > 0 ? { grants } : {}) };
  const answer = await client.post('/apps/try', body, { timeoutMs: CHANGE_MS });
  return answer.body as unknown as Trial;
}

function ms(began: number): string {
  return `${Math.round(performance.now() - began)} ms`;
}
