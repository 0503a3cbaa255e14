/** The form of a scenario file; manifests/schema/scenario.json is made from it. */

import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';

export const MOST_STEPS = 1_000;
export const MOST_BYTES = 512 << 10;
/** Maximum milliseconds of a whole scenario. */
export const MOST_MS = 3_600_000;
const MOST_WAIT_MS = 60_000;

export const NAME: JsonSchema = { type: 'string', pattern: '^[a-z][a-z0-9-]{0,39}$' };
export const TITLE: JsonSchema = { type: 'string', minLength: 1, maxLength: 120 };
const MS: JsonSchema = { type: 'integer', minimum: 0, maximum: MOST_MS };

const STEP: JsonSchema = {
  ...exactly(
    {
      do: { type: 'string', pattern: '^sim\\.[a-z]+$', description: 'a control of the simulator: `sim.drive`' },
      params: { type: 'object', description: 'of that control' },
      after: { ...MS, description: 'milliseconds after the step before it began' },
      at: { ...MS, description: 'milliseconds after the scenario began' },
      expect: {
        ...exactly(
          {
            event: { type: 'string', maxLength: 255, description: 'topic of an event that must follow' },
            payload: { type: 'object', description: 'members that it must have' },
            withinMs: { type: 'integer', minimum: 1, maximum: MOST_WAIT_MS, default: 5_000 },
          },
          ['event'],
        ),
        description: 'what the step must lead to before the next one begins',
      },
      note: { type: 'string', plainText: 'lines', maxLength: 300, description: 'for people' },
    },
    [],
  ),
  anyOf: [{ required: ['do'] }, { required: ['expect'] }],
  not: { required: ['at', 'after'] },
};

export const SCENARIO_SCHEMA: JsonSchema = {
  $schema: 'http://json-schema.org/draft-07/schema#',
  $id: 'https://device-core.invalid/schema/scenario.json',
  title: 'Scenario of the simulator',
  description: 'What happens to a simulated device, step by step. `devicectl sim play` plays it.',
  ...exactly(
    {
      scenario: { const: 1 },
      name: NAME,
      title: { ...TITLE, plainText: 'line' },
      description: { type: 'string', plainText: 'lines', maxLength: 2_000 },
      steps: { type: 'array', minItems: 1, maxItems: MOST_STEPS, items: STEP },
    },
    ['scenario', 'name', 'steps'],
  ),
};
