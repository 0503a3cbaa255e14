import { WEEKDAYS } from '@device-core/plugin-api/services/alarms';
import type { PageView } from '@device-core/plugin-api/services/operations';

/** Each day in words: the first line that has all its members is shown. */
const DAYS = Array.from({ length: WEEKDAYS.length }, (_, index) =>
  Array.from({ length: WEEKDAYS.length - index }, (_, day) => `{days.${day}:word}`).join(' '),
);

const DAYS_FIELD = { name: 'days', label: 'daysAsked', options: WEEKDAYS };
const RINGS = { 'ringing.0.id': ['$any'] };

/** Alarms on the page: set, switched, and removed there. */
export const alarmsPage: PageView = {
  words: 'pages/alarms',
  lead: 'lead',
  after: ['plugin.alarms.alarm'],
  rows: 'alarms',
  columns: [['time', '{time}', '{next:when}'], ['days', ...DAYS, 'once'], 'text', ['next', '{next:when}', 'off']],
  groups: [
    ['alarms', { kind: ['alarm'] }],
    ['reminders', { kind: ['reminder'] }],
  ],
  marks: [{ text: 'snoozed', only: { snoozed: [true] } }],
  empty: 'none',
  tables: [
    {
      title: 'ringing',
      rows: 'ringing',
      columns: [['since', '{at:when}'], 'text'],
    },
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
      text: 'setAlarm',
      icon: 'plus',
      kind: 'main',
      fields: [{ name: 'time', kind: 'time' }, DAYS_FIELD],
    },
    {
      operation: 'alarms.set',
      label: 'setReminder',
      text: 'setReminder',
      icon: 'plus',
      fields: [{ name: 'text' }, { name: 'time', kind: 'time' }, DAYS_FIELD],
    },
    { operation: 'alarms.snooze', label: 'snooze', text: 'snooze', done: ['snoozedDone'], only: RINGS },
    { operation: 'alarms.dismiss', label: 'dismiss', text: 'dismiss', only: RINGS },
    {
      operation: 'alarms.dismiss',
      label: 'forget',
      text: 'forget',
      only: { 'ringing.0.id': [null], 'missed.0.id': ['$any'] },
    },
  ],
};
