import { type ChildProcess, spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';

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
export async function devicectl(args: readonly string[], input = ''): Promise<Ended> {
  const child = spawnDevicectl(args);
  child.stdin?.end(input);
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout!),
    text(child.stderr!),
    new Promise<number | null>((resolve) => child.once('close', resolve)),
  ]);
  return { code, stdout, stderr };
}
