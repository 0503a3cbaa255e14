/** The alarms for tools and pages: listed, set, changed, and ended. */
import { CoreError } from '@device-core/plugin-api';
import { exactly } from '@device-core/plugin-api/operation-kit';
import {
  type Alarm,
  type AlarmChange,
  type AlarmRequest,
  type AlarmsState,
  WEEKDAYS,
} from '@device-core/plugin-api/services/alarms';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Alarms } from './alarms.ts';
import { LONGEST_SECONDS, MOST_TEXT } from './entry.ts';
import { alarmsPage } from './page.ts';

const ID: JsonSchema = { type: 'string', minLength: 1, maxLength: 64 };
const TIME: JsonSchema = {
  type: 'string',
  pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$',
  description: 'on the wall of the device, like 07:00',
};
const DAYS: JsonSchema = {
  type: 'array',
  items: { enum: WEEKDAYS },
  maxItems: 7,
  description: 'it repeats on these; once without',
};
const TEXT: JsonSchema = { type: 'string', maxLength: MOST_TEXT };
const KIND: JsonSchema = { enum: ['alarm', 'reminder'] };
const AT: JsonSchema = { type: 'integer', description: 'milliseconds since the Unix epoch' };
const SECONDS: JsonSchema = { type: 'integer', minimum: 1, maximum: LONGEST_SECONDS };
const ALARM: Readonly<Record<string, JsonSchema>> = {
  id: ID,
  kind: KIND,
  time: TIME,
  days: DAYS,
  text: TEXT,
  on: { type: 'boolean' },
  next: { ...AT, description: 'when it rings next, milliseconds since the Unix epoch; absent while it is off' },
  snoozed: { const: true },
};
const KEPT: JsonSchema = exactly({ ...ALARM, kept: { type: 'boolean', description: 'it survives a loss of power' } }, [
  'id',
  'kind',
  'on',
  'kept',
]);

type Kept = Alarm & { readonly kept: boolean };

export function alarmOperations(alarms: Alarms): readonly Operation<never, unknown>[] {
  const list: Operation<object, AlarmsState> = {
    name: 'alarms.list',
    summary: 'List the alarms and reminders, those that ring, and those that were missed',
    params: exactly({}, []),
    result: exactly({
      alarms: { type: 'array', items: exactly(ALARM, ['id', 'kind', 'on']) },
      ringing: { type: 'array', items: exactly({ id: ID, kind: KIND, at: AT, text: TEXT }, ['id', 'kind', 'at']) },
      missed: {
        type: 'array',
        items: exactly({ id: ID, kind: KIND, at: AT, text: TEXT, why: { enum: ['off', 'unanswered'] } }, [
          'id',
          'kind',
          'at',
          'why',
        ]),
      },
      zone: { type: 'string' },
    }),
    capability: 'audio',
    cli: {
      columns: [['ALARM', '{id}'], 'kind', 'time', 'days', ['NEXT', '{next:when}'], 'on', 'text'],
      empty: 'no alarm is set',
    },
    page: alarmsPage,
    rest: { method: 'GET', path: '/alarms' },
    errors: [],
    run: () => alarms.state(),
  };
  const set: Operation<AlarmRequest, Kept> = {
    name: 'alarms.set',
    summary: 'Set an alarm or a reminder, by a time of the day or by a length',
    description: 'Without a date it rings at the next such time. A text makes it a reminder.',
    params: exactly(
      {
        kind: KIND,
        time: TIME,
        date: { type: 'string', pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}$', description: 'like 2026-11-30' },
        days: DAYS,
        seconds: SECONDS,
        text: TEXT,
      },
      [],
    ),
    result: KEPT,
    capability: 'audio',
    rest: { method: 'POST', path: '/alarms' },
    errors: ['PARAMS_INVALID', 'QUEUE_FULL'],
    run: (request) => alarms.set(request),
  };
  const change: Operation<AlarmChange & { readonly alarm: string }, Kept> = {
    name: 'alarms.change',
    summary: 'Change an alarm, or switch it on or off',
    params: exactly(
      {
        alarm: ID,
        time: TIME,
        days: { ...DAYS, description: 'empty: it rings once' },
        text: { ...TEXT, description: 'empty: none' },
        on: { type: 'boolean' },
      },
      ['alarm'],
    ),
    result: KEPT,
    capability: 'audio',
    rest: { method: 'PUT', path: '/alarms/:alarm' },
    errors: ['PARAMS_INVALID'],
    run: ({ alarm, ...changes }) => alarms.change(alarm, changes),
  };
  const cancel: Operation<{ readonly alarm: string }, object> = {
    name: 'alarms.cancel',
    summary: 'Remove an alarm or a reminder, also while it rings',
    params: exactly({ alarm: ID }),
    result: exactly({}),
    capability: 'audio',
    cli: { done: '{alarm} is removed' },
    rest: { method: 'DELETE', path: '/alarms/:alarm' },
    errors: ['PARAMS_INVALID'],
    async run({ alarm }) {
      if (await alarms.cancel(alarm)) return {};
      throw new CoreError('PARAMS_INVALID', { where: 'alarm', reason: `there is no alarm ${alarm}` });
    },
  };
  const snooze: Operation<{ readonly seconds?: number }, { readonly snoozed: number; readonly seconds: number }> = {
    name: 'alarms.snooze',
    summary: 'Put off the alarms that ring',
    params: exactly({ seconds: { ...SECONDS, description: 'those of the device if absent' } }, []),
    result: exactly({ snoozed: { type: 'integer', description: '0: none rang' }, seconds: SECONDS }),
    capability: 'audio',
    rest: { method: 'POST', path: '/alarms/snooze' },
    errors: ['PARAMS_INVALID'],
    run: ({ seconds }) => alarms.snooze(seconds),
  };
  const dismiss: Operation<object, { readonly dismissed: number; readonly missed: number }> = {
    name: 'alarms.dismiss',
    summary: 'End the alarms that ring, and forget those that were missed',
    params: exactly({}, []),
    result: exactly({ dismissed: { type: 'integer' }, missed: { type: 'integer' } }),
    capability: 'audio',
    rest: { method: 'POST', path: '/alarms/dismiss' },
    errors: [],
    run: () => alarms.dismiss(),
  };
  return [list, set, change, cancel, snooze, dismiss] as readonly Operation<never, unknown>[];
}
