/** Clients that know nothing of us: what they bring for JSON-RPC 2.0 must be enough to call and to be called. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { leakCheck } from '@device-core/plugin-api/testing';
import jayson from 'jayson';
import {
  AbstractMessageReader,
  AbstractMessageWriter,
  type CancellationToken,
  CancellationTokenSource,
  createMessageConnection,
  type DataCallback,
  type Message,
} from 'vscode-jsonrpc/node';
import { pace } from '../../fixtures/eventually.ts';
import { APP, operation, startRpc, until } from './fixture.ts';

after(leakCheck());

const echo = operation('echo.say', async (params: object) => params);
let aborted = 0;
const hang = operation(
  'wait.forever',
  (_params: object, { signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        aborted++;
        reject(signal.reason);
      }),
    ),
);
const call = (signal?: AbortSignal) => ({
  method: 'agenda.add',
  params: { a: 2, b: 3 },
  meta: { callId: 'c1', version: '1.0.0', deadlineMs: 5_000, caller: 'operator' },
  ...(signal ? { signal } : {}),
});

test("jayson's TCP client, which makes a connection for each call, gets its answer after READY", async () => {
  await using core = await startRpc({ operations: [echo] });
  const client = jayson.Client.tcp({ path: core.path } as never);
  const ask = (method: string, params: object) =>
    new Promise<{ error?: { code: number }; result?: unknown }>((resolve, reject) => {
      client.request(method, params, (failure?: Error | null, error?: object, result?: unknown) => {
        if (failure) reject(failure);
        // It hands every message of the connection to the callback; READY is neither an error nor a result.
        else if (error) resolve({ error: error as { code: number } });
        else if (result !== undefined) resolve({ result });
      });
    });
  for (let i = 0; i < 6; i++) assert.deepEqual(await ask('echo.say', { i }), { result: { i } });
  assert.equal((await ask('no.such', {})).error?.code, -32601);
  await until(async () => (await core.sockets.sessions(APP)).length === 0);
});

test("jayson's client and server over one connection call and are called", async () => {
  await using core = await startRpc({ operations: [echo] });
  const socket = connect({ path: core.path });
  const pending = new Map<unknown, (failure: Error | null, response: string) => void>();
  const client = jayson.Client.browser(
    (request: string, callback: (failure: Error | null, response: string) => void) => {
      pending.set(JSON.parse(request).id, callback);
      socket.write(request);
    },
  );
  const server = new jayson.Server({
    'agenda.add': ({ a, b }: { a: number; b: number }, callback: (error: null, result: unknown) => void) =>
      callback(null, { sum: a + b }),
  } as never);
  let ready: unknown;
  jayson.Utils.parseStream(socket, {}, (failure, message) => {
    if (failure) throw failure;
    if (message.method === 'READY') ready = message.params;
    else if (message.method) server.call(message, (error, response) => socket.write(JSON.stringify(error ?? response)));
    else pending.get(message.id)?.(null, JSON.stringify(message));
  });
  await until(() => ready !== undefined);
  const answer = await new Promise((resolve, reject) =>
    client.request('echo.say', { text: 'hello' }, (failure?: unknown, _error?: unknown, result?: unknown) =>
      failure ? reject(failure) : resolve(result),
    ),
  );
  assert.deepEqual(answer, { text: 'hello' });
  assert.deepEqual(await core.sockets.call(APP, call()), { sum: 5 });
  socket.destroy();
});

class LineReader extends AbstractMessageReader {
  readonly #socket: ReturnType<typeof connect>;
  constructor(socket: ReturnType<typeof connect>) {
    super();
    this.#socket = socket;
  }
  listen(callback: DataCallback) {
    let rest = '';
    this.#socket.setEncoding('utf8').on('data', (chunk) => {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) callback(JSON.parse(line));
    });
    this.#socket.on('close', () => this.fireClose());
    return { dispose: () => this.#socket.removeAllListeners('data') };
  }
}

class LineWriter extends AbstractMessageWriter {
  readonly #socket: ReturnType<typeof connect>;
  constructor(socket: ReturnType<typeof connect>) {
    super();
    this.#socket = socket;
  }
  async write(message: Message) {
    this.#socket.write(`${JSON.stringify(message)}\n`);
  }
  end() {
    this.#socket.end();
  }
}

test("vscode-jsonrpc's connection calls, cancels, is notified and is called", async () => {
  await using core = await startRpc({ operations: [echo, hang] });
  const socket = connect({ path: core.path });
  const connection = createMessageConnection(new LineReader(socket), new LineWriter(socket));
  const ready = new Promise<{ app: string }>((resolve) => connection.onNotification('READY', resolve));
  connection.onRequest('agenda.add', ({ a, b }: { a: number; b: number }, _token: CancellationToken) => ({
    sum: a + b,
  }));
  connection.listen();
  assert.equal((await ready).app, APP);
  assert.deepEqual(await connection.sendRequest('echo.say', { text: 'hello' }), { text: 'hello' });
  await assert.rejects(connection.sendRequest('no.such'), { code: -32601 });
  assert.deepEqual(await core.sockets.call(APP, call()), { sum: 5 });
  await assert.rejects(core.sockets.call(APP, { ...call(), method: 'agenda.no' }), { code: 'APP_ERROR' });

  const source = new CancellationTokenSource();
  const waiting = connection.sendRequest('wait.forever', {}, source.token);
  void pace(20).then(() => source.cancel());
  await assert.rejects(waiting, { code: -32800 });
  assert.equal(aborted, 1);

  const event = new Promise((resolve) => connection.onNotification('event', resolve));
  await core.sockets.notify(APP, 'event', { topic: 'system.power' });
  assert.deepEqual(await event, { topic: 'system.power' });
  connection.dispose();
  socket.destroy();
});

const PYTHON = `
import json, socket, sys
peer = socket.socket(socket.AF_UNIX); peer.connect(sys.argv[1]); lines = peer.makefile('rw', encoding='utf8')
def send(**message): lines.write(json.dumps({'jsonrpc': '2.0', **message})); lines.flush()
ready = json.loads(lines.readline()); print(ready['method'], ready['params']['app'], flush=True)
send(id=1, method='echo.say', params={'text': 'Grüße'}); print(json.loads(lines.readline())['result']['text'], flush=True)
for line in lines:
    message = json.loads(line)
    if message['method'] == 'agenda.add': send(id=message['id'], result={'sum': sum(message['params'].values())})
    if message['method'] == 'stop': break
print('bye', flush=True)
`;

test('a Python script of ten lines calls, is called and stops when told', async () => {
  await using core = await startRpc({ operations: [echo] });
  const python = spawn('python3', ['-c', PYTHON, core.path], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, PYTHONIOENCODING: 'utf8' },
  });
  let output = '';
  python.stdout.setEncoding('utf8').on('data', (text) => {
    output += text;
  });
  const ended = once(python, 'close');
  await until(() => output.includes('Grüße'));
  assert.deepEqual(await core.sockets.call(APP, call()), { sum: 5 });
  await core.sockets.close(APP, 'enough');
  assert.equal((await ended)[0], 0);
  assert.equal(output, `READY ${APP}\nGrüße\nbye\n`);
});
