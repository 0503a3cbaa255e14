/** What goes over the border of an isolated plugin: two peers, over a port of threads and over a pipe of bytes. */
import assert from 'node:assert/strict';
import { duplexPair } from 'node:stream';
import { after, describe, it } from 'node:test';
import { inspect } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { MessageChannel } from 'node:worker_threads';
import { CoreError, type Logger, Secret } from '@device-core/plugin-api';
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
    return [threadPort(port1, assert.ifError), threadPort(port2, assert.ifError)];
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

/** Methods of a port that is of a class. */
const bound = (port: Port) => ({
  pause: () => port.pause(),
  resume: () => port.resume(),
  take: () => port.take(),
  close: () => port.close(),
  onMessage: (listener: () => void) => port.onMessage(listener),
  clones: port.clones,
});

async function failure(work: PromiseLike<unknown>): Promise<CoreError> {
  const error = await Promise.resolve(work).then(
    (value) => assert.fail(`it answered ${String(value)}`),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof CoreError, String(error));
  return error;
}

/** A port to a side that takes in nothing. */
function deafPort(): Port & { readonly posted: Message[] } {
  const posted: Message[] = [];
  const post = (messages: readonly Message[]) => void posted.push(...structuredClone(messages));
  return { posted, clones: true, post, pause: quiet, resume: quiet, take: quiet, close: quiet, onMessage: quiet };
}

const over = new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' });

