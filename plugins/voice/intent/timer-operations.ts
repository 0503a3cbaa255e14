/** The timers for tools: listed, set, and ended. */
import { CoreError } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Timer, TimersState } from '@device-core/plugin-api/services/timers';
import { LONGEST_SECONDS, type Timers } from './timers.ts';

const ID: JsonSchema = { type: 'string', minLength: 1, maxLength: 64 };
const TIMER: JsonSchema = exactly({
  id: ID,
  at: { type: 'integer', description: 'when it rings or rang, milliseconds since the Unix epoch' },
  seconds: { type: 'number', description: 'its whole length' },
});
const LIST: JsonSchema = { type: 'array', items: TIMER };

export function timerOperations(timers: Timers): readonly Operation<never, unknown>[] {
  const list: Operation<object, TimersState> = {
    name: 'timers.list',
    summary: 'List the timers that run and those that ring',
    params: exactly({}, []),
    result: exactly({ running: LIST, ringing: LIST }),
    capability: 'audio',
    cli: { columns: [['TIMER', '{id}'], 'seconds', 'at'], empty: 'no timer is running' },
    rest: { method: 'GET', path: '/timers' },
    errors: [],
    run: async () => timers.state,
  };
  const set: Operation<{ readonly seconds: number }, Timer & { readonly kept: boolean }> = {
    name: 'timers.set',
    summary: 'Set a timer',
    params: exactly({ seconds: { type: 'integer', minimum: 1, maximum: LONGEST_SECONDS } }),
    result: exactly({
      ...(TIMER.properties as Readonly<Record<string, JsonSchema>>),
      kept: { type: 'boolean', description: 'it survives a loss of power' },
    }),
    capability: 'audio',
    rest: { method: 'POST', path: '/timers' },
    errors: ['QUEUE_FULL'],
    run: ({ seconds }) => timers.set(seconds),
  };
  const cancel: Operation<{ readonly timer: string }, object> = {
    name: 'timers.cancel',
    summary: 'End a timer that runs, or the alarm of one that rings',
    params: exactly({ timer: ID }),
    result: exactly({}),
    capability: 'audio',
    cli: { done: '{timer} is ended' },
    rest: { method: 'DELETE', path: '/timers/:timer' },
    errors: ['PARAMS_INVALID'],
    async run({ timer }) {
      if (await timers.cancel(timer)) return {};
      throw new CoreError('PARAMS_INVALID', { where: 'timer', reason: `there is no timer ${timer}` });
    },
  };
  const silence: Operation<object, { readonly silenced: boolean }> = {
    name: 'timers.silence',
    summary: 'End the alarm of the timers that ring',
    params: exactly({}, []),
    result: exactly({ silenced: { type: 'boolean', description: 'false: nothing rang' } }),
    capability: 'audio',
    rest: { method: 'POST', path: '/timers/silence' },
    errors: [],
    run: async () => ({ silenced: timers.silence() }),
  };
  return [list, set, cancel, silence] as readonly Operation<never, unknown>[];
}
