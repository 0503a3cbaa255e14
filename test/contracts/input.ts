/** What every source of touch and keys must do, whatever device is behind it. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { FEED_LIMITS } from '@device-core/plugin-api/input';
import { PANEL_UNITS } from '@device-core/plugin-api/scene';
import type {
  InputDescription,
  InputEvent,
  InputSource,
  Inputs,
  TouchInput,
} from '@device-core/plugin-api/services/input';
import { eventually } from '../fixtures/eventually.ts';

/** The device, in the hands of a person. What it cannot do is absent. */
export interface InputUnderTest extends AsyncDisposable {
  /** A finger, in panel units. */
  readonly touch?: (finger: number, phase: 'down' | 'move' | 'up', x: number, y: number) => Promise<void> | void;
  /** Units by which a device of whole steps may be beside it; 0 if absent. */
  readonly beside?: number;
  readonly key?: { readonly name: string; press(phase: 'down' | 'up'): Promise<void> | void };
  readonly knob?: { readonly name: string; turn(detents: number): Promise<void> | void };
  /** It goes, and is there again. */
  readonly plug?: (there: boolean) => Promise<void> | void;
}

interface Registered {
  readonly description: InputDescription;
  disposed: boolean;
}

/** The registry, as a source sees it: it writes down what comes, and can be slow or refuse. */
export class RecordingInputs implements Inputs {
  readonly sources: Registered[] = [];
  readonly pushes: (readonly InputEvent[])[] = [];
  readonly problems: (string | undefined)[] = [];
  /** Most pushes that were under way at once. */
  most = 0;
  #under = 0;
  #gate: { readonly open: Promise<void>; resolve(): void } | undefined;
  #refuse = 0;

  get events(): readonly InputEvent[] {
    return this.pushes.flat();
  }

  get touches(): readonly TouchInput[] {
    return this.events.filter((event) => event.kind === 'touch');
  }

  /** Pushes wait until release(). */
  hold(): void {
    if (this.#gate) return;
    let resolve = (): void => undefined;
    const open = new Promise<void>((done) => {
      resolve = done;
    });
    this.#gate = { open, resolve };
  }

  release(): void {
    this.#gate?.resolve();
    this.#gate = undefined;
  }

  /** The next pushes fail. */
  refuse(count: number): void {
    this.#refuse = count;
  }

  register(description: InputDescription): InputSource {
    const registered = { description, disposed: false };
    this.sources.push(registered);
    return {
      push: async (events) => {
        this.most = Math.max(this.most, ++this.#under);
        try {
          await this.#gate?.open;
          if (this.#refuse-- > 0) throw new Error('refused by the test');
          this.pushes.push(events);
        } finally {
          this.#under--;
        }
      },
      problem: async (reason) => void this.problems.push(reason),
      [Symbol.asyncDispose]: async () => {
        registered.disposed = true;
      },
    };
  }

  /** Resolves when it was told so. */
  until(count: number, what: string): Promise<unknown> {
    return eventually(() => this.events.length >= count, `${count} events: ${what}`);
  }
}

/** No end without a beginning, nothing outside of the panel, no time that runs back, no push that is too large. */
export function wellFormed(inputs: RecordingInputs): void {
  const down = new Set<string>();
  let last = Number.NEGATIVE_INFINITY;
  assert.ok(inputs.most <= 1, 'one push at a time');
  for (const push of inputs.pushes) assert.ok(push.length > 0 && push.length <= FEED_LIMITS.batch, 'size of a push');
  for (const event of inputs.events) {
    assert.ok(Number.isFinite(event.at) && event.at >= last, 'times run on');
    last = event.at;
    if (event.kind === 'rotary') {
      assert.ok(Number.isInteger(event.delta) && event.delta !== 0);
      continue;
    }
    const what = event.kind === 'touch' ? `finger ${event.id}` : `key ${event.name}`;
    if (event.kind === 'touch')
      assert.ok(
        [event.x, event.y].every((value) => value >= 0 && value <= PANEL_UNITS),
        'on the panel',
      );
    if (event.phase === 'down') assert.ok(!down.has(what), `${what} is down already`);
    else assert.ok(down.has(what), `${event.phase} of ${what}, which is not down`);
    if (event.phase === 'down') down.add(what);
    else if (event.phase === 'up' || event.phase === 'cancel') down.delete(what);
  }
}

/** Declares the tests; call it inside a `describe`. `has`: what the device can do, as the tests are declared before it is there. */
export function inputContract(
  open: (inputs: Inputs) => Promise<InputUnderTest>,
  has: { readonly touch?: boolean; readonly keys?: boolean; readonly knobs?: boolean; readonly plug?: boolean },
): void {
  const starting = async () => {
    const inputs = new RecordingInputs();
    return { inputs, device: await open(inputs) };
  };

  it('registers one source and says what it can send, and takes it back at its end', async () => {
    const { inputs, device } = await starting();
    await eventually(() => inputs.sources.length === 1, 'a source');
    const { description } = inputs.sources[0]!;
    assert.equal(description.touch, has.touch === true);
    for (const name of [device.key?.name, device.knob?.name].filter((one) => one !== undefined))
      assert.ok(description.keys.includes(name), name);
    await device[Symbol.asyncDispose]();
    await eventually(() => inputs.sources.every(({ disposed }) => disposed), 'the end of the source');
    assert.equal(inputs.events.length, 0, 'nothing was touched');
  });

  if (has.touch) {
    it('tells a finger where it is, in panel units', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      const beside = device.beside ?? 0;
      const way = [
        ['down', 10, 700],
        ['move', 360.5, 360],
        ['up', 719, 1],
      ] as const;
      for (const [phase, x, y] of way) {
        await device.touch?.(0, phase, x, y);
        await eventually(() => inputs.touches.some((touch) => near(touch, x, y, beside)), `${phase} at ${x}, ${y}`);
      }
      await eventually(() => inputs.touches.at(-1)?.phase === 'up', 'the finger is lifted');
      assert.equal(inputs.touches[0]?.phase, 'down');
      assert.ok(near(inputs.touches[0]!, 10, 700, beside), 'it comes where it is put down');
      assert.equal(new Set(inputs.touches.map(({ id }) => id)).size, 1);
      wellFormed(inputs);
    });

    it('tells two fingers apart', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      const beside = device.beside ?? 0;
      await device.touch?.(0, 'down', 100, 100);
      await device.touch?.(1, 'down', 600, 600);
      await device.touch?.(0, 'up', 100, 100);
      await device.touch?.(1, 'move', 500, 500);
      await device.touch?.(1, 'up', 500, 500);
      await eventually(() => inputs.touches.filter(({ phase }) => phase === 'up').length === 2, 'both are lifted');
      const [first, second] = inputs.touches.filter(({ phase }) => phase === 'down');
      assert.notEqual(first?.id, second?.id);
      const last = inputs.touches.findLast(({ id }) => id === second?.id);
      assert.ok(last?.phase === 'up' && near(last, 500, 500, beside));
      wellFormed(inputs);
    });

    it('merges moves while the registry is busy, and loses neither a beginning nor an end', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      inputs.hold();
      for (let round = 0; round < 20; round++) {
        await device.touch?.(0, 'down', 300, 300);
        for (let move = 0; move < 50; move++) await device.touch?.(0, 'move', 300 + move, 300 + round);
        await device.touch?.(0, 'up', 349, 300 + round);
      }
      inputs.release();
      await eventually(() => inputs.touches.filter(({ phase }) => phase === 'up').length === 20, 'twenty ends');
      assert.equal(inputs.touches.filter(({ phase }) => phase === 'down').length, 20);
      assert.ok(near(inputs.touches.at(-1)!, 349, 319, device.beside ?? 0), 'it ends where it ended');
      wellFormed(inputs);
    });
  }

