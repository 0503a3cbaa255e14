/** Files and WebSockets that another plugin serves on the origin of the Core. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { after, describe, test } from 'node:test';
import { type Caller, CoreError } from '@device-core/plugin-api';
import { httpServer, type PageSocket } from '@device-core/plugin-api/inside/services/http-server';
import { ISOLATION_VARIABLE, leakCheck } from '@device-core/plugin-api/testing';
import { WebSocket } from 'ws';
import { eventually } from '../../fixtures/eventually.ts';
import { type Front, startFront } from './front.ts';

after(leakCheck());

const FILES: Readonly<Record<string, string>> = { '': '<!doctype html>', 'app/main.ts': 'export const one = 1;' };

function mounted(front: Front): Disposable {
  return front.host.service(httpServer).mount('/ui/', async ({ path, ifNoneMatch }) => {
    const text = FILES[path];
    if (text === undefined) return { status: 404, type: 'text/plain', body: Buffer.from('no such file') };
    if (ifNoneMatch === '"1"') return { status: 304, type: '', body: new Uint8Array(), headers: { etag: '"1"' } };
    return {
      status: 200,
      type: 'text/html',
      body: Buffer.from(text),
      headers: { etag: '"1"', 'x-frame-options': 'DENY' },
    };
  });
}

describe('files below a prefix', () => {
  for (const [title, path, options, status, text] of [
    ['are served', '/ui/app/main.ts', {}, 200, FILES['app/main.ts']],
    ['begin with the prefix itself', '/ui/', {}, 200, FILES['']],
    ['are served over the Unix socket, too', '/ui/', { unix: true }, 200, FILES['']],
    ['are decoded', '/ui/app/m%61in.ts', {}, 200, FILES['app/main.ts']],
    ['are not sent again to who has them', '/ui/', { headers: { 'if-none-match': '"1"' } }, 304, ''],
    ['are missing where they are not', '/ui/nothing', {}, 404, 'no such file'],
    ['have no way out', '/ui/app/..%2f..%2fetc%2fpasswd', {}, 404, undefined],
    ['have no way out by two dots', '/ui/%2e%2e/health', {}, 404, undefined],
    ['are no operations', '/ui/', { method: 'POST', body: {} }, 405, undefined],
    ['are not for a foreign page', '/ui/', { headers: { origin: 'http://evil.example' } }, 403, undefined],
    ['are not for a rebound name', '/ui/', { headers: { host: 'evil.example' } }, 403, undefined],
  ] as const)
    test(title, async () => {
      await using front = await startFront();
      using _mount = mounted(front);
      const answer = await front.ask(path, options);
      assert.equal(answer.status, status);
      if (text !== undefined) assert.equal(answer.text, text);
      if (status === 200) assert.equal(answer.headers['x-frame-options'], 'DENY');
    });
  test('go with who mounted them, and a prefix is mounted once', async () => {
    await using front = await startFront();
    const mount = mounted(front);
    // From another thread the refusal is told in the log alone.
    if (!process.env[ISOLATION_VARIABLE]) assert.throws(() => mounted(front), { code: 'PARAMS_INVALID' });
    if (!process.env[ISOLATION_VARIABLE])
      assert.throws(() => front.host.service(httpServer).mount('ui', async () => never()), { code: 'PARAMS_INVALID' });
    mount[Symbol.dispose]();
    assert.equal((await front.ask('/ui/', { token: front.operatorToken })).status, 404);
  });
});

function never(): never {
  throw new Error('nobody asks');
}

/** A page that says its ticket, and hears what it says. */
async function live(front: Front, run: (socket: PageSocket) => Promise<void>) {
  const upgrade = front.host.service(httpServer).upgrade('/ui/live', 'device.v1', {
    admit: ([ticket = '']) => front.sessions.redeem(ticket),
    run,
  });
  const signIn = async () => {
    const { token, session } = await front.sessions.open((await front.sessions.invite('viewer')).code, 'a test');
    return { token, session, caller: await front.identity.authenticate({ transport: 'tcp', token }) };
  };
  const { token, session, caller } = await signIn();
  const open = async (options: { readonly ticket?: string; readonly origin?: string; readonly as?: Caller } = {}) => {
    const ticket = options.ticket ?? (await front.sessions.ticket(options.as ?? caller)).ticket;
    const origin = options.origin ?? `http://127.0.0.1:${front.port}`;
    return new WebSocket(`ws://127.0.0.1:${front.port}/ui/live`, ['device.v1', ticket], { origin });
  };
  return { session, token, open, signIn, [Symbol.dispose]: () => upgrade[Symbol.dispose]() };
}

