import { exactly } from '@device-core/plugin-api/operation-kit';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { SimPanel, SimState } from './sim-panel.ts';

const result = exactly(
  {
    driver: { type: 'string' },
    width: { type: 'integer', description: 'pixels' },
    height: { type: 'integer' },
    format: { enum: ['rgb565', 'xrgb8888'] },
    refresh: { type: 'number', description: 'Hz' },
    brightness: { type: 'boolean', description: 'it can be dimmed' },
    power: { type: 'boolean', description: 'it can be switched off' },
    plugged: { type: 'boolean' },
    on: { type: 'boolean' },
    level: { type: 'number', minimum: 0, maximum: 1, description: 'how bright it is' },
    frames: { type: 'integer', description: 'that it took since the plugin started' },
    pixels: { type: 'integer', description: 'of those frames' },
    torn: { type: 'integer', description: 'frames that came while their rows were drawn; with tearing alone' },
    seq: { type: 'integer', description: 'of the last frame' },
    at: { type: 'number', description: 'when the last frame was seen, monotonic milliseconds' },
  },
  ['driver', 'width', 'height', 'format', 'refresh', 'plugged', 'on', 'level', 'frames', 'pixels', 'torn'],
);
const capability = 'system.display';

/** The simulated panel's controls: its cable, and how it is. */
export function panelOperations(
  panel: SimPanel,
): readonly (Operation<object, SimState> | Operation<{ plugged: boolean }, SimState>)[] {
  const state: Operation<object, SimState> = {
    name: 'panel.state',
    summary: 'How the simulated panel is: power, brightness, frames',
    capability,
    params: exactly({}),
    result,
    rest: { method: 'GET', path: '/panel' },
    errors: [],
    run: async () => panel.state(),
  };
  const plug: Operation<{ plugged: boolean }, SimState> = {
    name: 'panel.plug',
    summary: 'Pull the cable of the simulated panel, or put it back',
    description:
      'What is painted meanwhile is refused with PANEL_UNAVAILABLE. When it is back, a whole frame is painted.',
    capability,
    params: exactly({ plugged: { type: 'boolean' } }),
    result,
    rest: { method: 'PUT', path: '/panel/plug' },
    errors: [],
    async run({ plugged }) {
      panel.plug(plugged);
      return panel.state();
    },
  };
  return [state, plug];
}
