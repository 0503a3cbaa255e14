/** An app that answers a large call without reading it: what is left is the cost of the Core. `node rpc-mover.ts <socket>` */
import { connect } from 'node:net';

const NEWLINE = 10;

/** Tells each line by its first bytes, once its newline has come. */
export function onLine(path: string, heard: (head: string, write: (text: string) => void) => void): void {
  const socket = connect({ path });
  let head = '';
  socket.on('data', (chunk: Buffer) => {
    if (head === '') head = chunk.toString('latin1', 0, Math.min(chunk.length, 256));
    if (chunk.at(-1) !== NEWLINE) return;
    const line = head;
    head = '';
    heard(line, (text) => socket.write(`${text}\n`));
  });
}

if (import.meta.main) {
  process.once('disconnect', () => process.exit());
  const functions = [
    { name: 'bench.answer', version: '1.0.0', inputs: { text: 'string' }, returns: { text: 'string' } },
  ];
  onLine(process.argv[2]!, (head, write) => {
    const call = /"id":("core-\d+"),"method":"bench\.answer"/.exec(head)?.[1];
    if (call) write(`{"jsonrpc":"2.0","id":${call},"result":{"text":"taken"}}`);
    else if (head.includes('"READY"'))
      write(
        JSON.stringify({
          jsonrpc: '2.0',
          id: 1,
          method: 'functions.register',
          params: { app: 'com.example.b', functions },
        }),
      );
    else if (head.includes('"id":1,')) process.send?.('ready');
  });
}
