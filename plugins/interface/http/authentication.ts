/** Caller of a request: the token of its header decides, else the peer of its Unix socket (decisions D1). */
import type { IncomingMessage } from 'node:http';
import { type Caller, CoreError, type TcpConnection } from '@device-core/plugin-api';
import type { Credentials } from '@device-core/plugin-api/inside/services/identity';
import type { Connection } from './connections.ts';

/** Id of a confirmation that a page repeats its request with. */
const CONFIRMATION = 'device-confirmation';
const SCHEME = 'bearer ';
/** RFC 6750, and no longer than any token of ours. */
const TOKEN = /^[A-Za-z0-9._~+/-]{1,512}=*$/;

/** Credentials of a request; a promise only where the peer must be asked for first. Throws UNAUTHENTICATED. */
export function credentialsOf(request: IncomingMessage, connection: Connection): Credentials | Promise<Credentials> {
  const { authorization } = request.headers;
  const { transport, peer } = connection;
  const token = authorization === undefined ? undefined : tokenOf(authorization);
  if (peer) {
    const shown = token === undefined ? { transport } : { transport, token };
    return peer.then((known) => (known ? { ...shown, peer: known } : shown));
  }
  if (transport === 'unix') return token === undefined ? { transport } : { transport, token };
  const tcp = endsOf(request, connection);
  return token === undefined ? { transport, tcp } : { transport, token, tcp };
}

function tokenOf(authorization: string): string {
  const token = authorization.slice(SCHEME.length).trimStart();
  if (authorization.slice(0, SCHEME.length).toLowerCase() !== SCHEME || !TOKEN.test(token))
    throw new CoreError('UNAUTHENTICATED', { reason: 'the authorization header is not "Bearer <token>"' });
  return token;
}

/** Throws UNAUTHENTICATED. */
function endsOf({ socket }: IncomingMessage, connection: Connection): TcpConnection {
  if (connection.ends && !socket.destroyed) return connection.ends;
  const { localAddress, localPort, remoteAddress, remotePort } = socket;
  if (!localAddress || localPort === undefined || !remoteAddress || remotePort === undefined)
    throw new CoreError('UNAUTHENTICATED', { reason: 'its connection is closed' });
  connection.ends = { localAddress, localPort, remoteAddress, remotePort };
  return connection.ends;
}

/** A page that was told CONFIRMATION_REQUIRED comes again with the id of the confirmation; who did not sign in in a browser needs none. */
export function withConfirmation(caller: Caller, { headers }: IncomingMessage): Caller {
  const { signedIn } = caller;
  const confirmation = signedIn && headers[CONFIRMATION];
  if (typeof confirmation !== 'string') return caller;
  return { ...caller, signedIn: { ...signedIn!, confirmation } };
}
