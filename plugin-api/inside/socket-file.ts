/** Files of Unix sockets. */
import { lstat, rm } from 'node:fs/promises';
import { connect } from 'node:net';

/**
 * Removes the file of a socket that nobody listens on, as a process that was killed leaves it, so that the path can be
 * listened on. Anything else is left where it is, and the result says what it is: `occupied`, somebody listens there;
 * `foreign`, it is no socket. Rejects with the error of the system where the path cannot be looked at.
 */
export async function removeStaleSocket(path: string): Promise<'free' | 'occupied' | 'foreign'> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (!found) return 'free';
  if (!found.isSocket()) return 'foreign';
  if (await answers(path)) return 'occupied';
  await rm(path, { force: true });
  return 'free';
}

/**
 * The system says at once whether somebody listens, without asking that process. One that is busy or stopped, and takes
 * no connection (EAGAIN: its row is full), is there all the same: however slow the board is, nothing is judged by time.
 */
function answers(path: string): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(path);
  socket.once('connect', () => resolve(true));
  socket.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code !== 'ECONNREFUSED' && code !== 'ENOENT'));
  return promise.finally(() => socket.destroy());
}
