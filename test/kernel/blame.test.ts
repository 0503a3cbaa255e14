/** Who is to blame for an error that escaped: the plugin that was running, whoever called it. */
import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { runInThisContext } from 'node:vm';
import { leakCheck, VirtualClock } from '@device-core/plugin-api/testing';
import { type MemoryPlugin, memoryKernel } from '../fixtures/memory-kernel.ts';

after(leakCheck());

/** A function whose frames are those of a file of this plugin, as if its module had been imported from there. */
// biome-ignore lint/suspicious/noExplicitAny: whatever the text is
const code = (plugin: string, text: string): any =>
  runInThisContext(`(${text})`, { filename: `file:///memory/${plugin}/index.ts` });

/** What escapes when `run` is called, sooner or later. */
async function escaped(run: () => unknown): Promise<unknown> {
  try {
    await run();
  } catch (error) {
    return error;
  }
  return assert.fail('nothing escaped');
}

describe('to blame for an error that escaped is', () => {
  const thrower = code('b', '() => { throw new Error("broken"); }');
  const late = code('b', 'async () => { await null; throw new Error("broken"); }');
  const cases: readonly [title: string, run: () => unknown, culprit: string | undefined][] = [
    ['the listener that throws, not the plugin that emits', () => code('a', '(fn) => fn()')(thrower), 'b'],
    [
      'the listener that throws, through an emitter of Node',
      () => {
        const { EventEmitter } = process.getBuiltinModule('node:events');
        const emitter = new EventEmitter().on('x', thrower);
        code('a', '(emitter) => emitter.emit("x")')(emitter);
      },
      'b',
    ],
    [
      'the service that throws after an await, not the plugin that waits for it',
      () => code('a', 'async (call) => { await call(); }')(late),
      'b',
    ],
    [
      'the plugin whose callback throws, not the service that calls it',
      () => code('b', '(fn) => fn()')(code('a', '() => { throw new Error("broken"); }')),
      'a',
    ],
    [
      'the plugin that calls a package wrongly: frames of others stand for whoever called them',
      () => code('a', '(parse) => parse("{")')(JSON.parse),
      'a',
    ],
    [
      'who throws, not who is named by the message',
      () => code('b', '() => { throw new Error("cannot load\\n    at x (file:///memory/a/index.ts:1:1)"); }')(),
      'b',
    ],
    [
      'who caused it, where the error itself leads nowhere',
      () => {
        const outer = new Error('wrapped');
        outer.stack = 'Error: wrapped\n    at node:internal/timers:1:1';
        try {
          thrower();
        } catch (cause) {
          outer.cause = cause;
        }
        throw outer;
      },
      'b',
    ],
    ['the plugin in a folder with a space in its name', code('c%20d', '() => { throw new Error("broken"); }'), 'c d'],
    ['nobody, where no plugin was running', () => assert.fail('of the test itself'), undefined],
    ['nobody, where it is no error', () => Promise.reject('text'), undefined],
  ];
  for (const [title, run, culprit] of cases) {
    test(title, async () => {
      const ids = ['a', 'b', 'c d'];
      const clock = new VirtualClock();
      await using core = memoryKernel(
        ids.map((id): MemoryPlugin => ({ id })),
        clock,
      );
      await core.kernel.start();
      const error = await escaped(run);
      assert.equal(core.kernel.crashed(error), culprit !== undefined);
      await clock.settle();
      const states = Object.fromEntries(ids.map((id) => [id, id === culprit ? 'failed' : 'active']));
      assert.deepEqual(await core.states(), states);
    });
  }

  test('a plugin that has stopped already: the Core goes on, and the plugin has it as its last error', async () => {
    await using core = memoryKernel([{ id: 'a' }, { id: 'b' }], new VirtualClock());
    await core.kernel.start();
    await core.kernel.disable('b');
    const left = await escaped(() => code('a', '(fn) => fn()')(thrower));
    assert.equal(core.kernel.crashed(left), true);
    const { plugins } = await core.kernel.status();
    const told = plugins.map(({ id, state, lastError }) => [id, state, lastError?.message]);
    assert.deepEqual(told, [
      ['a', 'active', undefined],
      ['b', 'stopped', 'plugin b crashed: broken (index.ts:1)'],
    ]);
  });
});
