import { connect, type Socket } from 'node:net';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import type { Target } from './target.ts';

export interface DialOptions {
  readonly scope: Scope;
  readonly connectMs: number;
  readonly signal: AbortSignal;
}

/** Connects to the first of these addresses that answers, and to no other. Throws UNAVAILABLE, TIMEOUT, CANCELLED. */
export async function dial(
  { host, port }: Target,
  addresses: readonly string[],
  { scope, connectMs, signal }: DialOptions,
): Promise<Socket> {
  let last: unknown;
  for (const address of addresses) {
    try {
      return await scope.within(`the connection to ${host}`, connectMs, (over) => connected(address, port, over), {
        signal,
      });
    } catch (thrown) {
      if (signal.aborted) throw thrown;
      last = thrown;
    }
  }
  if (last instanceof CoreError) throw last;
  throw new CoreError('UNAVAILABLE', { what: `${host}:${port}`, reason: reasonOf(last) });
}

function connected(address: string, port: number, over: AbortSignal): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  const socket = connect({ host: address, port, allowHalfOpen: true, noDelay: true, autoSelectFamily: false });
  const giveUp = () => socket.destroy();
  over.addEventListener('abort', giveUp, { once: true });
  socket.once('error', reject);
  socket.once('connect', () => {
    over.removeEventListener('abort', giveUp);
    socket.off('error', reject);
    resolve(socket);
  });
  return promise;
}
