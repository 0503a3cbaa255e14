/** An app's end of its socket in the bench's own process: lines matched by id, any method, and nothing more. */
import { once } from 'node:events';
import { connect } from 'node:net';

export interface AppClient extends AsyncDisposable {
  call(method: string, params: object): Promise<unknown>;
}

export async function appClient(path: string): Promise<AppClient> {
  const socket = connect({ path });
  const pending = new Map<number, PromiseWithResolvers<unknown>>();
  const ready = Promise.withResolvers<void>();
  let last = 0;
  let rest: string[] = [];
  socket.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = chunk.split('\n');
    lines[0] = rest.join('') + lines[0]!;
    if (lines.length === 1) {
      rest.push(chunk);
      lines.length = 0;
    } else rest = [lines.pop()!];
    for (const line of lines) {
      const message = JSON.parse(line);
      if (message.method === 'READY') ready.resolve();
      const call = pending.get(message.id);
      pending.delete(message.id);
      if (message.error) call?.reject(new Error(message.error.message));
      else call?.resolve(message.result);
    }
  });
  await ready.promise;
  return {
    call(method, params) {
      const call = Promise.withResolvers<unknown>();
      pending.set(++last, call);
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: last, method, params })}\n`);
      return call.promise;
    },
    async [Symbol.asyncDispose]() {
      socket.destroy();
      await once(socket, 'close');
    },
  };
}
