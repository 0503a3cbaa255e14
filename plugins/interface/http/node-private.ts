/**
 * Private fields of node:http and node:net about a connection: they stand here alone. Without them less is known, and
 * nothing fails.
 */
import type { Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

interface Private {
  readonly _httpMessage?: ServerResponse | null;
  /** Set while answers wait in the socket; node:http resumes it, and must not be given bytes before. */
  readonly _paused?: boolean;
  readonly _handle?: { readonly writeQueueSize?: number } | null;
}

/** The response that is being written to it. */
export function currentResponse(socket: Socket): ServerResponse | undefined {
  return (socket as Private)._httpMessage ?? undefined;
}

/** Bytes of the chunk under way that the system has not taken: the handle alone sees how far a large chunk is. */
export function inChunk(socket: Socket): number {
  return (socket as Private)._handle?.writeQueueSize ?? 0;
}

/** node:http reads no further before the client has taken its answers. */
export function isHeldByHttp(socket: Socket): boolean {
  return (socket as Private)._paused === true;
}

/**
 * Node looks once a second whether a request of a server takes too long, also while nobody is connected. Answers with a
 * function that is to be told of each connection: the looks then last as long as there is one. A Node that keeps its
 * timer elsewhere looks on as ever.
 */
export function looksWhileConnected(server: Server): (socket: Socket) => void {
  const begin = server.listeners('listening').find(({ name }) => name === 'setupConnectionsTracking');
  if (!begin) return () => undefined;
  const end = (): void => clearInterval(checksOf(server));
  let connected = 0;
  server.on('listening', end);
  return (socket) => {
    if (connected++ === 0 && server.listening) begin.call(server);
    socket.once('close', () => {
      if (--connected === 0) end();
    });
  };
}

const CHECKS = 'http.server.connectionsCheckingInterval';

/** The timer of these looks. */
export function checksOf(server: Server): NodeJS.Timeout | undefined {
  const key = Object.getOwnPropertySymbols(server).find(({ description }) => description === CHECKS);
  return key && (server as unknown as Readonly<Record<symbol, NodeJS.Timeout>>)[key];
}
