/** A host in the net: to `<bytes> <rate>\n` it answers with so many, so many a second (0: as they go), and ends. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

const CHUNK = Buffer.alloc(64 * 1024, 'x');
const server = createServer((socket) => {
  socket.on('error', () => socket.destroy());
  socket.once('data', async (asked) => {
    const [bytes = 0, rate = 0] = String(asked).split(' ').map(Number);
    const began = performance.now();
    for (let sent = 0; sent < bytes && !socket.destroyed; sent += CHUNK.length) {
      const ahead = rate === 0 ? 0 : (sent / rate) * 1_000 - (performance.now() - began);
      if (ahead > 1) await pause(ahead);
      if (!socket.write(CHUNK.subarray(0, bytes - sent))) await once(socket, 'drain').catch(() => undefined); // it went away
    }
    socket.end();
  });
});
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as { port: number }).port }));
process.on('disconnect', () => process.exit(0));
