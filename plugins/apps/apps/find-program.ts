import { constants } from 'node:fs';
import { access, open, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, resolve } from 'node:path';
import { reasonOf } from '@device-core/plugin-api';

/**
 * Path of the program: a file of the app's folder where the command has a slash or such a file exists, the Core's own
 * `node`, or the first one in the search path. Rejects with the reason.
 */
export async function findProgram(command: string, folder: string, searchPath: string): Promise<string> {
  const own = resolve(folder, command);
  if (command.includes('/')) {
    await access(own, constants.X_OK).catch((thrown) => {
      throw new Error(`cannot run ${command}: ${reasonOf(thrown)}`);
    });
    await checkInterpreter(command, own);
    return own;
  }
  if (command === 'node') return process.execPath;
  const places = searchPath.split(delimiter).filter((place) => isAbsolute(place));
  for (const file of [own, ...places.map((place) => join(place, command))]) {
    if (!(await runnable(file))) continue;
    await checkInterpreter(command, file);
    return file;
  }
  throw new Error(`cannot find ${command} in the app's folder or in ${searchPath}`);
}

const FIRST_LINE = 256;

/** The system tells it of the program that it was to run, which inside walls is another. */
async function checkInterpreter(command: string, file: string): Promise<void> {
  const handle = await open(file).catch(() => undefined); // what may be run need not be readable
  if (!handle) return;
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(FIRST_LINE), 0, FIRST_LINE, 0);
    const interpreter = /^#![ \t]*([^ \t\n]+)/.exec(buffer.toString('latin1', 0, bytesRead))?.[1];
    if (interpreter === undefined) return;
    await access(interpreter, constants.X_OK).catch((thrown) => {
      throw new Error(`cannot run ${command}: ${missing(thrown)}`);
    });
  } finally {
    await handle.close();
  }
}

async function runnable(file: string): Promise<boolean> {
  try {
    await access(file, constants.X_OK);
    return (await stat(file)).isFile();
  } catch {
    // Not there or not to be run: the next place is looked at.
    return false;
  }
}

/** A program that exists and is not found lacks the interpreter of its first line. */
function missing(thrown: unknown): string {
  const absent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
  return `${reasonOf(thrown)}${absent ? ' (is the program after #! in its first line there?)' : ''}`;
}