const echo = async ({ incoming, send, caller }: PageSocket): Promise<void> => {
  for await (const text of incoming) await send(`${caller.signedIn?.role}: ${text}`);
};

/** Status of the answer to who was not admitted. */
async function refused(socket: WebSocket): Promise<number | undefined> {
  socket.on('error', () => undefined); // the answer is what counts
  const [, response] = await once(socket, 'unexpected-response');
  response.resume();
  return response.statusCode;
}

describe('a WebSocket', () => {
  test('is opened with a ticket, and hears and speaks as who asked for it', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    const socket = await page.open();
    await once(socket, 'open');
    assert.equal(socket.protocol, 'device.v1');
    socket.send('hello');
    const [data] = await once(socket, 'message');
    assert.equal(String(data), 'viewer: hello');
    socket.close();
    await once(socket, 'close');
  });
  test('is refused to a foreign page, without a ticket, and with one that was used', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    assert.equal(await refused(await page.open({ origin: 'http://evil.example' })), 403);
    assert.equal(await refused(await page.open({ ticket: 'A'.repeat(43) })), 401);
    const caller = await front.identity.authenticate({ transport: 'tcp', token: page.token });
    const { ticket } = await front.sessions.ticket(caller);
    const rebound = new WebSocket(`ws://127.0.0.1:${front.port}/ui/live`, ['device.v1', ticket], {
      headers: { host: 'evil.example' },
    });
    assert.equal(await refused(rebound), 403);
    const first = await page.open({ ticket });
    await once(first, 'open');
    assert.equal(await refused(await page.open({ ticket })), 401);
    first.terminate();
    const other = new WebSocket(`ws://127.0.0.1:${front.port}/elsewhere`, ['device.v1']);
    assert.equal(await refused(other), 404);
  });
  test('ends at once when its session is revoked, and its connections with it', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    const socket = await page.open();
    await once(socket, 'open');
    const closed = once(socket, 'close');
    await front.sessions.revoke(page.session.id);
    assert.equal((await closed)[0], 4401);
    assert.equal((await front.ask('/nothing', { token: page.token })).status, 401);
  });
  test('is closed with who served it, so that its page comes back to the next', async () => {
    await using front = await startFront();
    const page = await live(front, echo);
    const socket = await page.open();
    await once(socket, 'open');
    const closed = once(socket, 'close');
    page[Symbol.dispose]();
    assert.equal((await closed)[0], 1012);
  });
  test('that does not read makes its sender wait, and costs no other', async () => {
    await using front = await startFront();
    let sent = 0;
    using page = await live(front, async ({ send, signal }) => {
      while (!signal.aborted) {
        await send(Buffer.alloc(64 * 1024));
        sent += 1;
      }
    });
    const socket = await page.open();
    await once(socket, 'open');
    socket.pause();
    // It stands still once the buffers of both ends are full.
    let last = -1;
    await eventually(
      () => {
        const stands = sent > 0 && sent === last;
        last = sent;
        return stands;
      },
      'an end of what is sent',
      { every: 100 },
    );
    assert.ok(sent * 64 < 64 * 1024, `${sent} messages were taken for a page that reads none`);
    socket.terminate();
  });
  test('is one of four at most of one session, and takes no place of another session', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    const mine = await Promise.all(Array.from({ length: 4 }, () => page.open()));
    await Promise.all(mine.map((socket) => once(socket, 'open')));
    assert.equal(await refused(await page.open()), 429);
    const other = await page.open({ as: (await page.signIn()).caller });
    await once(other, 'open');
    for (const socket of [...mine, other]) socket.terminate();
  });
  test('is one of 64 at most, though 200 come at once; the others are told, and there is room again when one leaves', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    const callers: Caller[] = [];
    for (let n = 0; n < 20; n++) callers.push((await page.signIn()).caller);
    const tickets = await Promise.all(Array.from({ length: 200 }, (_, n) => page.open({ as: callers[n % 20]! })));
    const met = await Promise.all(
      tickets.map(
        (socket) =>
          new Promise<number>((resolve) => {
            socket.on('open', () => resolve(101));
            socket.on('error', () => undefined); // the answer is what counts
            socket.on('unexpected-response', (_, response) => {
              response.resume();
              resolve(response.statusCode ?? 0);
            });
          }),
      ),
    );
    assert.equal(met.filter((status) => status === 101).length, 64);
    assert.deepEqual([...new Set(met)].sort(), [101, 429]);
    const open = tickets.filter(({ readyState }) => readyState === WebSocket.OPEN);
    const closed = once(open[0]!, 'close');
    open[0]?.close();
    await closed;
    const next = await eventually(async () => {
      const socket = await page.open();
      socket.on('error', () => undefined);
      const [status] = await Promise.race([once(socket, 'open').then(() => [101]), once(socket, 'close')]);
      return status === 101 ? socket : undefined;
    }, 'room for a page');
    for (const socket of [...open, next]) socket.terminate();
  });
  test('of a session that has ended is heard no more, though it never answers the close', async () => {
    await using front = await startFront();
    const heard: string[] = [];
    const over = Promise.withResolvers<void>();
    using page = await live(front, async ({ incoming }) => {
      for await (const text of incoming) heard.push(text);
      over.resolve();
    });
    const socket = await page.open();
    await once(socket, 'open');
    socket.pause();
    await front.sessions.revoke(page.session.id);
    socket.send('one more');
    await over.promise;
    assert.deepEqual(heard, []);
    socket.terminate();
  });
  test('is answered its pings', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    const socket = await page.open();
    await once(socket, 'open');
    const pong = once(socket, 'pong');
    socket.ping('x');
    assert.equal(String((await pong)[0]), 'x');
    socket.terminate();
  });
  test('takes text alone, and no message above its limit', async () => {
    await using front = await startFront();
    using page = await live(front, echo);
    for (const [message, code] of [
      [Buffer.from('bytes'), 1003],
      ['x'.repeat(64 * 1024 + 1), 1009],
    ] as const) {
      const socket = await page.open();
      await once(socket, 'open');
      socket.send(message);
      const [closed] = await once(socket, 'close');
      assert.equal(closed, code);
    }
  });
  test('ends with the plugin that serves it, and with an error of it', async () => {
    await using front = await startFront();
    using page = await live(front, async () => {
      throw new CoreError('UNAVAILABLE', { what: 'it', reason: 'no more' });
    });
    const socket = await page.open();
    const [code, reason] = await once(socket, 'close');
    assert.deepEqual([code, String(reason)], [4500, 'cannot reach it: no more']);
  });
});

