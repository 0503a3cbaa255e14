/** `within()` and `until()` of a scope: how each wait ends, and that nothing of it is left. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { CoreError, type Logger } from '@device-core/plugin-api';
import { leakCheck, virtualClock } from '@device-core/plugin-api/testing';
import { PluginScope } from '../../kernel/scope.ts';
import { runs } from '../fixtures/runs.ts';

after(leakCheck());

/** A signal that counts who listens. */
class CountingSignal extends EventTarget {
  aborted = false;
  reason: unknown;
  added = 0;
  readonly #listening = new Set<unknown>();

  get listeners(): number {
    return this.#listening.size;
  }

  override addEventListener(...args: Parameters<EventTarget['addEventListener']>): void {
    this.#listening.add(args[1]);
    this.added++;
    super.addEventListener(...args);
  }

  override removeEventListener(...args: Parameters<EventTarget['removeEventListener']>): void {
    this.#listening.delete(args[1]);
    super.removeEventListener(...args);
  }

  abort(reason: unknown): void {
    this.aborted = true;
    this.reason = reason;
    this.dispatchEvent(new Event('abort'));
  }

  get asSignal(): AbortSignal {
    return this as unknown as AbortSignal;
  }
}

function open() {
  const clock = virtualClock({ turns: 1 });
  const told: string[] = [];
  const tell = (_: object, message: string) => void told.push(message);
  const log: Logger = { debug: tell, info: tell, warn: tell, error: tell };
  const scope = new PluginScope('test', log, { clock });
  return { clock, scope, told, signal: new CountingSignal() };
}

const never = () => new Promise<never>(() => undefined);

describe('within', () => {
  const reason = new CoreError('BUSY', { what: 'the other', reason: 'it is', retryAfterMs: 1 });
  const ends: readonly [
    title: string,
    (lab: ReturnType<typeof open>) => void | Promise<unknown>,
    error: { code: string; message: RegExp },
  ][] = [
    [
      'the limit',
      ({ clock }) => clock.advance(300),
      { code: 'TIMEOUT', message: /^the answer timed out after 300 ms$/ },
    ],
    [
      'the end of the scope',
      ({ scope }) => scope.end(),
      { code: 'CANCELLED', message: /plugin test was cancelled: it was stopped/ },
    ],
    [
      'the signal',
      ({ signal }) => signal.abort(new Error('no')),
      { code: 'CANCELLED', message: /^the answer was cancelled/ },
    ],
    [
      'the signal with a CoreError as its reason',
      ({ signal }) => signal.abort(reason),
      { code: 'BUSY', message: /the other/ },
    ],
  ];
  for (const [title, end, error] of ends) {
    test(`${title} ends the wait and tells the work`, async () => {
      const lab = open();
      let given: AbortSignal | undefined;
      const work = (signal: AbortSignal) => {
        given = signal;
        return never();
      };
      const wait = lab.scope.within('the answer', 300, work, { signal: lab.signal.asSignal });
      const rejected = assert.rejects(wait, error);
      assert.deepEqual([given?.aborted, lab.clock.pending, lab.signal.listeners], [false, 1, 1]);
      await end(lab);
      await rejected;
      assert.equal((given!.reason as CoreError).code, error.code);
      assert.deepEqual([lab.clock.pending, lab.signal.listeners], [0, 0]);
    });

    if (title === 'the limit') continue;
    test(`${title} before the beginning: the work is not begun`, async () => {
      const lab = open();
      await end(lab);
      let begun = false;
      const work = () => {
        begun = true;
      };
      await assert.rejects(lab.scope.within('the answer', 300, work, { signal: lab.signal.asSignal }), error);
      assert.deepEqual([begun, lab.clock.pending, lab.signal.listeners], [false, 0, 0]);
    });
  }

  const results: readonly [title: string, work: () => unknown, value?: unknown][] = [
    ['a value', () => 7, 7],
    ['a promise', async () => 7, 7],
    ['a promise that fails', () => Promise.reject(new Error('no'))],
    ['an error that is thrown at once', () => raise('no')],
  ];
  for (const [title, work, value] of results) {
    test(`${title} is the result, and nothing is left`, async () => {
      const { scope, clock, signal } = open();
      const wait = scope.within('work', 300, work, { signal: signal.asSignal });
      if (value === undefined) await assert.rejects(wait, /no/);
      else assert.equal(await wait, value);
      assert.deepEqual([clock.pending, signal.listeners], [0, 0]);
    });
  }

  test('the work that fails after the limit is ignored', async () => {
    const { scope, clock } = open();
    const work = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('late'))));
    const wait = assert.rejects(scope.within('work', 5, work), { code: 'TIMEOUT' });
    await clock.advance(5);
    await wait;
    await clock.settle(); // an unhandled rejection would fail the test
  });

  test('without a limit only the ends end it', async () => {
    const { scope, clock } = open();
    const wait = scope.within('somebody', Number.POSITIVE_INFINITY, never);
    assert.equal(clock.pending, 0);
    const rejected = assert.rejects(wait, { code: 'CANCELLED' });
    await scope.end();
    await rejected;
  });

  test('a part of the scope ends what was begun in it, and the whole goes on', async () => {
    const { scope } = open();
    const part = scope.child('part');
    const wait = assert.rejects(part.within('x', 1_000, never), { code: 'CANCELLED' });
    await part[Symbol.asyncDispose]();
    await wait;
    assert.equal(await scope.within('x', 1_000, () => 1), 1);
    await scope.end();
  });
});

