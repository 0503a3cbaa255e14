/** A guest that asks a host for bytes, by its proxy or directly: `<count> <bytes> <bytes a second>` a line, answered with milliseconds, one for each. */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

const [host = '', port = '', way = ''] = process.argv.slice(2);

function opened(): Promise<Socket> {
  const { promise, resolve, reject } = Promise.withResolvers<Socket>();
  if (way === 'direct') {
    const socket = connect({ host: '127.0.0.1', port: Number(port), noDelay: true }, () => resolve(socket));
    socket.once('error', reject);
    return promise;
  }
  const { hostname, port: proxy } = new URL(process.env.HTTPS_PROXY ?? '');
  const socket = connect({ host: hostname, port: Number(proxy), noDelay: true });
  socket.once('error', reject);
  socket.write(`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
  socket.once('data', (answer) => {
    if (String(answer).includes(' 200 ')) resolve(socket);
    else reject(new Error(String(answer)));
  });
  return promise;
}

async function taken(bytes: number, rate: number): Promise<number> {
  const began = performance.now();
  const socket = await opened();
  socket.write(`${bytes} ${rate}\n`);
  let came = 0;
  socket.on('data', (chunk) => {
    came += chunk.length;
  });
  await new Promise((resolve, reject) => socket.once('end', resolve).once('error', reject));
  if (came !== bytes) throw new Error(`${came} of ${bytes} bytes came`);
  socket.destroy();
  return performance.now() - began;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [count = 1, bytes = 0, rate = 0] = line.split(' ').map(Number);
  const times: number[] = [];
  for (let round = 0; round < count; round++) times.push(await taken(bytes, rate));
  process.stdout.write(`${JSON.stringify(times)}\n`);
}
