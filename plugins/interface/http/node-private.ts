/** What node:http and node:net know of a connection and tell nobody: their private fields stand here alone. Without them less is known, and nothing fails. */
import type { ServerResponse } from 'node:http';
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
