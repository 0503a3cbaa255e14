import { WEEKDAYS } from '@device-core/plugin-api/services/alarms';
import type { PageView } from '@device-core/plugin-api/services/operations';

/** Each day in words: the first line that has all its members is shown. */
const DAYS = Array.from({ length: WEEKDAYS.length }, (_, index) =>
  Array.from({ length: WEEKDAYS.length - index }, (_, day) => `{days.${day}:word}`).join(' '),
);

/** Alarms on the page: set, switched, and removed there. */
export const alarmsPage: PageView = {
  words: 'pages/alarms',
  lead: 'lead',
  after: ['plugin.alarms.alarm'],
  rows: 'alarms',
  columns: [['time', '{time}', '{next:time}'], ['days', ...DAYS, 'once'], 'text', ['next', '{next:when}', 'off']],
  groups: [
    ['alarms', { kind: ['alarm'] }],
    ['reminders', { kind: ['reminder'] }],
  ],
  marks: [{ text: 'snoozed', only: { snoozed: [true] } }],
  empty: 'none',
  tables: [
    {
      title: 'missed',
      rows: 'missed',
      columns: [['when', '{at:when}'], 'text'],
    },
  ],
  actions: [
    {
      operation: 'alarms.change',
      params: { on: false },
      label: 'switchOff',
      text: 'switchOff',
      only: { on: [true], time: ['$any'] },
    },
    { operation: 'alarms.change', params: { on: true }, label: 'switchOn', text: 'switchOn', only: { on: [false] } },
    { operation: 'alarms.cancel', label: 'remove', icon: 'trash', kind: 'danger' },
  ],
  head: [
    {
      operation: 'alarms.set',
      label: 'setAlarm',
      icon: 'plus',
      kind: 'main',
      fields: [{ name: 'time', hint: 'timeHint' }],
    },
    {
      operation: 'alarms.set',
      label: 'setReminder',
      icon: 'plus',
      fields: [{ name: 'time', hint: 'timeHint' }, { name: 'text' }],
    },
    { operation: 'alarms.snooze', label: 'snooze', text: 'snooze', done: ['snoozedDone'] },
    { operation: 'alarms.dismiss', label: 'dismiss', text: 'dismiss' },
  ],
};
