import type { Server, Socket } from 'node:net';
import type { Heeding, SlotAnswer } from '@device-core/plugin-api/inside/slot-files';

export interface ServeOptions {
  /** Milliseconds without a request after which it is over. */
  readonly idleMs?: number;
  /** Milliseconds in which a request has to come. */
  readonly lineMs?: number;
  /** Ends it at once. */
  readonly signal?: AbortSignal;
}

/** Two paths and their names. */
const LONGEST_LINE = 8_192;
const MOST_CALLERS = 8;

type Answer = (line: string, heeding: Heeding) => Promise<SlotAnswer>;

/**
 * A connection is one request, lines of progress and one answer. Requests are heeded in their order; while a slot is
 * written others are heeded, too. A closed connection ends its staging. Resolves after `idleMs` without a request.
 */
export async function serve(
  server: Server,
  answer: Answer,
  { idleMs = 60_000, lineMs = 10_000, signal }: ServeOptions = {},
) {
  const over = Promise.withResolvers<void>();
  let busy = 0;
  const idle = setTimeout(() => (busy > 0 ? idle.refresh() : over.resolve()), idleMs);
  signal?.addEventListener('abort', () => over.resolve());
  server.maxConnections = MOST_CALLERS;
  server.on('connection', (socket) => {
    idle.refresh();
    let text = '';
    socket.on('error', () => socket.destroy()).setTimeout(lineMs, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0 && text.length <= LONGEST_LINE) return;
      // No more of this caller: what it sends now is thrown away.
      socket
        .removeAllListeners('data')
        .on('data', () => undefined)
        .setTimeout(0);
      busy++;
      const long = end < 0 || end > LONGEST_LINE;
      const answered = long
        ? Promise.resolve({ failed: 'the request is too long' })
        : heed(socket, text.slice(0, end), answer);
      void answered.then((told) => {
        socket.end(`${JSON.stringify(told)}\n`);
        idle.refresh();
        busy--;
      });
    });
  });
  await over.promise;
  clearTimeout(idle);
  server.close();
}

function heed(socket: Socket, line: string, answer: Answer): Promise<SlotAnswer> {
  const gone = new AbortController();
  socket.on('close', () => gone.abort());
  const progress = (told: { readonly done: number; readonly of: number }): void => {
    // A caller that does not read misses progress lines; they are not kept.
    if (!socket.writableNeedDrain) socket.write(`${JSON.stringify({ progress: told })}\n`);
  };
  return answer(line, { progress, signal: gone.signal });
}
