import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type CallContext, CoreError, LazyAbort, WHEN_ABORTED } from '@device-core/plugin-api';
import { Schemas } from '@device-core/plugin-api/inside/operations';
import type { Invocation, OperationInfo, StreamChannel } from '@device-core/plugin-api/services/operations';
import { ISOLATION_VARIABLE, leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { eventually, pace, turns } from '../../fixtures/eventually.ts';
import { ANONYMOUS, call, FLASH, OPERATOR, operation, PLAIN, start } from './helpers.ts';

after(leakCheck());

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const code =
  (expected: string, text = '') =>
  (thrown: unknown) => {
    assert.ok(thrown instanceof CoreError, String(thrown));
    assert.equal(thrown.code, expected, thrown.message);
    assert.ok(thrown.message.includes(text), thrown.message);
    return true;
  };

describe('the gate', () => {
  it('hands params with defaults to the handler and its result to the caller', async () => {
    await using fixture = await start();
    fixture.table.add(operation());
    assert.deepEqual(await fixture.table.invoke('test.echo', { text: 'hi' }, call()), { text: 'hi', times: 1 });
  });

  it('waits for an answer that may still be anything, as those of plugins in workers and processes may', async () => {
    await using fixture = await start();
    const hybrid = (value: unknown) =>
      Object.assign(Promise.resolve(value), { [Symbol.asyncIterator]: () => assert.fail('it is not one') });
    fixture.table.add(operation({ run: () => hybrid({ text: 'hi' }) as never }));
    assert.deepEqual(await fixture.table.invoke('test.echo', { text: 'x' }, call()), { text: 'hi' });
    async function* items() {
      yield 1;
      yield 2;
    }
    fixture.table.add(operation({ name: 'test.items', rest: undefined, run: () => hybrid(items()) as never } as never));
    const stream = (await fixture.table.invoke('test.items', { text: 'x' }, call())) as AsyncIterable<number>;
    const seen: number[] = [];
    for await (const item of stream) seen.push(item);
    assert.deepEqual(seen, [1, 2]);
  });

  const WRONG: readonly (readonly [unknown, string])[] = [
    [{}, 'text: is required'],
    [undefined, 'text: is required'],
    [null, 'text: is required'],
    [[], 'params: must be object'],
    ['text', 'params: must be object'],
    [{ text: 1 }, 'text: must be string'],
    [{ text: 'a', times: '2' }, 'times: must be integer'],
    [{ text: 'a', times: 0 }, 'times: must be >= 1'],
    [{ text: 'a', mood: 'odd' }, 'mood: must be one of "glad", "sad"'],
    [{ text: 'a', other: 1 }, 'other: is not a known member'],
    [{ text: 'a', items: [{ name: 'x' }, {}] }, 'items[1].name: is required'],
    [{ text: 'a', items: [{ name: 'x', y: 1 }] }, 'items[0].y: is not a known member'],
    [{ text: 'abcdefghijk' }, 'text: must NOT have more than 10 characters'],
    [{ text: 'A' }, 'text: must match pattern "^[a-z]*$"'],
    [JSON.parse('{"text":"a","__proto__":{"times":9}}'), '__proto__: is not a known member'],
    [{ text: 'a', [`x${'y'.repeat(10_000)}`]: 1 }, '...: is not a known member'],
  ];
  for (const [params, message] of WRONG) {
    it(`refuses ${String(JSON.stringify(params)).slice(0, 60)} with "${message}"`, async () => {
      await using fixture = await start();
      fixture.table.add(operation());
      await assert.rejects(fixture.table.invoke('test.echo', params, call()), code('PARAMS_INVALID', message));
    });
  }

  it('leaves an inner object without listed properties open', async () => {
    await using fixture = await start();
    fixture.table.add(operation());
    const params = { text: 'a', free: { any: [1, { deep: true }] } };
    assert.deepEqual(await fixture.table.invoke('test.echo', params, call()), { ...params, times: 1 });
  });

  const CALLERS = [
    { who: 'an anonymous caller', caller: ANONYMOUS, part: {}, expected: 'UNAUTHENTICATED' },
    {
      who: 'an app without the capability',
      caller: PLAIN,
      part: { capability: 'system.apps' },
      expected: 'CAPABILITY_DENIED',
    },
    {
      who: 'an app with another scope',
      caller: FLASH,
      part: { capability: 'bridges.spi:{text}' },
      expected: 'CAPABILITY_DENIED',
    },
  ] as const;
  for (const { who, caller, part, expected } of CALLERS) {
    it(`refuses ${who} with ${expected}, before it looks at the params`, async () => {
      await using fixture = await start();
      fixture.table.add(operation(part));
      await assert.rejects(
        fixture.table.invoke('test.echo', { text: 'other', wrong: 1 }, call(caller)),
        code(expected),
      );
    });
  }

  it('takes the scope of a capability from a param, and explains a wrong param to a holder of any scope', async () => {
    await using fixture = await start();
    fixture.table.add(operation({ capability: 'bridges.spi:{text}' }));
    const ask = (text: unknown, caller = FLASH) => fixture.table.invoke('test.echo', { text }, call(caller));
    assert.deepEqual(await ask('flash'), { text: 'flash', times: 1 });
    await assert.rejects(ask('other'), code('CAPABILITY_DENIED', 'bridges.spi:other'));
    for (const wrong of [5, undefined, '../x', 'a b']) await assert.rejects(ask(wrong), code('PARAMS_INVALID', 'text'));
    await assert.rejects(ask(5, PLAIN), code('CAPABILITY_DENIED', 'bridges.spi'));
    assert.equal(await fixture.table.permitted('test.echo', call(FLASH)), undefined);
    const refusal = await fixture.table.permitted('test.echo', call(PLAIN));
    assert.equal(refusal?.code, 'CAPABILITY_DENIED');
    assert.match(String(refusal.details.capability), /^[a-z.]+:<\w+>$/, 'no more than is needed');
    assert.equal((await fixture.table.permitted('test.echo', call(ANONYMOUS)))?.code, 'UNAUTHENTICATED');
    assert.equal((await fixture.table.permitted('test.none', call()))?.code, 'METHOD_NOT_FOUND');
    const unknown = async (name: string) => (await fixture.table.permitted(name, call()))?.message;
    assert.equal(await unknown('test.ehco'), 'there is no operation test.ehco; did you mean test.echo?');
    assert.equal(await unknown('x'.repeat(1e6)), `there is no operation ${'x'.repeat(200)}...`);
  });

  it('asks the rate hook after the capability and before the schema', async () => {
    await using fixture = await start();
    fixture.table.add(operation({ capability: 'system.apps' }));
    const asked: string[] = [];
    const tap = fixture.host.tap('operation.before', (name) => {
      asked.push(name);
      return new CoreError('RATE_LIMITED', { caller: 'x', limit: '1/s', what: name, retryAfterMs: 5 });
    });
    await assert.rejects(fixture.table.invoke('test.echo', {}, call(PLAIN)), code('CAPABILITY_DENIED'));
    assert.deepEqual(asked, []);
    await assert.rejects(fixture.table.invoke('test.echo', { wrong: 1 }, call()), code('RATE_LIMITED'));
    assert.deepEqual(asked, ['test.echo']);
    tap[Symbol.dispose]();
  });

  it('turns an error that is not of the table into INTERNAL and logs its cause once', async () => {
    await using fixture = await start();
    const cause = new TypeError('secret detail');
    fixture.table.add(
      operation({ name: 'test.rejects', params: { type: 'object' }, run: async () => Promise.reject(cause) }),
    );
    fixture.table.add(
      operation({
        name: 'test.throws',
        params: { type: 'object' },
        run: () => {
          throw cause;
        },
      }),
    );
    for (const name of ['test.rejects', 'test.throws']) {
      await assert.rejects(fixture.table.invoke(name, {}, call()), (thrown) => {
        assert.ok(code('INTERNAL')(thrown));
        return !(thrown as CoreError).toWire().includes('secret');
      });
    }
    const errors = fixture.host.logged.filter((line) => line.level === 'error');
    assert.equal(errors.length, 2);
    assert.ok(errors.every((line) => (line.fields as { err: Error }).err.message === cause.message));
  });

  it('waits a moment longer for a handler that keeps its deadline by itself, and says what it did', async () => {
    await using fixture = await start();
    fixture.table.add(
      operation({
        keepsDeadline: true,
        run: async (_: unknown, { deadline, signal }: CallContext) => {
          while (Date.now() < deadline) await pace(1);
          assert.equal(signal.aborted, false);
          throw new CoreError('TIMEOUT', { what: 'the transfer', ms: 30, executed: 'no' });
        },
      } as never),
    );
    await assert.rejects(
      fixture.table.invoke('test.echo', { text: 'x' }, call(OPERATOR, { ms: 30 })),
      (thrown: CoreError) => {
        assert.deepEqual([thrown.code, thrown.details.executed], ['TIMEOUT', 'no']);
        return true;
      },
    );
    // It does not wait for one that does not keep it.
    fixture.table.add(
      operation({
        name: 'test.stuck',
        rest: undefined,
        keepsDeadline: true,
        run: () => new Promise(() => undefined),
      } as never),
    );
    await assert.rejects(
      fixture.table.invoke('test.stuck', { text: 'x' }, call(OPERATOR, { ms: 30 })),
      code('TIMEOUT', 'test.stuck'),
    );
  });

  it('answers TIMEOUT at the shorter of both deadlines, aborts the handler and drops what comes later', async () => {
    await using fixture = await start();
    const reasons: unknown[] = [];
    let finished = 0;
    const gone = Promise.withResolvers<void>();
    const slow = (timeoutMs?: number) => ({
      name: `test.slow${timeoutMs ?? ''}`,
      params: { type: 'object' },
      ...(timeoutMs ? { timeoutMs } : {}),
      run: async (_: never, context: CallContext) => {
        context.signal.addEventListener('abort', () => reasons.push(context.signal.reason));
        await gone.promise;
        finished++;
        return { text: 'late' };
      },
    });
    fixture.table.add(operation(slow()));
    fixture.table.add(operation(slow(30)));
    await Promise.all([
      assert.rejects(
        fixture.table.invoke('test.slow', {}, call(OPERATOR, { ms: 20 })),
        code('TIMEOUT', 'timed out after'),
      ),
      assert.rejects(fixture.table.invoke('test.slow30', {}, call()), code('TIMEOUT', '30 ms')),
    ]);
    await assert.rejects(fixture.table.invoke('test.slow', {}, call(OPERATOR, { ms: -5 })), code('TIMEOUT'));
    assert.equal(reasons.length, 2);
    gone.resolve();
    const late = () => fixture.host.logged.filter((line) => line.message.includes('too late'));
    await eventually(() => finished === 2 && late().length === 2, 'what comes too late');
  });

  const across = process.env[ISOLATION_VARIABLE] ? 'a signal is made for the border' : false;
  it('hears of a withdrawal without the signal of the caller', { skip: across }, async () => {
    await using fixture = await start();
    const started = Promise.withResolvers<AbortSignal>();
    const run = (_: unknown, { signal }: CallContext) => {
      started.resolve(signal);
      return new Promise<never>(() => undefined);
    };
    fixture.table.add(operation({ name: 'test.hangs', params: { type: 'object' }, run: run as never }));
    const withdrawal = new LazyAbort();
    const invocation: Invocation = {
      caller: OPERATOR,
      deadline: Date.now() + 10_000,
      get signal(): AbortSignal {
        return assert.fail('nobody needs it');
      },
      [WHEN_ABORTED]: (listener) => withdrawal.listen(listener),
    };
    const answer = fixture.table.invoke('test.hangs', {}, invocation);
    const signal = await started.promise;
    const reason = new CoreError('CANCELLED', { what: 'test.hangs', reason: 'for a test' });
    withdrawal.abort(reason);
    assert.equal(signal.reason, reason, 'in the same turn');
    await assert.rejects(answer, (error) => error === reason);
    await assert.rejects(fixture.table.invoke('test.hangs', {}, invocation), (error) => error === reason);
  });

  it('answers CANCELLED when the caller goes away, also to a handler that does not listen', async () => {
    await using fixture = await start();
    const stuck = Promise.withResolvers<never>();
    fixture.table.add(operation({ params: { type: 'object' }, run: () => stuck.promise }));
    const controller = new AbortController();
    const answer = fixture.table.invoke('test.echo', {}, call(OPERATOR, { signal: controller.signal }));
    void turns().then(() => controller.abort());
    await assert.rejects(answer, code('CANCELLED'));
    await assert.rejects(
      fixture.table.invoke('test.echo', {}, call(OPERATOR, { signal: AbortSignal.abort() })),
      code('CANCELLED'),
    );
  });

  it('fails calls in flight with UNAVAILABLE when their operation leaves', async () => {
    await using fixture = await start();
    let aborted = false;
    const entry = fixture.table.add(
      operation({
        params: { type: 'object' },
        run: (_: never, context: CallContext) =>
          new Promise(() =>
            context.signal.addEventListener('abort', () => {
              aborted = true;
            }),
          ),
      }),
    );
    const answer = assert.rejects(fixture.table.invoke('test.echo', {}, call()), code('UNAVAILABLE'));
    entry[Symbol.dispose]();
    await answer;
    assert.ok(aborted);
    await assert.rejects(fixture.table.invoke('test.echo', {}, call()), code('UNAVAILABLE'));
  });

  it('answers what has just gone with its plugin with UNAVAILABLE until it is back, and lists it to front ends alone', async () => {
    await using fixture = await start();
    let told: readonly OperationInfo[] = [];
    const watch = fixture.table.watch((list) => {
      told = list;
    });
    const find = () => told.find(({ name }) => name === 'test.echo');
    const first = fixture.table.add(operation({ rest: { method: 'GET', path: '/echo' } }));
    await fixture.host.settle();
    const info = find();
    first[Symbol.dispose]();
    await fixture.host.settle();
    const same = (left: unknown, why?: string) =>
      fixture.host.isolation === 'inline' ? assert.equal(left, info, why) : assert.deepEqual(left, info, why);
    same(find());
    assert.ok(!(await fixture.table.list()).some(({ name }) => name === 'test.echo'));
    const refusal = await fixture.table.permitted('test.echo', call());
    assert.deepEqual([refusal?.code, refusal?.details.retryAfterMs], ['UNAVAILABLE', 500]);
    const second = fixture.table.add(operation({ rest: { method: 'GET', path: '/echo' } }));
    await fixture.host.settle();
    same(find(), 'one that comes back the same is the same: no routes need to be built');
    second[Symbol.dispose]();
    fixture.table.add(operation({ name: 'test.other', rest: { method: 'GET', path: '/echo' } }));
    await fixture.host.settle();
    assert.equal(find(), undefined, 'its route has another owner');
    await assert.rejects(fixture.table.invoke('test.echo', {}, call()), code('METHOD_NOT_FOUND'));
    watch[Symbol.dispose]();
  });

  it('checks results on simulated devices that have started, unless told otherwise', async () => {
    const clock = virtualClock();
    await using strict = await start({}, clock);
    await using always = await start({ validateResults: true });
    await using lax = await start({ validateResults: false });
    for (const { table } of [strict, always, lax])
      table.add(operation({ params: { type: 'object' }, run: async () => ({ text: 5 }) }));
    assert.deepEqual(await strict.table.invoke('test.echo', {}, call()), { text: 5 }, 'it may still be starting');
    await assert.rejects(always.table.invoke('test.echo', {}, call()), code('INTERNAL'));
    await clock.advance(3_000);
    await assert.rejects(strict.table.invoke('test.echo', {}, call()), code('INTERNAL'));
    assert.match((strict.host.logged[0]!.fields as { err: Error }).err.message, /text: must be string/);
    assert.deepEqual(await lax.table.invoke('test.echo', {}, call()), { text: 5 });
  });

  it('relays an async iterable beyond the deadline and ends it when the caller leaves', async () => {
    await using fixture = await start();
    let closed = false;
    fixture.table.add(
      operation({
        params: { type: 'object', additionalProperties: false },
        timeoutMs: 100,
        async *run(_: never, context: CallContext) {
          try {
            for (let n = 1; ; n++) {
              await pace(60, context.signal);
              yield { data: n };
            }
          } finally {
            closed = true;
          }
        },
      }),
    );
    const controller = new AbortController();
    const items = (await fixture.table.invoke(
      'test.echo',
      {},
      call(OPERATOR, { signal: controller.signal }),
    )) as AsyncIterable<object>;
    const seen: object[] = [];
    await assert.rejects(async () => {
      for await (const item of items) if (seen.push(item) === 3) controller.abort();
    }, code('CANCELLED'));
    assert.equal(seen.length, 3);
    await pace(5);
    assert.ok(closed);
  });
});

describe('a stream that lasts', () => {
  it('keeps nothing of the items that were taken', async () => {
    await using fixture = await start();
    const taken: WeakRef<object>[] = [];
    fixture.table.add(
      operation({
        params: { type: 'object' },
        async *run() {
          for (;;) yield { data: new Array(100).fill(taken.length) };
        },
      }),
    );
    const items = (await fixture.table.invoke('test.echo', {}, call())) as AsyncIterableIterator<object>;
    for (let n = 0; n < 1_000; n++) taken.push(new WeakRef((await items.next()).value));
    const held = () => taken.filter((item) => item.deref()).length;
    let kept = 1_000;
    // What has just come over a border is not collected in the same turn.
    for (let turn = 0; turn < 20 && kept >= 100; turn++) {
      await pace(10);
      collectGarbage();
      kept = held();
    }
    assert.ok(kept < 100, `${kept} of 1,000 items are still held`);
    await items.return?.();
  });
});

describe('the table', () => {
  it('goes on after a watcher that throws, and tells the log', async () => {
    await using fixture = await start();
    let told = 0;
    let broken = false;
    fixture.table.watch(() => {
      if (broken) throw new Error('boom');
    });
    fixture.table.watch(() => void told++);
    broken = true;
    fixture.table.add(operation());
    await fixture.host.settle();
    assert.equal(told, 2);
    // Across a border the table does not wait for a watcher, so that its failure is told by the border.
    assert.match(
      fixture.host.logged.at(-1)!.message,
      /watcher of the operations failed|nobody waited for failed: boom/,
    );
  });

  it('compiles the schemas of an operation once, however often its plugin restarts', () => {
    const schemas = new Schemas();
    const heapAfter = (times: number): number => {
      for (let i = 0; i < times; i++) schemas.params('test.echo', structuredClone(operation().params));
      collectGarbage();
      return process.memoryUsage().heapUsed;
    };
    const before = heapAfter(100);
    const grown = heapAfter(2_000) - before;
    assert.ok(grown < 2_000_000, `${grown} bytes more after 2,000 restarts`);
  });
});

describe('the gate of streams', () => {
  const channel = (signal: AbortSignal): StreamChannel => ({
    id: '1',
    signal,
    incoming: ReadableStream.from<Uint8Array>([]),
    send: async () => undefined,
  });
  const endpoint = (run: (params: never, channel: StreamChannel, context: CallContext) => Promise<void>) => ({
    name: 'test.bytes',
    summary: 'bytes',
    direction: 'duplex' as const,
    params: { type: 'object', required: ['rate'], properties: { rate: { type: 'integer' } } },
    capability: 'bridges.spi:{rate}',
    run,
  });

  it('checks as for operations, opens, and tells the end', async () => {
    await using fixture = await start();
    const gate = Promise.withResolvers<void>();
    fixture.table.addStream(endpoint(() => gate.promise));
    const open = (params: unknown, caller = FLASH) =>
      fixture.table.openStream('test.bytes', params, channel(new AbortController().signal), call(caller));
    await assert.rejects(open({ rate: 1 }, PLAIN), code('CAPABILITY_DENIED'));
    await assert.rejects(open({}), code('PARAMS_INVALID', 'rate: is required'));
    const { done } = await open({ rate: 5 });
    gate.resolve();
    await done;
    assert.deepEqual(
      (await fixture.table.streams()).map(({ name }) => name),
      ['test.bytes'],
    );
  });

  it('ends with the error of the handler, with the channel, and with the plugin', async () => {
    await using fixture = await start();
    let outcome: (context: CallContext) => Promise<void> = async () => {
      throw new Error('boom');
    };
    const entry = fixture.table.addStream(endpoint((_params, _channel, context) => outcome(context)));
    let controller = new AbortController();
    const open = () => fixture.table.openStream('test.bytes', { rate: 1 }, channel(controller.signal), call(OPERATOR));
    await assert.rejects((await open()).done, code('INTERNAL'));
    outcome = () => new Promise(() => undefined);
    const cut = assert.rejects((await open()).done, code('CANCELLED'));
    controller.abort();
    await cut;
    controller = new AbortController();
    const removed = assert.rejects((await open()).done, code('UNAVAILABLE'));
    entry[Symbol.dispose]();
    await removed;
    await assert.rejects(open(), code('UNAVAILABLE'));
  });
});
