/**
 * Feeds Node's HTTP parser in pieces. Node reads 64 KiB and parses all of it at once: 1,700 short requests, each with
 * its objects, before a handler can stop it. Here the parser gets one head at a time, and the rest stays in the
 * socket's own buffer, whose bound then holds the client.
 */
import type { Socket } from 'node:net';
import { isHeldByHttp } from './node-private.ts';

const HEAD_END = Buffer.from('\r\n\r\n');
/** Bytes of a body that go to the parser at least, lest a body of blank lines is cut into thousands of pieces. */
const BODY_PIECE = 1024;

export interface PieceReader {
  /** Whether the parser may have more; false holds the rest until somebody resumes the socket. */
  mayParse(): boolean;
  /** Bytes that belong to the body of the present request, as far as is known; 0 between requests. */
  bodyAhead(): number;
  /** A piece was parsed. */
  parsed(): void;
  /** Bytes wait, and the socket is paused. */
  held(): void;
}

/** Connections that speak HTTP no more. */
const left = new WeakSet<Socket>();

/**
 * The connection becomes something else: what of it was read and not parsed goes back to the socket. Called while its
 * last head is parsed.
 */
export function leaveHttp(socket: Socket): void {
  left.add(socket);
  socket.removeAllListeners('data');
}

/** To be called as soon as the HTTP server has the socket: its one listener of 'data' is the way to its parser. */
export function parseInPieces(socket: Socket, reader: PieceReader): void {
  const listeners = socket.listeners('data');
  const parse = listeners[0] as ((chunk: Buffer) => void) | undefined;
  if (!parse || listeners.length > 1) return; // a Node that reads in some other way: requests still take turns, once parsed
  const read = (chunk: Buffer): void => {
    for (let at = 0; at < chunk.length; ) {
      // The last word is said (an answer that closes, a refusal): what else comes is of no use.
      if (!socket.writable) return;
      if (left.has(socket)) {
        socket.unshift(chunk.subarray(at));
        return;
      }
      const mine = socket.listenerCount('data') > 0; // else it is no HTTP any more
      if (!mine || (at > 0 && socket.isPaused()) || isHeldByHttp(socket) || !reader.mayParse()) {
        socket.pause();
        socket.unshift(chunk.subarray(at));
        if (mine && !isHeldByHttp(socket)) reader.held();
        return;
      }
      const end = pieceEnd(chunk, at, reader.bodyAhead());
      parse.call(socket, at === 0 && end === chunk.length ? chunk : chunk.subarray(at, end));
      reader.parsed();
      at = end;
    }
  };
  socket.on('data', read);
  socket.off('data', parse);
}

function pieceEnd(chunk: Buffer, from: number, body: number): number {
  const found = chunk.indexOf(HEAD_END, from + Math.min(body, BODY_PIECE));
  return found < 0 ? chunk.length : found + HEAD_END.length;
}
