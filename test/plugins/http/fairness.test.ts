/** One client that asks without end, or without reading, beside another that asks once. */
import assert from 'node:assert/strict';
import { channel } from 'node:diagnostics_channel';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import { type DoorAnswer, httpServer } from '@device-core/plugin-api/inside/services/http-server';
import type { Operation } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE, leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { Turns } from '../../../plugins/interface/http/turns.ts';
import { REQUESTS, SHARE, threadMs } from '../../../plugins/interface/shared/loop-share.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { runs } from '../../fixtures/runs.ts';
import { type AskOptions, FLASH, type Front, PLAIN, startFront } from './front.ts';

after(leakCheck());

const BIG = 'x'.repeat(400_000);

/** Rows that count how often they ran. */
function counting() {
  const ran: string[] = [];
  const row = (name: string, path: string, answer: object): Operation<{ readonly n?: string }, unknown> => ({
    name,
    summary: name,
    anonymous: true,
    params: { type: 'object', properties: { n: { type: 'string' } } },
    result: { type: 'object' },
    rest: { method: 'GET', path },
    errors: [],
    run: async ({ n = '' }) => {
      ran.push(`${name}${n}`);
      return { n, ...answer };
    },
  });
  return { ran, rows: [row('test.small', '/small', {}), row('test.big', '/big', { big: BIG })] as never };
}

const request = (path: string, more = '') => `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${more}\r\n`;

async function open(path: string): Promise<Socket> {
  const socket = connect(path);
  await once(socket, 'connect');
  return socket;
}

/** How many requests of each connection Node's parser has made so far. */
function parsedRequests() {
  const counts = new Map<object, number>();
  const count = (message: unknown) => {
    const { socket } = message as { readonly socket: object };
    counts.set(socket, (counts.get(socket) ?? 0) + 1);
  };
  const started = channel('http.server.request.start');
  started.subscribe(count);
  return { counts, [Symbol.dispose]: () => void started.unsubscribe(count) };
}

/** A row that answers when it may, with what came in the body. */
function gated() {
  const gate = Promise.withResolvers<void>();
  const row: Operation<{ readonly text?: string }, unknown> = {
    name: 'test.echo',
    summary: 'echo',
    anonymous: true,
    params: { type: 'object', properties: { text: { type: 'string' } } },
    result: { type: 'object' },
    rest: { method: 'POST', path: '/echo' },
    errors: [],
    run: async ({ text = '' }) => {
      await gate.promise;
      return { text };
    },
  };
  return { rows: [row] as never, open: gate.resolve };
}

