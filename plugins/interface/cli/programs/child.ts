import { spawn } from 'node:child_process';
import { EXIT, type ExitCode } from '@device-core/plugin-api/program';

/** Runs a program of Node to its end, with our own output; what it checks may hang or exit. Any failure but wrong usage is an answer. */
export async function runToItsEnd(file: string, args: readonly string[]): Promise<ExitCode> {
  const child = spawn(process.execPath, [file, ...args], { stdio: 'inherit' });
  const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
  if (code === EXIT.ok || code === EXIT.usage) return code;
  return EXIT.answered;
}
