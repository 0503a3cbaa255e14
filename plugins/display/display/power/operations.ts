import { exactly } from '@device-core/plugin-api/operation-kit';
import { PANEL_POWER, type PanelPower } from '@device-core/plugin-api/services/display';
import type { Operation } from '@device-core/plugin-api/services/operations';
import type { PanelLight } from './light.ts';

const POWER = { enum: PANEL_POWER };
const LEVEL = { type: 'number', minimum: 0, maximum: 1 };

export function powerOperations(light: PanelLight): readonly Operation<never, unknown>[] {
  const power: Operation<{ readonly power: PanelPower }, { readonly power: PanelPower }> = {
    name: 'display.power',
    summary: 'Light, dim or switch off the panel',
    description:
      'As it was asked for it stays until something happens: a touch, a wake word, a question, a critical event, or a person who comes.',
    params: exactly({ power: POWER }),
    result: exactly({ power: POWER }),
    capability: 'display.control',
    cli: { fixed: ['power'], done: 'the panel is {power}' },
    rest: { method: 'PUT', path: '/display/power' },
    errors: [],
    async run({ power: wanted }) {
      await light.power(wanted);
      return { power: wanted };
    },
  };
  const brightness: Operation<{ readonly level: number }, { readonly level: number }> = {
    name: 'display.brightness',
    summary: 'Set the brightness of the panel',
    description:
      'It is kept as the setting `display.brightness`. What is too dark to be read becomes the least that can be.',
    params: exactly({ level: LEVEL }),
    result: exactly({ level: LEVEL }),
    capability: 'display.control',
    cli: { fixed: ['level'], done: 'brightness {level}' },
    rest: { method: 'PUT', path: '/display/brightness' },
    errors: ['CONFIG_LOCKED', 'STATE_UNWRITABLE', 'QUEUE_FULL'],
    run: async ({ level }) => ({ level: await light.brightness(level) }),
  };
  return [power, brightness] as readonly Operation<never, unknown>[];
}
