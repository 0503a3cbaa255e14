/** The socket of a page: what it may open, and what becomes of a page that sends rubbish, floods, reads nothing or has no session any more. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import type { Caller } from '@device-core/plugin-api';
import type { PageSocket } from '@device-core/plugin-api/inside/services/http-server';
import type { HealthReport } from '@device-core/plugin-api/services/health';
import type { Operation, StreamEndpoint } from '@device-core/plugin-api/services/operations';
import { leakCheck } from '@device-core/plugin-api/testing';
import { type Bench, boot, sensitive } from './fixture.ts';

after(leakCheck());

const HOUR = 3_600_000;

interface Tab {
  readonly ended: Promise<unknown>;
  readonly said: object[];
  readonly closed: number[];
  /** Messages that the Core took. */
  taken(): number;
  say(message: unknown): void;
  end(): void;
}

/** `reads`: it takes what it is told. */
function tab(bench: Bench, caller: Caller, { reads = true } = {}): Tab {
  const waiting: string[] = [];
  const said: object[] = [];
  const closed: number[] = [];
  const over = new AbortController();
  let wake: (() => void) | undefined;
  let done = false;
  let taken = 0;
  const end = () => {
    done = true;
    over.abort();
    wake?.();
  };
  const socket: PageSocket = {
    caller,
    signal: over.signal,
    incoming: (async function* () {
      for (;;) {
        const next = waiting.shift();
        if (next !== undefined) {
          taken += 1;
          yield next;
        } else if (done) return;
        else {
          const { promise, resolve } = Promise.withResolvers<void>();
          wake = resolve;
          await promise;
        }
      }
    })(),
    send: async (message) => {
      if (over.signal.aborted) throw new Error('gone');
      if (!reads) {
        const { promise, reject } = Promise.withResolvers<void>();
        over.signal.addEventListener('abort', () => reject(new Error('gone')), { once: true });
        return promise;
      }
      said.push(typeof message === 'string' ? JSON.parse(message) : { bytes: message.length });
    },
    close: async (code) => {
      closed.push(code);
      end();
    },
  };
  const ended = bench.sockets.run(socket).then(
    () => 'in order',
    (thrown: unknown) => thrown,
  );
  return {
    ended,
    said,
    closed,
    end,
    taken: () => taken,
    say(message) {
      waiting.push(typeof message === 'string' ? message : JSON.stringify(message));
      wake?.();
    },
  };
}

const ticks: Operation<object, object> = {
  name: 'test.ticks',
  summary: 'ticks',
  params: { type: 'object', properties: {} },
  result: { type: 'object' },
  rest: { method: 'GET', path: '/test/ticks', sse: true },
  errors: [],
  async *run() {
    for (let at = 0; ; at += 1) yield { data: at };
  },
};
const lossesOf = ({ said }: Tab) => said.filter((one): one is { chunks: number } => 'lost' in one);
const asRow = (operation: object) => operation as Operation<never, unknown>;

describe('a page opens no more than what streams', () => {
  test('an operation for REST is not run: neither a sensitive one nor one that takes a file', async () => {
    const { done, row } = sensitive();
    const upload: Operation<{ readonly file: string }, object> = {
      name: 'test.upload',
      summary: 'upload',
      errors: [],
      rpc: false,
      params: { type: 'object', properties: { file: { type: 'string' } } },
      result: { type: 'object' },
      rest: { method: 'POST', path: '/test/uploads', raw: true },
      run: async (params) => {
        done.push(params);
        return {};
      },
    };
    await using bench = await boot({ rows: [row, asRow(upload), asRow(ticks)] });
    const { caller } = await bench.signIn();
    const page = tab(bench, caller);
    page.say({ open: 1, operation: 'test.remove', params: { id: 'x', check: true } });
    page.say({ open: 2, operation: 'test.upload', params: { file: '/etc/shadow' } });
    page.say({ open: 3, operation: 'test.nothing' });
    page.say({ open: 4, operation: 'test.ticks', credit: 2 });
    await bench.clock.advance(10);
    assert.deepEqual(done, []);
    const codes = page.said.flatMap((one) => ('error' in one ? [(one.error as { code: string }).code] : []));
    assert.deepEqual(codes.sort(), ['METHOD_NOT_FOUND', 'REQUEST_INVALID', 'REQUEST_INVALID']);
    assert.deepEqual(
      page.said.filter((one) => 'of' in one),
      [
        { of: 4, data: 0 },
        { of: 4, data: 1 },
      ],
    );
    page.end();
    assert.equal(await page.ended, 'in order');
  });

  test('a viewer opens what reads, and no stream that writes', async () => {
    const stream = (name: string, direction: 'read' | 'duplex'): StreamEndpoint<never> => ({
      name,
      summary: name,
      direction,
      params: { type: 'object', properties: {} },
      run: async () => undefined,
    });
    await using bench = await boot({ rows: [asRow(ticks)] });
    using _read = bench.table.addStream(stream('test.look', 'read'));
    using _both = bench.table.addStream(stream('test.talk', 'duplex'));
    const { caller } = await bench.signIn('viewer');
    const page = tab(bench, caller);
    page.say({ open: 1, operation: 'test.ticks', credit: 1 });
    page.say({ open: 2, stream: 'test.look' });
    page.say({ open: 3, stream: 'test.talk' });
    await bench.clock.advance(10);
    assert.deepEqual(
      page.said
        .filter((one) => 'closed' in one)
        .map((one) => [Reflect.get(one, 'closed'), Reflect.get(one, 'error')?.code]),
      [
        [2, undefined],
        [3, 'CALLER_DENIED'],
      ],
    );
    page.end();
    await page.ended;
  });
});

