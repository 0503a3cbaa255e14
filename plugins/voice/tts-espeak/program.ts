/** espeak-ng as a program of its own, over pipes: it is never linked, and what it does wrong ends it alone. */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';

export type Child = ChildProcessByStdio<Writable, Readable, Readable>;

/** Longest text kept of its other output. */
const MOST_TOLD = 500;

export interface Run {
  readonly child: Child;
  /** Resolves with the status, or the signal; `absent`: there is no such program. Never rejects. */
  readonly ended: Promise<{ readonly status: number | string; readonly told: string; readonly absent: boolean }>;
}

/** Nothing of ours is handed on but what is needed to find voices. */
const ENVIRONMENT = { PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8' };

export function run(command: string, args: readonly string[], input: string): Run {
  const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'pipe'], env: ENVIRONMENT });
  let told = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (told.length < MOST_TOLD) told += text;
  });
  // It may end before it has read all; how it ended tells why.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const ended = new Promise<Awaited<Run['ended']>>((resolve) => {
    child.on('error', (error: NodeJS.ErrnoException) => {
      const absent = error.code === 'ENOENT' || error.code === 'EACCES';
      resolve({ status: error.code ?? 'error', told: reasonOf(error), absent });
    });
    child.on('close', (status, signal) =>
      resolve({ status: status ?? signal ?? 'unknown', told: told.trim(), absent: false }),
    );
  });
  return { child, ended };
}

/** Output of a short run. Rejects with SPEECH_FAILED; undefined where there is no such program. */
export async function printed(
  scope: Scope,
  command: string,
  args: readonly string[],
  ms: number,
): Promise<string | undefined> {
  const { child, ended } = run(command, args, '');
  using _limit = scope.timeout(`${command} ${args.join(' ')}`, ms, () => void child.kill('SIGKILL'));
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    if (text.length < 1 << 20) text += piece;
  });
  const { status, told, absent } = await ended;
  if (absent) return undefined;
  if (status !== 0)
    throw new CoreError('SPEECH_FAILED', { engine: 'espeak', reason: told || `it ended with ${status}` });
  return text;
}
