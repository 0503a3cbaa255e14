import { basename } from 'node:path';
import { packApp } from '@device-core/plugin-api/packages';
import {
  defineProgram,
  EXIT,
  type ExitCode,
  Failure,
  type ProgramClient,
  type ProgramOutput,
} from '@device-core/plugin-api/program';
import { AppFolder } from '../desk/app-folder.ts';
import { followLogs } from '../desk/log-lines.ts';
import { Saves, savedNames } from '../desk/saves.ts';

interface TryOptions {
  readonly folder: string;
  readonly grant?: readonly string[];
  readonly once?: boolean;
  readonly stop?: boolean;
}

/** As the device takes it. */
const LIMITS = { files: 20_000, bytes: 32 << 20 } as const;
const CHANGE_MS = 165_000;

/** `devicectl app try` */
export const program = defineProgram<TryOptions>({
  description:
    'The app runs on the device as it was saved last, in its sandbox and without a signature, until the device starts again or the trial is ended. Its log is shown, and each save is tried, until Ctrl-C. The device has to allow it: apps.developer: operator.',
  params: {
    type: 'object',
    properties: {
      folder: { type: 'string', default: '.', description: 'of the app' },
      grant: { type: 'array', items: { type: 'string' }, description: 'a capability to grant it; may be repeated' },
      once: { type: 'boolean', description: 'do not wait for saves' },
      stop: { type: 'boolean', description: 'end the trial: what is installed runs again' },
    },
  },
  cli: { fixed: ['folder'] },
  async run({ args, client, out, signal }): Promise<ExitCode> {
    const folder = new AppFolder(args.folder);
    if (args.stop) {
      await client.post(`/apps/${encodeURIComponent(folder.id)}/forget`, {}, { timeoutMs: CHANGE_MS });
      await out.line(out.json ? JSON.stringify({ ok: true, id: folder.id }) : `${folder.id} is tried no longer`);
      return EXIT.ok;
    }
    const grants = args.grant ?? [];
    using saves = new Saves(folder.path);
    const first = await attempt(client, folder, grants);
    if (out.json) await out.line(JSON.stringify({ ok: true, ...first }));
    else await tell(out, first, 'it runs');
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
    return EXIT.ok;
  },
});

interface Trial {
  readonly id: string;
  readonly hash: string;
  readonly same: boolean;
  readonly state: string;
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
  for (let names = await saves.next(signal); names; names = await saves.next(signal)) {
    const began = performance.now();
    try {
      const trial = await attempt(client, folder, grants);
      if (!trial.same) await tell(out, trial, `${savedNames(names)}: runs again after ${ms(began)}`);
    } catch (error) {
      if (signal.aborted) return;
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

async function tell(out: ProgramOutput, { state, reason }: Trial, running: string): Promise<void> {
  await out.line(state === 'running' ? out.paint('green', running) : out.paint('red', `${state}: ${reason ?? ''}`));
}

function ms(began: number): string {
  return `${Math.round(performance.now() - began)} ms`;
}