describe('until', () => {
  /** Gives numbers; says what it was told. */
  function numbers(count = Number.POSITIVE_INFINITY) {
    const source = {
      asked: 0,
      returned: 0,
      asleep: false,
      [Symbol.asyncIterator]: () => ({
        next: async (): Promise<IteratorResult<number>> => {
          if (source.asleep) await never();
          return source.asked < count ? { done: false, value: source.asked++ } : { done: true, value: undefined };
        },
        return: async (): Promise<IteratorResult<number>> => {
          source.returned++;
          return { done: true, value: undefined };
        },
      }),
    };
    return source;
  }

  test('many thousand items leave one listener during the loop, and none after it', async () => {
    const { scope, signal, clock } = open();
    const count = runs(100_000);
    const source = numbers(count);
    let most = 0;
    let sum = 0;
    for await (const item of scope.until(source, signal.asSignal)) {
      most = Math.max(most, signal.listeners);
      sum += item;
    }
    assert.deepEqual([sum, most, signal.added], [(count * (count - 1)) / 2, 1, 1]);
    assert.deepEqual([signal.listeners, source.returned, clock.pending], [0, 0, 0]);
  });

  const ends: readonly [title: string, (lab: ReturnType<typeof open>) => unknown][] = [
    ['a signal', ({ signal }) => signal.abort('x')],
    ['the end of the scope', ({ scope }) => scope.end()],
  ];
  for (const [title, end] of ends) {
    test(`${title} between two items ends the loop, and the end of the source is awaited`, async () => {
      const lab = open();
      const source = numbers();
      const seen: number[] = [];
      for await (const item of lab.scope.until(source, lab.signal.asSignal)) {
        seen.push(item);
        if (item === 2) void end(lab);
      }
      assert.deepEqual([seen, source.asked, source.returned, lab.signal.listeners], [[0, 1, 2], 3, 1, 0]);
    });

    test(`${title} ends a loop whose source is asleep at once; the source is told`, async () => {
      const lab = open();
      const source = numbers();
      let items = 0;
      const loop = (async () => {
        for await (const _ of lab.scope.until(source, lab.signal.asSignal)) {
          items++;
          source.asleep = true;
        }
      })();
      await lab.clock.settle();
      void end(lab);
      await loop;
      assert.deepEqual([items, source.returned, lab.signal.listeners, lab.clock.pending], [1, 1, 0, 0]);
    });

    test(`${title} before the beginning: the source is not opened`, async () => {
      const lab = open();
      await end(lab);
      const source = numbers();
      for await (const _ of lab.scope.until(source, lab.signal.asSignal)) assert.fail('no item was wanted');
      assert.deepEqual([source.asked, source.returned, lab.signal.added], [0, 0, 0]);
    });
  }

  const leaving: readonly [title: string, (item: number) => 'break' | undefined, RegExp | undefined][] = [
    ['break', () => 'break', undefined],
    ['an error in the loop', () => raise('mine'), /mine/],
  ];
  for (const [title, body, error] of leaving) {
    test(`${title} leaves the loop, ends the source and takes the listener away`, async () => {
      const { scope, signal } = open();
      const source = numbers();
      const loop = async () => {
        for await (const item of scope.until(source, signal.asSignal)) if (body(item)) break;
      };
      await (error ? assert.rejects(loop(), error) : loop());
      assert.deepEqual([source.asked, source.returned, signal.listeners], [1, 1, 0]);
    });
  }

  test('an error of the source is the error of the loop', async () => {
    const { scope, signal } = open();
    const source = (async function* () {
      yield 1;
      throw new Error('gone');
    })();
    const seen: number[] = [];
    await assert.rejects(async () => {
      for await (const item of scope.until(source, signal.asSignal)) seen.push(item);
    }, /gone/);
    assert.deepEqual([seen, signal.listeners], [[1], 0]);
  });

  test('a source that does not end when the loop is left is waited for a second, and told', async () => {
    const { scope, clock, told } = open();
    const source = numbers();
    const hangs = { [Symbol.asyncIterator]: () => ({ ...source[Symbol.asyncIterator](), return: never }) };
    const loop = (async () => {
      for await (const _ of scope.until(hangs)) break;
    })();
    await clock.until(loop, 1_000);
    assert.equal(clock.monotonic(), 1_000);
    assert.deepEqual(told, ['plugin test left a loop, and its source did not end']);
  });
});

test('an interval keeps its beat, leaves out what it missed and ends with the scope', async () => {
  const { scope, clock } = open();
  const seen: number[] = [];
  let slow: Promise<void> | undefined;
  scope.interval('beat', 100, () => {
    seen.push(clock.monotonic());
    if (seen.length === 2) slow = clock.sleep(250);
    return seen.length === 2 ? slow : undefined;
  });
  await clock.advance(700);
  assert.deepEqual(seen, [100, 200, 500, 600, 700]);
  await scope.end();
  await clock.advance(1_000);
  assert.equal(seen.length, 5);
  assert.equal(clock.pending, 0);
});

function raise(reason: string): never {
  throw new Error(reason);
}
