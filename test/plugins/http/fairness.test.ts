/** One client that asks without end, or without reading, beside another that asks once. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { after, describe, it } from 'node:test';
import type { Operation } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import { Turns } from '../../../plugins/interface/http/turns.ts';
import { eventually } from '../../fixtures/eventually.ts';
import { startFront } from './front.ts';

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

describe('fairness of the REST front end', () => {
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