test('a request for an unknown protocol is answered in HTTP', async () => {
  await using front = await startFront();
  const headers = { upgrade: 'h2c', connection: 'Upgrade, HTTP2-Settings', 'http2-settings': 'AAMAAABkAAQAAP__' };
  assert.equal((await front.ask('/nothing', { headers, token: front.operatorToken })).status, 404);
});

test('a viewer may look and sign in, and change nothing', async () => {
  const row = (name: string, method: 'GET' | 'POST') => ({
    name,
    summary: name,
    params: { type: 'object' },
    result: { type: 'object' },
    errors: [],
    rest: { method, path: `/${name.replace('.', '/')}` },
    run: async () => ({ done: true }),
  });
  await using front = await startFront([row('kettle.look', 'GET'), row('kettle.boil', 'POST')]);
  const signIn = async (role: 'viewer' | 'operator') =>
    (await front.sessions.open((await front.sessions.invite(role)).code, 'a test')).token;
  const viewer = await signIn('viewer');
  const operator = await signIn('operator');
  assert.equal((await front.ask('/kettle/look', { token: viewer })).status, 200);
  const denied = await front.ask('/kettle/boil', { method: 'POST', body: {}, token: viewer });
  assert.equal(denied.status, 403);
  assert.match(denied.body.error, /^CALLER_DENIED: cannot call kettle.boil: this page signed in as a viewer/);
  assert.equal((await front.ask('/kettle/boil', { method: 'POST', body: {}, token: operator })).status, 200);
});
