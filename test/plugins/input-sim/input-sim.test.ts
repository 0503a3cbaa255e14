import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Inputs, inputs as inputsRef } from '@device-core/plugin-api/services/input';
import { operations } from '@device-core/plugin-api/services/operations';
import { createTestHost, leakCheck, TestOperations, virtualClock } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/input-sim/index.ts';
import { inputContract, RecordingInputs, wellFormed } from '../../contracts/input.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const MANIFEST = new URL('../../../manifests/plugins/display/input-sim.yaml', import.meta.url).pathname;

async function start(inputs: Inputs, { config = {}, virtual = false } = {}) {
  const table = new TestOperations();
  const clock = virtual ? virtualClock() : undefined;
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config,
    ...(clock && { clock }),
    services: [
      [operations, table],
      [inputsRef, inputs],
    ],
  });
  const run = (name: string, params: object, signal = new AbortController().signal) =>
    table.run(`display.${name}`, params, { signal });
  return { host, clock, table, run };
}

describe('input-sim', () => {
  describe('is a source of touch and keys', () => {
    inputContract(
      async (inputs) => {
        const { host, run } = await start(inputs);
        const calls: Promise<unknown>[] = [];
        // An answer comes when it was routed: where the registry is busy nobody waits for it here.
        const call = (name: string, params: object) => void calls.push(run(name, params));
        return {
          touch: (finger, phase, x, y) => call('touch', { finger, phase, x, y }),
          key: { name: 'ok', press: (phase) => call('key', { name: 'ok', phase }) },
          knob: { name: 'ok', turn: (delta) => call('key', { name: 'ok', delta }) },
          [Symbol.asyncDispose]: async () => {
            await Promise.all(calls);
            await host[Symbol.asyncDispose]();
          },
        };
      },
      { touch: true, keys: true, knobs: true },
    );
  });

  it('says that it is injected', async () => {
    const inputs = new RecordingInputs();
    await using host = (await start(inputs, { config: { keys: ['home'] } })).host;
    assert.deepEqual(inputs.sources[0]?.description, { id: 'input-sim', touch: true, keys: ['home'], injected: true });
    await host.settle();
  });

  it('holds a finger as long as it is told, and swipes in steps', async () => {
    const inputs = new RecordingInputs();
    const { host, clock, run } = await start(inputs, { virtual: true });
    await using _ = host;
    await clock?.until(run('touch', { x: 10, y: 20, ms: 600 }));
    const [down, up] = inputs.touches;
    assert.ok(down?.phase === 'down' && up?.phase === 'up');
    assert.equal(up.at - down.at, 600);
    await clock?.until(run('swipe', { x: 700, y: 360, toX: 100, toY: 360, ms: 400 }));
    const way = inputs.touches.slice(2);
    assert.deepEqual([way[0]?.x, way.at(-1)?.x, way.at(-1)?.phase], [700, 100, 'up']);
    assert.ok(way.length >= 4, 'a way, not a jump');
    wellFormed(inputs);
  });

  it('takes its finger back when the caller goes away', async () => {
    const inputs = new RecordingInputs();
    const { host, run } = await start(inputs);
    await using _ = host;
    const caller = new AbortController();
    const call = run('touch', { x: 10, y: 20, ms: 10_000 }, caller.signal).catch((error: unknown) => error);
    await inputs.until(1, 'the finger is down');
    caller.abort(new CoreError('CANCELLED', { what: 'the test' }));
    assert.ok((await call) instanceof CoreError);
    await eventually(() => inputs.touches.at(-1)?.phase === 'cancel', 'it is lifted');
  });

  const REFUSED: readonly (readonly [what: string, name: string, params: object])[] = [
    ['outside of the panel', 'touch', { x: 721, y: 1 }],
    ['left of it', 'touch', { x: -1, y: 1 }],
    ['no number', 'touch', { x: 'NaN', y: 1 }],
    ['infinity', 'touch', { x: Number.POSITIVE_INFINITY, y: 1 }],
    ['NaN', 'touch', { x: Number.NaN, y: 1 }],
    ['an eleventh finger', 'touch', { x: 1, y: 1, phase: 'down', finger: 10 }],
    ['held for ever', 'touch', { x: 1, y: 1, ms: 10_001 }],
    ['a key that the device has not', 'key', { name: 'format' }],
    ['a knob that turns for ever', 'key', { name: 'ok', delta: 1e9 }],
    ['an unknown member', 'swipe', { x: 1, y: 1, toX: 2, toY: 2, z: 1 }],
  ];
  for (const [what, name, params] of REFUSED)
    it(`refuses ${what}`, async () => {
      const inputs = new RecordingInputs();
      const { host, run } = await start(inputs);
      await using _ = host;
      await assert.rejects(run(name, params), { code: 'PARAMS_INVALID' });
      assert.equal(inputs.events.length, 0);
    });

  it('is for those who hold system.display alone', async () => {
    const inputs = new RecordingInputs();
    const { host, table } = await start(inputs);
    await using _ = host;
    const caller = { kind: 'app', id: 'com.example.a' } as const;
    for (const [name, params] of [
      ['touch', { x: 1, y: 1 }],
      ['swipe', { x: 1, y: 1, toX: 9, toY: 9 }],
      ['key', { name: 'ok' }],
    ] as const)
      await assert.rejects(table.run(`display.${name}`, params, { caller }), { code: 'CAPABILITY_DENIED' });
    assert.equal(inputs.events.length, 0);
  });
});
