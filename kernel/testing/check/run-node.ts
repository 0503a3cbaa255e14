import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

export interface Ended {
  readonly code: number | null;
  /** Standard output and error, in no order between the two. */
  readonly output: string;
  readonly stdout: string;
  readonly timedOut: boolean;
}

/** Runs this Node with the arguments, to the end or to the deadline: checked code may hang. */
export async function runNode(
  args: readonly string[],
  options: { readonly cwd: string; readonly ms: number; readonly env?: Readonly<Record<string, string>> },
): Promise<Ended> {
  // The test runner's variable would make a Node below it believe that it is a part of that test.
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env;
  const child = spawn(process.execPath, [...args], {
    cwd: options.cwd,
    env: { ...environment, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: options.ms,
    killSignal: 'SIGKILL',
  });
  const [stdout, stderr, [code, signal]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<[number | null, NodeJS.Signals | null]>((done) => child.once('close', (...end) => done(end))),
  ]);
  return { code, stdout, output: `${stdout}${stderr}`, timedOut: signal === 'SIGKILL' };
}
