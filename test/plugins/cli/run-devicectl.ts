import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { main } from '../../../plugins/interface/cli/program/main.ts';
import type { Terminal } from '../../../plugins/interface/cli/program/output.ts';

const SCRIPT = fileURLToPath(new URL('../../../plugins/interface/cli/program/devicectl.ts', import.meta.url));

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export function spawnDevicectl(args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [SCRIPT, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
}

/** devicectl as a process of its own, to its end. */
export async function devicectlProcess(args: readonly string[], input = ''): Promise<Ended> {
  const child = spawnDevicectl(args);
  child.stdin?.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  return { code, stdout, stderr };
}

/** The same in this process, which costs a fraction; what needs standard input or a signal needs a process. */
export async function devicectl(args: readonly string[], columns?: number): Promise<Ended> {
  const [stdout, stderr] = [new Page(columns), new Page()];
  const code = await main(args, { stdout, stderr });
  return { code, stdout: stdout.text, stderr: stderr.text };
}

/** Keeps what is written; with columns it is a terminal. */
export class Page implements Terminal {
  text = '';
  readonly isTTY: boolean;
  readonly columns: number;

  constructor(columns?: number) {
    this.isTTY = columns !== undefined;
    this.columns = columns ?? 0;
  }

  write(text: string, done: () => void): void {
    this.text += text;
    done();
  }
}
