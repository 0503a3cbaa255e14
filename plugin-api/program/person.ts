/** Questions to the person at the terminal. */
import { createInterface } from 'node:readline/promises';
import type { ProgramOutput } from './index.ts';

/** Standard input and output are a person. */
export const isAnswerable = (out: Pick<ProgramOutput, 'terminal' | 'json'>): boolean =>
  out.terminal && !out.json && process.stdin.isTTY === true;

/** Resolves with whether the person said yes; anything but `y` and `yes` is a no. Rejects when the signal is aborted. */
export async function saysYes(question: string, signal: AbortSignal): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stdout });
  // The terminal is in raw mode meanwhile: Ctrl-C comes as a key.
  terminal.on('SIGINT', () => process.kill(process.pid, 'SIGINT'));
  try {
    return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `, { signal })).trim());
  } finally {
    terminal.close();
  }
}