const JSON_BODY = 'content-type: application/json\r\n';
const sized = (text: string) => {
  const body = JSON.stringify({ text });
  return `POST /echo HTTP/1.1\r\nhost: localhost\r\n${JSON_BODY}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
};
const chunked = (text: string) => {
  const body = JSON.stringify({ text });
  const chunks = [body.slice(0, 3), body.slice(3)].map(
    (part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`,
  );
  return `POST /echo HTTP/1.1\r\nhost: localhost\r\n${JSON_BODY}transfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`;
};
const textsIn = (answers: string) =>
  [...answers.matchAll(/"text":("(?:[^"\\]|\\.)*")/g)].map(([, text]) => JSON.parse(text!));

/** A row that takes so many milliseconds of the processor. */
const DEAR: Operation<{ readonly ms: number }, unknown> = {
  name: 'test.dear',
  summary: 'dear',
  anonymous: true,
  params: { type: 'object', properties: { ms: { type: 'integer' }, pad: { type: 'string' } } },
  result: { type: 'object' },
  rest: { method: 'POST', path: '/dear' },
  errors: [],
  run: async ({ ms }) => {
    for (const end = threadMs() + ms; threadMs() < end; );
    return {};
  },
};
/** Characters of a body that comes after its head. */
const LONG = 200_000;

/** It counts turns of the event loop in which the plugin runs, and that is this one only inline. */
const skip = process.env[ISOLATION_VARIABLE] ? 'another thread has another event loop' : false;

describe('a share of the event loop over REST', { skip }, () => {
  type Ask = Pick<AskOptions, 'token' | 'unix'>;
  const CALLERS: readonly (readonly [title: string, ask: (front: Front) => Promise<Ask>, pad?: number])[] = [
    ['an app by its token', async ({ identity }) => ({ token: await identity.issue(FLASH) })],
    ['an app with long bodies', async ({ identity }) => ({ token: await identity.issue(FLASH) }), LONG],
    ['the operator at the socket', async () => ({ unix: true })],
    ['a caller without a name', async () => ({})],
    [
      'a page of the operator',
      async ({ sessions }) => {
        const { code } = await sessions.invite('operator');
        return { token: (await sessions.open(code, 'Browser')).token };
      },
    ],
  ];
  for (const [title, askOf, pad = 0] of CALLERS)
    it(`makes ${title} wait that took more, on every connection, and no one else`, async () => {
      const clock = new VirtualClock();
      await using front = await startFront([DEAR] as never, {}, clock);
      const own = await askOf(front);
      const other = { token: await front.identity.issue(PLAIN) };
      const ask = (by: Ask, ms: number) => front.ask('/dear', { ...by, body: { ms, pad: 'x'.repeat(pad) } });
      await ask(own, REQUESTS.savedMs + 60);
      let isAnswered = false;
      const again = ask(own, 0).then(({ status }) => {
        isAnswered = true;
        return status;
      });
      for (let n = 0; n < 3; n++) assert.equal((await ask(other, 0)).status, 200);
      assert.equal(isAnswered, false, 'a request came before its caller had paid');
      await clock.advance(SHARE.owedMs / REQUESTS.perMs);
      assert.equal(await again, 200);
    });

  it('makes a client of a door wait that took more, and no other client', async () => {
    const clock = new VirtualClock();
    await using front = await startFront([], {}, clock);
    using _door = front.host.service(httpServer).door('/own', async ({ turn, token, body }): Promise<DoorAnswer> => {
      await turn(token!);
      await DEAR.run(body as never, undefined as never);
      return { status: 200, json: {} };
    });
    const ask = (token: string, ms: number) => front.ask('/own', { token, body: { ms } });
    await eventually(async () => (await ask('a', 0)).status === 200, 'the door');
    await ask('a', REQUESTS.savedMs + 60);
    let isAnswered = false;
    const again = ask('a', 0).then(() => {
      isAnswered = true;
    });
    for (let n = 0; n < 3; n++) await ask('b', 0);
    assert.equal(isAnswered, false);
    await clock.advance(SHARE.owedMs / REQUESTS.perMs);
    await again;
  });
});

describe('fairness of the REST front end', { skip }, () => {
  const floods: readonly (readonly [what: string, request: string, ahead: number])[] = [
    ['requests without a body', 'POST /echo HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n', 2],
    ['short requests', 'GET /x HTTP/1.1\r\nhost: a\r\n\r\n', 2],
    ['requests with a body', sized('hello'), 2],
    ['requests with a chunked body', chunked('hello'), 30],
  ];
  for (const [what, request, ahead] of floods)
    it(`parses few ${what} ahead of the answers`, async () => {
      const { rows, open: release } = gated();
      using parsed = parsedRequests();
      await using front = await startFront(rows, { tcp: false });
      const sockets = await Promise.all([1, 2, 3].map(() => open(front.socket)));
      for (const socket of sockets) socket.resume().write(sized('first') + request.repeat(1_500));
      await eventually(() => parsed.counts.size === 3, 'each connection has a request');
      for (let n = 0; n < 3; n++) await front.ask('/nothing', { unix: true });
      const most = Math.max(...parsed.counts.values());
      assert.ok(most <= ahead, `${most} requests of one connection are parsed and none is answered`);
      for (const socket of sockets) socket.destroy();
      release();
    });

  it('answers every request once and in order, however its bytes are cut', async () => {
    const { rows, open: release } = gated();
    release();
    await using front = await startFront(rows, { tcp: false });
    const message = fc.record({
      text: fc.constantFrom('a', '', '\r\n\r\n', '\r\n\r\n'.repeat(400), 'é'.repeat(900)),
      form: fc.constantFrom(sized, chunked),
    });
    const cuts = fc.array(fc.nat({ max: 2_000 }), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(fc.array(message, { minLength: 1, maxLength: 12 }), cuts, async (messages, lengths) => {
        const socket = await open(front.socket);
        const answers = text(socket);
        const last = 'GET /none HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n';
        let bytes = Buffer.from(messages.map(({ text, form }) => form(text)).join('') + last);
        for (const length of lengths) {
          if (bytes.length <= length) break;
          socket.write(bytes.subarray(0, length));
          bytes = bytes.subarray(length);
          await new Promise(setImmediate);
        }
        if (bytes.length > 0) socket.write(bytes);
        assert.deepEqual(
          textsIn(await answers),
          messages.map(({ text }) => text),
        );
      }),
      { numRuns: runs(400) },
    );
  });

  it('answers requests that came down one connection at once, all of them and in order', async () => {
    const { rows } = counting();
    await using front = await startFront(rows, { tcp: false });
    const socket = await open(front.socket);
    const count = 300;
    const all = Array.from({ length: count }, (_, n) =>
      request(`/small?n=${n}`, n === count - 1 ? 'connection: close\r\n' : ''),
    );
    socket.write(all.join(''));
    const answers = [...(await text(socket)).matchAll(/"n":"(\d+)"/g)].map(([, n]) => Number(n));
    assert.deepEqual(
      answers,
      Array.from({ length: count }, (_, n) => n),
    );
  });

  it('serves who asks once before the thousands of requests of another', async () => {
    const { ran, rows } = counting();
    await using front = await startFront(rows, { tcp: false });
    const floods = await Promise.all([1, 2, 3].map(() => open(front.socket)));
    for (const socket of floods) {
      socket.resume();
      socket.write(request('/small?n=flood').repeat(1_000));
    }
    const innocent = await open(front.socket);
    await eventually(() => ran.length > 20, 'the flood is served');
    innocent.write(request('/small?n=me', 'connection: close\r\n'));
    assert.match(await text(innocent), /"n":"me"/);
    const before = ran.indexOf('test.smallme');
    assert.ok(before < 1_500, `${before} of 3,000 requests of the flood came first`);
    for (const socket of floods) socket.destroy();
  });

  it('makes no answer for a client before it has taken the last one, and forgets what waits when it goes', async () => {
    const { ran, rows } = counting();
    await using front = await startFront(rows, { tcp: false, stallTimeoutMs: 60_000 });
    const sockets = await Promise.all(Array.from({ length: 10 }, () => open(front.socket)));
    for (const socket of sockets) socket.pause().write(request('/big').repeat(200));
    await eventually(() => ran.length >= 10, 'each client has one answer');
    const innocent = await open(front.socket);
    innocent.write(request('/small?n=me', 'connection: close\r\n'));
    assert.match(await text(innocent), /"n":"me"/);
    const bigs = () => ran.filter((name) => name.startsWith('test.big')).length;
    assert.ok(bigs() <= 60, `${bigs()} large answers were made for clients that read none`);
    for (const socket of sockets) socket.destroy();
    await front.ask('/small', { unix: true });
    const made = bigs();
    await front.ask('/small', { unix: true });
    assert.equal(bigs(), made, 'work of clients that went goes on');
  });

  it('serves callers in turns, however many connections one of them has', async () => {
    const served: string[] = [];
    const callers = new Map<unknown, object | undefined>();
    const turns = new Turns(
      ({ url }, response) => {
        served.push(url!);
        response.emit('close');
      },
      (socket) => callers.get(socket),
    );
    const ask = (name: string, caller: object | undefined) => {
      const socket = Object.assign(new EventEmitter(), { pause: () => socket, resume: () => socket });
      callers.set(socket, caller);
      turns.take({ socket, url: name } as never, new EventEmitter() as never);
    };
    const [flood, modest] = [{}, {}];
    for (let n = 0; n < 100; n++) {
      ask('flood', flood);
      ask('new', undefined);
    }
    ask('modest', modest);
    while (served.length < 201) await new Promise(setImmediate);
    assert.ok(served.indexOf('modest') <= 7, `${served.indexOf('modest')} of 200 requests of others came first`);
  });

  it('cuts the connection with the most requests where too many wait', () => {
    const cut: string[] = [];
    const turns = new Turns(() => undefined); // nothing is ever answered
    const client = (name: string) => {
      const socket = Object.assign(new EventEmitter(), {
        pause: () => socket,
        resume: () => socket,
        destroy: () => {
          cut.push(name);
          socket.emit('close');
        },
      });
      return () => turns.take({ socket } as never, new EventEmitter() as never);
    };
    const [modest, flood] = [client('modest'), client('flood')];
    for (let n = 0; n < 1_500; n++) modest();
    for (let n = 0; n < 2_502; n++) flood();
    assert.deepEqual(cut, []);
    assert.equal(turns.waiting, 4_000);
    flood();
    assert.deepEqual(cut, ['flood']);
    assert.deepEqual([turns.waiting, turns.flooded], [1_499, 1]);
  });
});
