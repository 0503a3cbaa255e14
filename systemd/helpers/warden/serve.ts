import type { Server } from 'node:net';

/** A specification is a few KiB. */
const LONGEST_LINE = 65_536;
/** Milliseconds in which a request has to come. */
const LINE_MS = 10_000;
const MOST_CALLERS = 8;

/** A connection is one request and one answer, each a line of JSON; they are handled one after the other. Resolves after `idleMs` without a request. */
export async function serve(server: Server, answer: (line: string) => Promise<string>, idleMs = 60_000) {
  const over = Promise.withResolvers<void>();
  let row: Promise<unknown> = Promise.resolve();
  let waiting = 0;
  const idle = setTimeout(() => (waiting > 0 ? idle.refresh() : over.resolve()), idleMs);
  server.maxConnections = MOST_CALLERS;
  server.on('connection', (socket) => {
    idle.refresh();
    let text = '';
    socket.on('error', () => socket.destroy()).setTimeout(LINE_MS, () => socket.destroy());
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk;
      const end = text.indexOf('\n');
      if (end < 0 && text.length <= LONGEST_LINE) return;
      // No more of this caller: a flood waits in its own socket.
      socket.removeAllListeners('data').pause().setTimeout(0);
      waiting++;
      row = row.then(async () => {
        const long = end < 0 || end > LONGEST_LINE;
        socket.end(`${long ? '{"refused":"the request is too long"}' : await answer(text.slice(0, end))}\n`);
        socket.resume();
        idle.refresh();
        waiting--;
      });
    });
  });
  await over.promise;
  server.close();
}
