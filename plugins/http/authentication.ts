/** Who sends a request: the token of its header decides, else the peer of its Unix socket (decisions D1). */
import type { IncomingMessage } from 'node:http';
import { type Caller, CoreError, type Identity } from '@device-core/plugin-api';
import type { Connection } from './connections.ts';

const BEARER = /^Bearer +([A-Za-z0-9._~+/-]{1,512}=*)$/i;

/** Throws UNAUTHENTICATED. */
export async function authenticate(
  request: IncomingMessage,
  connection: Connection,
  identity: Identity,
): Promise<Caller> {
  const { authorization } = request.headers;
  const { transport } = connection;
  let caller: Caller;
  if (authorization !== undefined) {
    const token = BEARER.exec(authorization)?.[1];
    if (token === undefined)
      throw new CoreError('UNAUTHENTICATED', { reason: 'the authorization header is not "Bearer <token>"' });
    caller = await identity.authenticate({ transport, token });
  } else {
    const peer = await connection.peer;
    caller = await identity.authenticate(peer ? { transport, peer } : { transport });
  }
  if (caller.kind === 'app') connection.apps.add(caller.id);
  return caller;
}