describe('a page is cut off for', () => {
  const RUBBISH: Readonly<Record<string, string>> = {
    'broken JSON': '{"open":1',
    'no object': '5',
    nothing: 'null',
    'no number': '{"operation":"test.ticks"}',
    'half a number': '{"open":1.5}',
    'a negative credit': '{"of":1,"credit":-5}',
    'a number that is a text': '{"open":"1"}',
    'data that are an object with a length': '{"send":1,"data":{"length":2147483647}}',
    'an operation that is an object': '{"open":1,"operation":{"a":1}}',
    'params that are a list': '{"open":1,"operation":"test.ticks","params":[]}',
    'a list of 32,000 lists': `${'['.repeat(32_000)}${']'.repeat(32_000)}`,
  };
  for (const [title, text] of Object.entries(RUBBISH))
    test(title, async () => {
      await using bench = await boot({ rows: [asRow(ticks)] });
      const { caller } = await bench.signIn();
      const page = tab(bench, caller);
      page.say(text);
      await bench.clock.advance(1);
      assert.equal(((await page.ended) as { code?: string }).code, 'REQUEST_INVALID');
    });
  test('a number that is open already', async () => {
    await using bench = await boot({ rows: [asRow(ticks)] });
    const { caller } = await bench.signIn();
    const page = tab(bench, caller);
    page.say({ open: 1, operation: 'test.ticks' });
    page.say({ open: 1, operation: 'test.ticks' });
    await bench.clock.advance(1);
    assert.equal(((await page.ended) as { code?: string }).code, 'REQUEST_INVALID');
  });
});

test('params as deep as a message can be are refused by their schema, and the page goes on', async () => {
  await using bench = await boot({ rows: [asRow(ticks)] });
  const { caller } = await bench.signIn();
  const page = tab(bench, caller);
  page.say(`{"open":1,"operation":"test.ticks","params":{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}}`);
  await bench.clock.advance(1);
  assert.equal((page.said[0] as { error?: { code: string } }).error?.code, 'PARAMS_INVALID');
  page.end();
  assert.equal(await page.ended, 'in order');
});

test('a page has sixteen streams open and is told of the next; one that floods and reads nothing is not read either', async () => {
  await using bench = await boot({ rows: [asRow(ticks)] });
  const { caller } = await bench.signIn();
  const page = tab(bench, caller);
  for (let id = 1; id <= 17; id += 1) page.say({ open: id, operation: 'test.ticks' });
  await bench.clock.advance(10);
  const busy = page.said.filter((one) => 'closed' in one) as { closed: number; error: { code: string } }[];
  assert.deepEqual(
    busy.map(({ closed, error }) => [closed, error.code]),
    [[17, 'BUSY']],
  );
  page.end();
  await page.ended;

  const deaf = tab(bench, caller, { reads: false });
  for (let id = 1; id <= 1_000; id += 1) deaf.say({ open: id, operation: 'test.ticks' });
  await bench.clock.advance(10);
  assert.ok(deaf.taken() <= 18, `${deaf.taken()} messages of a page that reads nothing were taken`);
  deaf.end();
  await deaf.ended;
});

