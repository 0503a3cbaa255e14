import assert from 'node:assert/strict';
import { after, describe, it } from 'node:test';
import { CoreError } from '@device-core/plugin-api';
import { type Gpio, type GpioEdge, gpio } from '@device-core/plugin-api/services/gpio';
import { type Inputs, inputs as inputsRef } from '@device-core/plugin-api/services/input';
import { createTestHost, given, leakCheck } from '@device-core/plugin-api/testing';
import { plugin } from '../../../plugins/display/input-gpio/index.ts';
import { inputContract, RecordingInputs, wellFormed } from '../../contracts/input.ts';
import { eventually } from '../../fixtures/eventually.ts';

after(leakCheck());

const MANIFEST = new URL('../../../manifests/plugins/display/input-gpio.yaml', import.meta.url).pathname;
const CONFIG = {
  keys: [{ name: 'ok', handle: 'button', debounceMs: 0 }],
  knobs: [{ name: 'volume', a: 'knob-a', b: 'knob-b' }],
};

/** Lines of a bridge that can go. */
class Lines implements Partial<Gpio> {
  readonly levels = new Map<string, 0 | 1>([
    ['button', 1],
    ['knob-a', 1],
    ['knob-b', 1],
  ]);
  there = true;
  readonly #listeners = new Map<string, ((edge: GpioEdge) => void)[]>();

  async read(handle: string): Promise<0 | 1> {
    const level = this.levels.get(handle);
    if (!this.there || level === undefined) throw new CoreError('NOT_INITIALIZED', { bus: 'GPIO' });
    return level;
  }

  onEdge(handle: string, listener: (edge: GpioEdge) => void): Disposable {
    this.#listeners.set(handle, [...(this.#listeners.get(handle) ?? []), listener]);
    return { [Symbol.dispose]: () => this.#listeners.delete(handle) };
  }

  set(handle: string, level: 0 | 1, lost = 0): void {
    this.levels.set(handle, level);
    if (!this.there) return;
    const edge = { handle, level, at: 0, atUs: 0, timestampUs: 0, lost };
    for (const listener of this.#listeners.get(handle) ?? []) listener(edge);
  }

  /** Detents: `a` comes first where it is clockwise. */
  turn(detents: number): void {
    const [first, second] = detents > 0 ? ['knob-a', 'knob-b'] : ['knob-b', 'knob-a'];
    for (let detent = 0; detent < Math.abs(detents); detent++)
      for (const level of [0, 1] as const) for (const line of [first, second] as const) this.set(line, level);
  }
}

async function start(inputs: Inputs, config: object = CONFIG) {
  const lines = new Lines();
  const host = await createTestHost(plugin, {
    manifest: MANIFEST,
    config,
    services: [given(gpio, lines), [inputsRef, inputs]],
  });
  return { host, lines };
}

describe('input-gpio', () => {
  describe('is a source of keys and knobs', () => {
    inputContract(
      async (inputs) => {
        const { host, lines } = await start(inputs);
        return {
          // Active low: pressed is 0.
          key: { name: 'ok', press: (phase) => lines.set('button', phase === 'down' ? 0 : 1) },
          knob: { name: 'volume', turn: (detents) => lines.turn(detents) },
          plug(there) {
            lines.there = there;
            if (there) lines.levels.set('button', 1);
            host.publish('bridge.link', there ? { state: 'up' } : { state: 'down', reason: 'pulled out' });
          },
          [Symbol.asyncDispose]: () => host[Symbol.asyncDispose](),
        };
      },
      { keys: true, knobs: true, plug: true },
    );
  });

  it('waits out the bouncing of a contact, and reads what was lost', async () => {
    const inputs = new RecordingInputs();
    const { host, lines } = await start(inputs, { keys: [{ name: 'ok', handle: 'button', debounceMs: 30 }] });
    await using _ = host;
    for (const level of [0, 1, 0, 1, 0, 1, 0] as const) lines.set('button', level);
    await inputs.until(1, 'down');
    lines.set('button', 1);
    await inputs.until(2, 'up');
    assert.deepEqual(
      inputs.events.map((event) => event.kind === 'key' && event.phase),
      ['down', 'up'],
    );
    wellFormed(inputs);
  });

  it('waits for a bridge that is not there at the start', async () => {
    const inputs = new RecordingInputs();
    const lines = new Lines();
    lines.there = false;
    await using host = await createTestHost(plugin, {
      manifest: MANIFEST,
      config: CONFIG,
      services: [given(gpio, lines), [inputsRef, inputs]],
    });
    assert.equal(inputs.problems.length, 1);
    lines.there = true;
    host.publish('bridge.link', { state: 'up' });
    await eventually(() => inputs.problems.at(-1) === undefined && inputs.problems.length === 2, 'it is there');
    lines.set('button', 0);
    await inputs.until(1, 'down');
  });

  it('repeats a key that is held', async () => {
    const inputs = new RecordingInputs();
    const key = { name: 'up', handle: 'button', debounceMs: 0, repeatDelayMs: 5, repeatEveryMs: 5 };
    const { host, lines } = await start(inputs, { keys: [key] });
    await using _ = host;
    lines.set('button', 0);
    await inputs.until(4, 'down and repeats');
    lines.set('button', 1);
    await eventually(() => inputs.events.at(-1)?.kind === 'key' && phaseOf(inputs) === 'up', 'up');
    wellFormed(inputs);
  });
});

function phaseOf(inputs: RecordingInputs): string | undefined {
  const last = inputs.events.at(-1);
  return last?.kind === 'key' ? last.phase : undefined;
}
