/** Reads files of state: a regular file of a sane size or none; what else lies in its place neither blocks nor fills the memory. */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { CoreError, reasonOf } from '../../contract/errors.ts';

/** No file of state of ours comes near it. */
const MOST_BYTES = 16 * 1024 * 1024;
/** A pipe in its place does not keep the reader. */
const FLAGS = constants.O_RDONLY | constants.O_NONBLOCK;

/** Its text, undefined where there is none. Throws STATE_CORRUPT for what cannot be read, and for what is no file. */
export async function readState(file: string): Promise<string | undefined> {
  try {
    await using handle = await open(file, FLAGS);
    check(file, await handle.stat());
    return await handle.readFile('utf8');
  } catch (error) {
    return refuse(file, error);
  }
}

/** The same at once, for what the start of the Core needs before anything runs. */
export function readStateSync(file: string): string | undefined {
  try {
    const handle = openSync(file, FLAGS);
    try {
      check(file, fstatSync(handle));
      return readFileSync(handle, 'utf8');
    } finally {
      closeSync(handle);
    }
  } catch (error) {
    return refuse(file, error);
  }
}

function check(file: string, info: { isFile(): boolean; isDirectory(): boolean; readonly size: number }): void {
  const reason = info.isDirectory()
    ? 'it is a folder'
    : !info.isFile()
      ? 'it is no regular file'
      : info.size > MOST_BYTES
        ? `it has ${info.size} bytes, more than ${MOST_BYTES}`
        : undefined;
  if (reason !== undefined) throw new CoreError('STATE_CORRUPT', { file, reason });
}

function refuse(file: string, error: unknown): undefined {
  if (error instanceof CoreError) throw error;
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
  throw new CoreError('STATE_CORRUPT', { file, reason: reasonOf(error) }, { cause: error });
}
