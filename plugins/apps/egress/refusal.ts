/** Answers to an app whose request is refused or fails. */
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';

/** Longest reason in the first line: clients show that line, and little else (Python's urllib, Node's https). */
const MOST_PHRASE = 400;
/** Limits for the rest of a request that was refused in its middle: bytes, and time. */
const MOST_UNHEARD = 4 << 20;
const UNHEARD_MS = 1_000;

export function errorOf(thrown: unknown): CoreError {
  return thrown instanceof CoreError ? thrown : new CoreError('UNAVAILABLE', { what: 'it', reason: reasonOf(thrown) });
}

/** A client that hears nothing else hears why in the first line. */
function phraseOf(error: CoreError): string {
  return error
    .toWire()
    .replaceAll(/[^\x20-\x7e]/g, '?')
    .slice(0, MOST_PHRASE);
}

function bodyOf(error: CoreError): string {
  return `${JSON.stringify({ ok: false, error: error.toWire(), details: error.details })}\n`;
}

/**
 * To a request that no parser owns any more (CONNECT), or that could not be read. `listening`: for so long what it goes
 * on to say is thrown away, as who is cut off in the middle of its words does not hear the answer.
 */
export function refuseSocket(socket: Socket, error: CoreError, listening?: Scope): void {
  const body = bodyOf(error);
  if (!socket.writable) {
    socket.destroy();
    return;
  }
  socket.end(
    [
      `HTTP/1.1 ${error.status} ${phraseOf(error)}`,
      ...['Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`, 'Connection: close'],
      '',
      body,
    ].join('\r\n'),
    () => {
      if (listening === undefined) socket.destroy();
    },
  );
  if (listening === undefined) return;
  const before = socket.bytesRead;
  socket.on('data', () => {
    if (socket.bytesRead - before > MOST_UNHEARD) socket.destroy();
  });
  const late = listening.timeout('the end of a refused request', UNHEARD_MS, () => void socket.destroy());
  socket.once('close', () => late[Symbol.dispose]());
}

export function refuseResponse(response: ServerResponse, error: CoreError): void {
  if (response.headersSent) {
    response.destroy(); // the answer is cut: there is no other way to say it
    return;
  }
  const body = bodyOf(error);
  const headers = ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(body))];
  response.writeHead(error.status, phraseOf(error), headers);
  response.end(body);
}
