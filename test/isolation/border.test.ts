/** What goes over the border of an isolated plugin: two peers, over a port of threads and over a pipe of bytes. */
import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { after, describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MessageChannel } from 'node:worker_threads';
import { CoreError, type Logger } from '@device-core/plugin-api';
import { leakCheck } from '@device-core/plugin-api/testing';
import fc from 'fast-check';
import { pipePort, threadPort } from '../../kernel/isolation/ports.ts';
import { type Message, Peer, type Port, type RemoteLimits } from '../../kernel/isolation/remote/index.ts';
import { eventually, pace } from '../fixtures/eventually.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const quiet = () => undefined;
const log: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

const PORTS: Readonly<Record<string, () => readonly [Port, Port]>> = {
  thread() {
    const { port1, port2 } = new MessageChannel();
    return [threadPort(port1, () => port1.close()), threadPort(port2, () => port2.close())];
  },
  pipe() {
    const [one, two] = duplexPair();
    return [pipePort(one, assert.ifError), pipePort(two, assert.ifError)];
  },
};

interface Border extends Disposable {
  readonly here: Peer;
  readonly there: Peer;
  readonly breaches: CoreError[];
  /** Resolves when both sides hold nothing any more. */
  empty(): Promise<void>;
}

function border(ports: readonly [Port, Port], root: object, limits: Partial<RemoteLimits> = {}): Border {
  const breaches: CoreError[] = [];
  const options = { log, limits, onBreach: (error: CoreError) => void breaches.push(error) };
  const here = new Peer(ports[0], { ...options, name: 'plugin there', root: {} });
  const there = new Peer(ports[1], { ...options, name: 'the Core', root });
  return {
    here,
    there,
    breaches,
    async empty() {
      const NOTHING = { exports: 0, calls: 0, running: 0, groups: 0 };
      await eventually(() => {
        assert.deepEqual([here.counts, there.counts], [NOTHING, NOTHING]);
        return true;
      }, 'a border that holds nothing');
    },
    [Symbol.dispose]() {
      here.close(new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' }));
      there.close(new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' }));
    },
  };
}

async function failure(work: PromiseLike<unknown>): Promise<CoreError> {
  const error = await Promise.resolve(work).then(
    (value) => assert.fail(`it answered ${String(value)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, String(error));
  return error;
}

const VALUE = fc.anything({ withMap: true, withSet: true, withDate: true, withBigInt: true, withTypedArray: true });

for (const [kind, ports] of Object.entries(PORTS)) {
  describe(`over a ${kind}`, () => {
    it('every plain value arrives as it left, and comes back so', async () => {
      using both = border(ports(), { echo: (value: unknown) => value });
      await fc.assert(
        fc.asyncProperty(VALUE, async (value) => {
          assert.deepEqual(await both.here.call('echo', value), structuredClone(value));
        }),
        { numRuns: runs(300) },
      );
      await both.empty();
      assert.deepEqual(both.breaches, []);
    });

    it('callbacks are called back, and let go when the call is over', async () => {
      using both = border(ports(), {
        twice: async (fn: (n: number) => Promise<number>) => [await fn(1), await fn(2)],
      });
      assert.deepEqual(await both.here.call('twice', (n: number) => n * 10), [10, 20]);
      await both.empty();
    });

    it('a subscription lasts until it is disposed of', async () => {
      const listeners = new Set<(n: number) => unknown>();
      using both = border(ports(), {
        subscribe(listener: (n: number) => unknown) {
          listeners.add(listener);
          return { [Symbol.asyncDispose]: async () => void listeners.delete(listener) };
        },
      });
      const heard: number[] = [];
      const subscription = both.here.call<AsyncDisposable>('subscribe', (n: number) => void heard.push(n));
      await subscription;
      for (const listener of listeners) await listener(1);
      await subscription[Symbol.asyncDispose]();
      assert.equal(listeners.size, 0);
      assert.deepEqual(heard, [1]);
      await both.empty();
    });

    it('what is offered for good is not garbage although nobody here holds the answer', async () => {
      let service: { hello(): Promise<string> } | undefined;
      using both = border(ports(), {
        provide(given: { hello(): Promise<string> }) {
          service = given;
          return { lent: () => undefined };
        },
      });
      await (async () => void (await both.here.offer('provide', { hello: () => 'hello' })))();
      for (let turn = 0; turn < 5; turn++) {
        await pace(5);
        collectGarbage();
      }
      assert.equal(await service?.hello(), 'hello');
    });

    it('an iterable is read no further ahead than its credit, and closed when its reader leaves', async () => {
      let made = 0;
      let closed = false;
      using both = border(ports(), {
        async *count() {
          try {
            for (;;) yield made++;
          } finally {
            closed = true;
          }
        },
      });
      const seen: number[] = [];
      for await (const n of both.here.call('count') as AsyncIterable<unknown>) {
        seen.push(n as number);
        if (seen.length === 100) await pace(30);
        if (seen.length === 101) break;
      }
      assert.deepEqual(
        seen,
        Array.from({ length: 101 }, (_, n) => n),
      );
      assert.ok(made < 101 + 40, `${made} were made for a reader of 101`);
      await pace(30);
      assert.ok(closed);
      await both.empty();
    });

    it('errors keep code and details; what is no error of the table keeps its message', async () => {
      using both = border(ports(), {
        refuse: () => Promise.reject(new CoreError('APP_NOT_FOUND', { app: 'com.example.none' })),
        fail() {
          throw Object.assign(new RangeError('too far'), { how: 'much' });
        },
      });
      const refused = await failure(both.here.call('refuse'));
      assert.deepEqual([refused.code, refused.details], ['APP_NOT_FOUND', { app: 'com.example.none' }]);
      await assert.rejects(Promise.resolve(both.here.call('fail')), {
        name: 'RangeError',
        message: 'too far',
        how: 'much',
      });
      assert.equal((await failure(both.here.call('constructor'))).code, 'METHOD_NOT_FOUND');
      await both.empty();
    });

    it('a signal aborts on the other side with its reason', async () => {
      const reasons: unknown[] = [];
      using both = border(ports(), {
        wait: (context: { signal: AbortSignal }) =>
          new Promise((_, reject) => {
            context.signal.addEventListener('abort', () => {
              reasons.push((context.signal.reason as CoreError).code);
              reject(context.signal.reason as CoreError);
            });
          }),
      });
      const stop = new AbortController();
      const caller = { kind: 'app', id: 'com.example.a' };
      const waiting = both.here.call('wait', { caller, deadline: Date.now() + 5_000, signal: stop.signal });
      await pace(10);
      stop.abort(new CoreError('CANCELLED', { what: 'wait', reason: 'nobody wants it' }));
      assert.equal((await failure(waiting)).code, 'CANCELLED');
      assert.deepEqual(reasons, ['CANCELLED']);
      await both.empty();
    });

    it('a request that carries a context keeps its other members', async () => {
      using both = border(ports(), {
        tell: ({ signal, ...request }: { readonly signal: AbortSignal }) => ({ ...request, aborted: signal.aborted }),
      });
      const caller = { kind: 'app', id: 'com.example.a' };
      const request = { name: 'f', inputs: { a: [1] }, caller, deadline: Date.now() + 5_000 };
      const { signal } = new AbortController();
      assert.deepEqual(await both.here.call('tell', { ...request, signal }), { ...request, aborted: false });
      await both.empty();
    });

    it('a call that is never answered ends at its deadline, one without at the limit', async () => {
      const limits = { callMs: 60, graceMs: 10, sweepMs: 5 };
      using both = border(ports(), { never: () => new Promise(() => undefined) }, limits);
      const context = { caller: { kind: 'operator', id: 'o' }, deadline: Date.now() + 20, signal: AbortSignal.any([]) };
      const codes = await Promise.all([both.here.call('never', context), both.here.call('never')].map(failure));
      assert.deepEqual(
        codes.map(({ code }) => code),
        ['TIMEOUT', 'TIMEOUT'],
      );
    });

    it('more calls than may be in flight are refused, those before them are answered', async () => {
      const { promise, resolve } = Promise.withResolvers<string>();
      using both = border(ports(), { wait: () => promise }, { inFlight: 8 });
      const calls = Array.from({ length: 8 }, () => Promise.resolve(both.here.call('wait')));
      assert.equal((await failure(both.here.call('wait'))).code, 'BUSY');
      resolve('done');
      assert.deepEqual(new Set(await Promise.all(calls)), new Set(['done']));
      await both.empty();
    });

    it('what is too large is refused on the side that sends it', async () => {
      using both = border(ports(), { take: () => 'taken', give: () => new Uint8Array(3_000) }, { bytes: 2_000 });
      assert.equal((await failure(both.here.call('take', 'x'.repeat(2_001)))).code, 'BODY_TOO_LARGE');
      assert.equal((await failure(both.here.call('give'))).code, 'BODY_TOO_LARGE');
      assert.equal(await both.here.call('take', 'x'), 'taken');
      await both.empty();
    });

    it('when it falls, everything under way fails with the reason and what was lent is disposed of', async () => {
      let disposed = false;
      using both = border(ports(), {
        never: () => new Promise(() => undefined),
        lend: () => ({
          [Symbol.asyncDispose]: async () => {
            disposed = true;
          },
        }),
      });
      await both.here.call('lend');
      const waiting = failure(both.here.call('never'));
      await pace(10);
      both.here.close(new CoreError('SERVICE_REVOKED', { service: 'x', plugin: 'y' }));
      both.there.close(new CoreError('SERVICE_REVOKED', { service: 'x', plugin: 'y' }));
      assert.equal((await waiting).code, 'SERVICE_REVOKED');
      assert.equal((await failure(both.here.call('lend'))).code, 'SERVICE_REVOKED');
      await pace(1);
      assert.ok(disposed);
    });
  });
}

describe('whatever comes over the border', () => {
  const KIND = fc.oneof(fc.integer({ min: -1, max: 5 }), fc.anything());
  const MESSAGE = fc.oneof(
    fc.tuple(
      KIND,
      fc.integer({ min: -2, max: 3 }),
      fc.integer({ min: -2, max: 3 }),
      fc.string(),
      fc.array(fc.anything()),
    ),
    fc.array(fc.anything()),
    fc.tuple(
      fc.constant(0),
      fc.constant(1),
      fc.constant(0),
      fc.constantFrom('echo', '__proto__', 'toString', '@dispose', '@next', '@await', ''),
      fc.array(fc.anything(), { maxLength: 2 }),
      fc.array(
        fc.tuple(
          fc.array(fc.oneof(fc.constantFrom('__proto__', 'constructor'), fc.nat(3)), { maxLength: 3 }),
          fc.anything(),
        ),
      ),
    ),
  );

  it('is answered, or breaks the border: it is thrown at nobody and changes no prototype', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(MESSAGE, { maxLength: 5 }), fc.anything()), async (messages) => {
        let receive: (messages: unknown) => void = quiet;
        const port: Port = {
          clones: true,
          post: quiet,
          close: quiet,
          onMessage(listener) {
            receive = listener;
          },
        };
        const breaches: CoreError[] = [];
        const onBreach = (error: CoreError) => void breaches.push(error);
        const peer = new Peer(port, { name: 'a stranger', log, onBreach, root: { echo: (value: unknown) => value } });
        receive(messages as Message[]);
        await new Promise(setImmediate);
        assert.ok(breaches.every(({ code }) => code === 'UNAVAILABLE'));
        assert.deepEqual(Object.keys(Object.prototype), []);
        peer.close(new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' }));
      }),
      { numRuns: runs(500) },
    );
  });
});