describe('values that the other side does not take in', () => {
  it('is not sent on, and then refused: notifications first, calls when much more waits', async () => {
    const port = deafPort();
    const peer = new Peer(port, { name: 'the Core', root: {}, log, onBreach: assert.ifError });
    const text = 'x'.repeat(1_000);
    for (let n = 0; n < 5_000; n++) {
      if (peer.isFull) break;
      peer.notify('hear', text);
      if (n % 100 === 0) await null;
    }
    assert.ok(peer.isFull);
    assert.ok(port.posted.length < 2_000, `${port.posted.length} messages were sent to nobody`);
    const calls: PromiseLike<unknown>[] = [];
    const refused: CoreError[] = [];
    for (let n = 0; n < 40; n++)
      calls.push(
        peer
          .call('keep', new Uint8Array(1 << 20))
          .then(quiet, (error: unknown) => void refused.push(error as CoreError)),
      );
    await null;
    await null;
    assert.ok(refused.length > 10, `${refused.length} calls were refused`);
    assert.ok(refused.every(({ code }) => code === 'BUSY'));
    peer.close(over);
    await Promise.all(calls);
  });

  it('keeps its next calls waiting: answers are memory, too', async () => {
    const { posted, ...port } = deafPort();
    const asked: Message[][] = Array.from({ length: 5_000 }, (_, n) => [[0, n + 1, 0, 'large', []]]);
    let told: () => void = quiet;
    const onMessage = (listener: () => void): void => {
      told = listener;
    };
    let answered = 0;
    const large = () => {
      answered++;
      return 'x'.repeat(64 << 10);
    };
    const peer = new Peer(
      { ...port, take: () => asked.shift(), onMessage },
      { name: 'plugin there', root: { large }, log, onBreach: assert.ifError, turns: { ms: 1, onSpent: quiet } },
    );
    told();
    await eventually(() => asked.length === 0, 'all calls taken in');
    assert.ok(answered > 10 && answered < 100, `${answered} answers were made for nobody`);
    assert.ok(posted.length < 100);
    peer.close(over);
  });

  it('does not change any more while it waits', async () => {
    const port = deafPort();
    const limits = { windowBytes: 1, waitingBytes: { notifications: 1 << 20, calls: 1 << 20 } };
    const peer = new Peer(port, { name: 'the Core', root: {}, log, limits, onBreach: assert.ifError });
    const payload = { n: 1 };
    peer.notify('first');
    await null;
    peer.notify('second', payload);
    payload.n = 2;
    peer.close(over);
    assert.deepEqual(
      port.posted.filter(([kind]) => kind === 0).map((message) => message[4]),
      [[], [{ n: 1 }]],
    );
  });
});

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

    it('a secret arrives as one, and its text when it is revealed, not before', async () => {
      const text = 'correct horse battery';
      const [one, two] = ports();
      const wire: string[] = [];
      const tapped: Port = {
        ...two,
        ...bound(two),
        post: (messages, transfer) => {
          wire.push(inspect(messages, { depth: 9, showHidden: true }));
          two.post(messages, transfer);
        },
      };
      using both = border([one, tapped], { get: async () => [{ key: new Secret('cloud.token', async () => text) }] });
      const [{ key } = assert.fail()] = (await both.here.call('get')) as { key: Secret }[];
      assert.ok(key instanceof Secret);
      for (const shown of [`${key}`, JSON.stringify(key).slice(1, -1), inspect(key, { showHidden: true })])
        assert.equal(shown, '[secret cloud.token]');
      assert.deepEqual(structuredClone({ ...key }), {});
      assert.ok(wire.length > 0 && !wire.join().includes(text));
      assert.equal(await key.reveal(), text);
      assert.ok(wire.join().includes(text));
      assert.deepEqual([both.breaches, Buffer.from(await key.revealBytes()).toString()], [[], text]);
    });

    it('more than the window arrives in its order when it is taken in', async () => {
      const heard: number[] = [];
      using both = border(ports(), { hear: (n: number) => void heard.push(n) }, { windowBytes: 10_000 });
      for (let n = 0; n < 3_000; n++) both.here.notify('hear', n);
      await eventually(() => heard.length === 3_000, 'everything that was said');
      assert.deepEqual(
        heard,
        Array.from({ length: 3_000 }, (_, n) => n),
      );
      assert.deepEqual(both.breaches, []);
    });

    it('others have their turn while many messages are taken in', async () => {
      let heard = 0;
      let turns = 0;
      let spent = 0;
      const busy = () => {
        heard++;
        for (const began = performance.now(); performance.now() - began < 0.2; );
      };
      const [one, two] = ports();
      const here = new Peer(one, { name: 'there', root: {}, log, onBreach: assert.ifError });
      const onSpent = (ms: number) => {
        spent += ms;
      };
      const root = { busy };
      const there = new Peer(two, { name: 'here', root, log, onBreach: assert.ifError, turns: { ms: 1, onSpent } });
      let next = setImmediate(function turn() {
        if (heard > 0) turns++;
        next = setImmediate(turn);
      });
      for (let n = 0; n < 1_000; n++) here.notify('busy');
      await eventually(() => heard === 1_000, 'all messages');
      clearImmediate(next);
      here.close(over);
      there.close(over);
      assert.ok(turns >= 150, `there were ${turns} turns during 1,000 messages of 0.2 ms`);
      assert.ok(spent >= 200, `${spent} ms were told`);
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

    it('an object offered for good is not garbage although the answer is not held here', async () => {
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

    it('errors keep code and details; an error outside of the table keeps its message', async () => {
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

    it('a context is whole when it is copied, and its signal is one signal', async () => {
      using both = border(ports(), {
        look(call: { readonly signal: AbortSignal; readonly caller: object; readonly log: object }) {
          const { signal, caller, log: own } = { ...call };
          return { same: signal === call.signal, aborted: signal.aborted, caller, logs: own !== undefined };
        },
        async late(call: { readonly signal: AbortSignal }) {
          await pace(20);
          return call.signal.aborted;
        },
      });
      const caller = { kind: 'app', id: 'com.example.a' };
      const stop = new AbortController();
      const context = () => ({ caller, deadline: Date.now() + 5_000, signal: stop.signal });
      assert.deepEqual(await both.here.call('look', context()), { same: true, aborted: false, caller, logs: true });
      const late = both.here.call('late', context());
      await pace(5);
      stop.abort(new CoreError('CANCELLED', { what: 'late', reason: 'nobody wants it' }));
      assert.equal(await late, true, 'a signal that is asked for late knows that it was aborted');
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

    it('a message that is too large is refused on the side that sends it', async () => {
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

describe('any message over the border', () => {
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

  it('is answered, or breaks the border: it throws at no caller and changes no prototype', async () => {
    await fc.assert(
      fc.asyncProperty(fc.oneof(fc.array(MESSAGE, { maxLength: 5 }), fc.anything()), async (messages) => {
        let told: () => void = quiet;
        const come = [messages];
        const port: Port = {
          clones: true,
          post: quiet,
          pause: quiet,
          resume: quiet,
          close: quiet,
          onMessage(listener) {
            told = listener;
          },
          take: () => come.shift(),
        };
        const breaches: CoreError[] = [];
        const onBreach = (error: CoreError) => void breaches.push(error);
        const peer = new Peer(port, { name: 'a stranger', log, onBreach, root: { echo: (value: unknown) => value } });
        told();
        await new Promise(setImmediate);
        assert.ok(breaches.every(({ code }) => code === 'UNAVAILABLE'));
        assert.deepEqual(Object.keys(Object.prototype), []);
        peer.close(new CoreError('CANCELLED', { what: 'the test', reason: 'it is over' }));
      }),
      { numRuns: runs(500) },
    );
  });
});