test('writes of a page to a stream without a reader are bounded: the newest half megabyte is there, and every chunk that is lost is counted and told to the page', async () => {
  await using bench = await boot();
  const go = Promise.withResolvers<void>();
  const read: number[] = [];
  using _stream = bench.table.addStream({
    name: 'test.listen',
    summary: 'listen',
    direction: 'write',
    params: { type: 'object', properties: {} },
    async run(_params, { incoming }) {
      await go.promise;
      for await (const chunk of incoming) read.push(chunk.length);
    },
  } as StreamEndpoint<never>);
  const { caller } = await bench.signIn();
  const page = tab(bench, caller);
  page.say({ open: 1, stream: 'test.listen' });
  const data = Buffer.alloc(40_000).toString('base64');
  for (let times = 0; times < 200; times += 1) page.say({ send: 1, data });
  await bench.clock.advance(10);
  go.resolve();
  await bench.clock.advance(10);
  const bytes = read.reduce((sum, one) => sum + one, 0);
  assert.ok(bytes > 400_000 && bytes <= 512 * 1024, `${bytes} bytes`);
  // The first loss at once, and what was lost since a second later, in one message.
  await bench.clock.advance(1_000);
  assert.deepEqual(lossesOf(page), [
    { lost: 1, chunks: 1, bytes: 40_000 },
    { lost: 1, chunks: 200 - read.length - 1, bytes: 40_000 * (200 - read.length - 1) },
  ]);
  const told: (string | undefined)[] = [];
  const report = { add: (_: string, { message }: { message?: string }) => told.push(message), warn: assert.fail };
  await bench.host.hook('health.collect').promise(report as unknown as HealthReport);
  assert.equal(
    told[0],
    `1 tab; lost by pages that sent faster than was read: ${200 - read.length} chunks, ${40_000 * (200 - read.length)} bytes`,
  );
  await bench.clock.advance(10_000);
  assert.equal(lossesOf(page).length, 2, 'a page that loses no more is told no more');
  page.end();
  await page.ended;
});

test('many small chunks without a reader are lost and told likewise, the last of them before the stream is closed', async () => {
  await using bench = await boot();
  const go = Promise.withResolvers<void>();
  using _stream = bench.table.addStream({
    name: 'test.deaf',
    summary: 'deaf',
    direction: 'write',
    params: { type: 'object', properties: {} },
    run: () => go.promise,
  } as StreamEndpoint<never>);
  const { caller } = await bench.signIn();
  const page = tab(bench, caller);
  page.say({ open: 1, stream: 'test.deaf' });
  for (let times = 0; times < 300; times += 1) page.say({ send: 1, data: 'AAAA' });
  await bench.clock.advance(10);
  go.resolve();
  await bench.clock.advance(10);
  assert.deepEqual(page.said.slice(-2), [{ lost: 1, chunks: 43, bytes: 129 }, { closed: 1 }]);
  assert.equal(
    lossesOf(page).reduce((sum, { chunks }) => sum + chunks, 0),
    44,
  );
  page.end();
  await page.ended;
});

describe('a page whose session has ended', () => {
  test('is heard no more, with any message', async () => {
    await using bench = await boot({ rows: [asRow(ticks)] });
    const { caller, session } = await bench.signIn();
    const page = tab(bench, caller);
    await bench.sessions.revoke(session.id);
    page.say({ open: 1, operation: 'test.ticks', credit: 5 });
    await bench.clock.advance(1);
    assert.equal(((await page.ended) as { code?: string }).code, 'SESSION_NOT_FOUND');
    assert.deepEqual(page.said, []);
  });
  test('is cut after twelve hours, though it was open and in use for all of them', async () => {
    await using bench = await boot({ rows: [asRow(ticks)] });
    const { caller } = await bench.signIn();
    const page = tab(bench, caller);
    await bench.clock.advance(11 * HOUR);
    assert.deepEqual(page.closed, []);
    assert.equal((await bench.sessions.list()).length, 1);
    await bench.clock.advance(HOUR + 300_001);
    assert.deepEqual(page.closed, [4401]);
    await page.ended;
  });
});

test('a page beyond what the device takes is told so when it asks for its ticket', async () => {
  await using bench = await boot();
  const { caller } = await bench.signIn();
  const pages = Array.from({ length: 48 }, () => tab(bench, caller));
  await assert.rejects(bench.run('sessions.ticket', {}, caller), { code: 'BUSY' });
  pages[0]?.end();
  await pages[0]?.ended;
  await bench.run('sessions.ticket', {}, caller);
  for (const page of pages) page.end();
  await Promise.all(pages.map(({ ended }) => ended));
});

test('a viewer signs itself out, and no other', async () => {
  await using bench = await boot();
  const viewer = await bench.signIn('viewer');
  const other = await bench.signIn();
  await assert.rejects(bench.run('sessions.revoke', { id: other.session.id }, viewer.caller), {
    code: 'CALLER_DENIED',
  });
  await bench.run('sessions.revoke', { id: viewer.session.id }, viewer.caller);
  assert.deepEqual(
    (await bench.sessions.list()).map(({ id }) => id),
    [other.session.id],
  );
});
