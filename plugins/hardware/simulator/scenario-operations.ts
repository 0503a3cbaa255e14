/** Scenarios as operations: recorded, kept, played. */

import { reasonOf } from '@device-core/plugin-api';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { CAPABILITY } from './operations.ts';
import { lengthOf } from './scenario.ts';
import {
  SCENARIO_BUSY,
  SCENARIO_FAILED,
  SCENARIO_INVALID,
  SCENARIO_KEPT,
  SCENARIO_NOT_FOUND,
} from './scenario-errors.ts';
import { MOST_BYTES, MOST_MS, NAME, TITLE } from './scenario-schema.ts';
import type { Stage } from './stage.ts';

const YAML: JsonSchema = { type: 'string', minLength: 1, maxLength: MOST_BYTES, description: 'the file as text' };
const COUNT: JsonSchema = { type: 'integer', minimum: 0 };
const SCENARIO = {
  name: NAME,
  title: TITLE,
  description: { type: 'string' },
  steps: COUNT,
  ms: { ...COUNT, description: 'until its last step' },
  shipped: { type: 'boolean', description: 'it comes with the simulator' },
} as const;

export function scenarioOperations(stage: Stage): readonly Operation<never, unknown>[] {
  const rows = [...recording(stage), ...shelved(stage)];
  return rows as unknown as readonly Operation<never, unknown>[];
}

function recording(stage: Stage) {
  const record: Operation<{ readonly name: string; readonly title?: string }, object> = {
    name: 'sim.record',
    summary: 'Record as a scenario what is done to the device from now on',
    description: 'Every control counts, wherever it is used: on the page, by devicectl, over REST and RPC.',
    capability: CAPABILITY,
    params: exactly({ name: NAME, title: TITLE }, ['name']),
    result: exactly({}),
    rest: { method: 'POST', path: '/sim/record' },
    cli: { done: 'recording {name}; devicectl sim stop ends it' },
    errors: [SCENARIO_BUSY, SCENARIO_KEPT],
    async run({ name, title }) {
      await stage.record(name, title);
      return {};
    },
  };
  const stop: Operation<object, object> = {
    name: 'sim.stop',
    summary: 'End what is recorded, and keep it; or end the scenario that is played',
    capability: CAPABILITY,
    params: exactly({}),
    result: exactly({ recorded: NAME, stopped: NAME, steps: COUNT }, []),
    rest: { method: 'POST', path: '/sim/stop' },
    cli: { done: ['recorded {recorded}, {steps} steps', 'stopped {stopped}', 'there was nothing to stop'] },
    errors: [SCENARIO_KEPT, ...STATE_ERRORS],
    run: () => stage.stop(),
  };
  const play: Operation<{ readonly name?: string; readonly yaml?: string; readonly wait?: boolean }, object> = {
    name: 'sim.play',
    summary: 'Play a scenario',
    description:
      'One that is kept, by its name, or one as text. With `wait` it answers at its end, and ends with the call.',
    capability: CAPABILITY,
    params: {
      ...exactly({ name: NAME, yaml: YAML, wait: { type: 'boolean', default: false } }, []),
      oneOf: [{ required: ['name'] }, { required: ['yaml'] }],
    },
    result: exactly({ name: NAME, steps: COUNT, ms: SCENARIO.ms }),
    rest: { method: 'POST', path: '/sim/play', bodyLimit: 2 * MOST_BYTES },
    cli: { hide: true },
    timeoutMs: MOST_MS + 600_000,
    errors: [SCENARIO_BUSY, SCENARIO_INVALID, SCENARIO_NOT_FOUND, SCENARIO_FAILED, 'CANCELLED'],
    async run({ wait, ...what }, { caller, signal }) {
      const { done, stop, ...playing } = await stage.play(what, caller);
      if (!wait) return playing;
      const gone = () => stop.abort(signal.reason);
      signal.addEventListener('abort', gone, { once: true });
      try {
        await done;
      } finally {
        signal.removeEventListener('abort', gone);
      }
      return playing;
    },
  };
  return [record, stop, play];
}

function shelved(stage: Stage) {
  const seen = async (name: string, shipped: boolean) => {
    const { title, description, steps } = await stage.load({ name });
    return {
      name,
      ...(title && { title }),
      ...(description && { description }),
      steps: steps.length,
      ms: lengthOf(steps),
      shipped,
    };
  };
  const list: Operation<object, object> = {
    name: 'sim.scenarios',
    summary: 'Scenarios that can be played',
    capability: CAPABILITY,
    params: exactly({}),
    result: exactly({
      scenarios: { type: 'array', items: exactly({ ...SCENARIO, problem: { type: 'string' } }, ['name', 'shipped']) },
    }),
    rest: { method: 'GET', path: '/sim/scenarios' },
    cli: { command: 'sim scenarios', aliases: ['sim list'], columns: ['name', 'title', 'steps', 'ms', 'problem'] },
    errors: [],
    async run() {
      const scenarios = [];
      for (const { name, shipped } of await stage.shelf.list()) {
        try {
          scenarios.push(await seen(name, shipped));
        } catch (error) {
          scenarios.push({ name, shipped, problem: reasonOf(error) });
        }
      }
      return { scenarios };
    },
  };
  const show: Operation<{ readonly name: string }, object> = {
    name: 'sim.scenario',
    summary: 'A scenario as its file',
    capability: CAPABILITY,
    params: exactly({ name: NAME }),
    result: exactly({ name: NAME, yaml: YAML }),
    rest: { method: 'GET', path: '/sim/scenarios/:name' },
    cli: { hide: true },
    errors: [SCENARIO_NOT_FOUND],
    run: async ({ name }) => ({ name, yaml: await stage.shelf.read(name) }),
  };
  const save: Operation<{ readonly name: string; readonly yaml: string }, object> = {
    name: 'sim.save',
    summary: 'Keep a scenario',
    capability: CAPABILITY,
    params: exactly({ name: NAME, yaml: YAML }),
    result: exactly({ steps: COUNT }),
    rest: { method: 'PUT', path: '/sim/scenarios/:name', bodyLimit: 2 * MOST_BYTES },
    cli: { fixed: ['name'], stdin: 'yaml', done: 'kept {name}, {steps} steps' },
    errors: [SCENARIO_INVALID, SCENARIO_KEPT, ...STATE_ERRORS],
    run: async ({ name, yaml }) => ({ steps: (await stage.save(name, yaml)).steps.length }),
  };
  const remove: Operation<{ readonly name: string }, object> = {
    name: 'sim.remove',
    summary: 'Remove a scenario',
    capability: CAPABILITY,
    params: exactly({ name: NAME }),
    result: exactly({}),
    rest: { method: 'DELETE', path: '/sim/scenarios/:name' },
    cli: { done: 'removed {name}' },
    errors: [SCENARIO_NOT_FOUND, SCENARIO_KEPT],
    async run({ name }) {
      await stage.shelf.remove(name);
      return {};
    },
  };
  return [list, show, save, remove];
}
