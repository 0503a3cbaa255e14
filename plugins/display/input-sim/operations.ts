import { type Clock, CoreError } from '@device-core/plugin-api';
import type { InputFeed } from '@device-core/plugin-api/input';
import { exactly } from '@device-core/plugin-api/operation-kit';
import { PANEL_UNITS } from '@device-core/plugin-api/scene';
import type { TouchInput } from '@device-core/plugin-api/services/input';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';

const UNITS: JsonSchema = { type: 'number', minimum: 0, maximum: PANEL_UNITS, description: 'panel units' };
const MOST_MS = 10_000;
const HOLD: JsonSchema = { type: 'integer', minimum: 1, maximum: MOST_MS };
const TAP_MS = 50;
const SWIPE_MS = 200;
const STEPS = 8;
/** Fingers of taps and swipes; those that are named by callers lie below. */
const FIRST_OWN = 100;
const OWN = 100;

interface Touch {
  readonly x: number;
  readonly y: number;
  readonly ms?: number;
  readonly phase?: TouchInput['phase'] | 'tap';
  readonly finger?: number;
}
interface Swipe {
  readonly x: number;
  readonly y: number;
  readonly toX: number;
  readonly toY: number;
  readonly ms?: number;
}
interface Key {
  readonly name: string;
  readonly phase?: 'press' | 'down' | 'up';
  readonly ms?: number;
  readonly delta?: number;
}

export function inputOperations(parts: {
  readonly feed: InputFeed;
  readonly keys: readonly string[];
  readonly clock: Clock;
}): readonly Operation<never, unknown>[] {
  const { feed, keys, clock } = parts;
  let fingers = 0;
  const ownFinger = () => FIRST_OWN + (fingers++ % OWN);
  const put = (id: number, phase: TouchInput['phase'], x: number, y: number) =>
    feed.add({ kind: 'touch', id, phase, x, y, at: clock.monotonic() });
  /** A finger that is lifted by a caller who goes away is as good as cancelled. */
  const held = async (signal: AbortSignal, work: () => Promise<void>, cancel: () => void): Promise<void> => {
    try {
      await work();
    } catch (error) {
      cancel();
      throw error;
    } finally {
      await feed.settled();
    }
    signal.throwIfAborted();
  };

  const touch: Operation<Touch, object> = {
    name: 'display.touch',
    summary: 'Touch the panel',
    description:
      'A finger is put down, held for `ms`, and lifted; 500 ms or more are a long press. With `phase` it is one event of a finger that the caller leads. ' +
      'Answers when it was routed. It never reaches prompts and the layer of the system, except on simulated devices.',
    params: exactly(
      {
        x: UNITS,
        y: UNITS,
        ms: { ...HOLD, default: TAP_MS },
        phase: { enum: ['tap', 'down', 'move', 'up', 'cancel'], default: 'tap' },
        finger: { type: 'integer', minimum: 0, maximum: 9, default: 0, description: 'of a phase but `tap`' },
      },
      ['x', 'y'],
    ),
    result: exactly({}),
    capability: 'system.display',
    cli: { fixed: ['x', 'y'], done: 'touched' },
    rest: { method: 'POST', path: '/display/input' },
    errors: ['CANCELLED'],
    async run({ x, y, ms = TAP_MS, phase = 'tap', finger = 0 }, { signal }) {
      if (phase !== 'tap') {
        put(finger, phase, x, y);
        await feed.settled();
        return {};
      }
      const id = ownFinger();
      const tap = async () => {
        put(id, 'down', x, y);
        await clock.sleep(ms, signal);
        put(id, 'up', x, y);
      };
      await held(signal, tap, () => put(id, 'cancel', x, y));
      return {};
    },
  };
  const swipe: Operation<Swipe, object> = {
    name: 'display.swipe',
    summary: 'Swipe over the panel',
    description: 'From the lower edge upwards it is the gesture that goes home.',
    params: exactly({ x: UNITS, y: UNITS, toX: UNITS, toY: UNITS, ms: { ...HOLD, default: SWIPE_MS } }, [
      'x',
      'y',
      'toX',
      'toY',
    ]),
    result: exactly({}),
    capability: 'system.display',
    cli: { fixed: ['x', 'y', 'toX', 'toY'], done: 'swiped' },
    rest: { method: 'POST', path: '/display/input/swipe' },
    errors: ['CANCELLED'],
    async run({ x, y, toX, toY, ms = SWIPE_MS }, { signal }) {
      const id = ownFinger();
      const move = async () => {
        put(id, 'down', x, y);
        for (let step = 1; step <= STEPS; step++) {
          await clock.sleep(ms / STEPS, signal);
          const part = step / STEPS;
          put(id, step === STEPS ? 'up' : 'move', x + (toX - x) * part, y + (toY - y) * part);
        }
      };
      await held(signal, move, () => put(id, 'cancel', x, y));
      return {};
    },
  };
  const key: Operation<Key, object> = {
    name: 'display.key',
    summary: 'Press a key of the device, or turn a knob',
    params: exactly(
      {
        name: { type: 'string', minLength: 1, maxLength: 32, examples: keys },
        phase: { enum: ['press', 'down', 'up'], default: 'press' },
        ms: { ...HOLD, default: TAP_MS },
        delta: { type: 'integer', minimum: -100, maximum: 100, description: 'detents of a knob' },
      },
      ['name'],
    ),
    result: exactly({}),
    capability: 'system.display',
    cli: { fixed: ['name'], done: 'pressed {name}' },
    rest: { method: 'POST', path: '/display/input/key' },
    errors: ['PARAMS_INVALID', 'CANCELLED'],
    async run({ name, phase = 'press', ms = TAP_MS, delta }, { signal }) {
      if (!keys.includes(name))
        throw new CoreError('PARAMS_INVALID', { where: '/name', reason: `${name} is none of ${keys.join(', ')}` });
      const put = (phase: 'down' | 'up') => feed.add({ kind: 'key', name, phase, at: clock.monotonic() });
      if (delta !== undefined) feed.add({ kind: 'rotary', name, delta, at: clock.monotonic() });
      else if (phase !== 'press') put(phase);
      else {
        const press = async () => {
          put('down');
          await clock.sleep(ms, signal);
          put('up');
        };
        return held(signal, press, () => put('up')).then(() => ({}));
      }
      await feed.settled();
      return {};
    },
  };
  return [touch, swipe, key] as readonly Operation<never, unknown>[];
}