  const { keys, knobs } = has;
  if (keys)
    it('tells a key once down and once up', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      for (const phase of ['down', 'up', 'down', 'up'] as const) {
        const before = inputs.events.length;
        await device.key?.press(phase);
        await inputs.until(before + 1, `${device.key?.name} ${phase}`);
      }
      const told = inputs.events.map((event) => (event.kind === 'key' ? `${event.name} ${event.phase}` : event.kind));
      const name = device.key?.name;
      assert.deepEqual(told, [`${name} down`, `${name} up`, `${name} down`, `${name} up`]);
      wellFormed(inputs);
    });

  if (knobs)
    it('tells a knob in detents, clockwise is positive', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      const sum = () => inputs.events.reduce((all, event) => all + (event.kind === 'rotary' ? event.delta : 0), 0);
      await device.knob?.turn(7);
      await eventually(() => sum() === 7, 'seven detents clockwise');
      await device.knob?.turn(-10);
      await eventually(() => sum() === -3, 'ten detents back');
      wellFormed(inputs);
    });

  it('goes on after the registry refused what it pushed', async () => {
    const { inputs, device } = await starting();
    await using _ = device;
    const act = async (phase: 'down' | 'up') => {
      if (device.touch) await device.touch(0, phase, 50, 50);
      else if (device.key) await device.key.press(phase);
      else await device.knob?.turn(phase === 'down' ? 1 : -1);
    };
    inputs.refuse(1);
    await act('down');
    await eventually(() => inputs.most > 0, 'the push that is refused');
    await act('up');
    await inputs.until(1, 'the end comes through, or nothing of it matters');
    await act('down');
    await act('up');
    await inputs.until(3, 'what came after it');
  });

  if (has.plug)
    it('tells when its device is gone, says nothing meanwhile, and works when it is back', async () => {
      const { inputs, device } = await starting();
      await using _ = device;
      const act = async (phase: 'down' | 'up') => {
        if (device.touch) await device.touch(0, phase, 50, 50);
        else await device.key?.press(phase);
      };
      await act('down');
      await inputs.until(1, 'the finger or key that is down');
      await device.plug?.(false);
      await eventually(() => inputs.problems.length === 1, 'the device is gone');
      assert.equal(typeof inputs.problems[0], 'string');
      const before = inputs.events.length;
      await device.plug?.(true);
      await eventually(() => inputs.problems.length === 2, 'the device is back');
      assert.equal(inputs.problems[1], undefined);
      assert.equal(inputs.events.length, before, 'the registry has lifted what was down');
      await act('down');
      await act('up');
      await inputs.until(before + 2, 'it works again');
      assert.deepEqual(
        inputs.events.slice(before).map((event) => event.kind !== 'rotary' && event.phase),
        ['down', 'up'],
      );
    });
}

function near({ x, y }: TouchInput, wantedX: number, wantedY: number, beside: number): boolean {
  return Math.abs(x - wantedX) <= beside + 1e-9 && Math.abs(y - wantedY) <= beside + 1e-9;
}
