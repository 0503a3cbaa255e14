/** A passphrase on the command line is read by everybody on the machine, so it comes from a file or from standard input. */
import { open } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { usage } from '../../kits/program/failure.ts';

/** Value of `--passphrase-file` that names no file. */
const STANDARD_INPUT = '-';
/** Standard input can be read once, and one passphrase may open several keys. */
let typed: Promise<string> | undefined;

/** The first line of a file that nobody else may read; `-` is standard input. Rejects with a usage error. */
export async function passphraseFrom(file: string): Promise<string> {
  let all: string;
  try {
    all = await (file === STANDARD_INPUT ? standardInput() : textOf(file));
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error;
    throw usage(`cannot read the passphrase: ${error.message}`);
  }
  const line = all.split('\n', 1)[0]!.replace(/\r$/, '');
  if (line === '')
    throw usage(`${file === STANDARD_INPUT ? 'standard input' : file} holds no passphrase in its first line`);
  return line;
}

async function textOf(path: string): Promise<string> {
  await using file = await open(path, 'r');
  const stat = await file.stat();
  // A pipe of the shell (<(command)) has no readers but this one.
  if (stat.isFile() && (stat.mode & 0o077) !== 0) throw usage(`others may read ${path}`, `chmod 600 ${path}`);
  return await file.readFile('utf8');
}

async function standardInput(): Promise<string> {
  if (process.stdin.isTTY) throw usage('standard input is a terminal', 'leave --passphrase-file out');
  typed ??= text(process.stdin);
  return typed;
}
