import type { PageView } from '@device-core/plugin-api/services/operations';

const END = {
  operation: 'sessions.revoke',
  label: 'endOf',
  text: 'end',
  kind: 'danger',
  done: 'ended',
  unless: { id: ['$session'] },
} as const;

/** Sessions on the page: names of all, and an end of those that are not the reader's own. */
export const sessionsPage: PageView = {
  words: 'pages/sessions',
  lead: 'lead',
  heading: 'browsers',
  rows: 'sessions',
  columns: [
    'name',
    ['role', '{role:word}'],
    ['since', '{since:when}'],
    ['used', '{lastUsed:ago}'],
    ['until', '{until:when}'],
  ],
  marks: [
    { text: 'stays', only: { kind: ['browser'] } },
    { text: 'mineBrowser', level: 'okay', only: { kind: ['browser'], id: ['$session'] } },
    { text: 'mine', level: 'okay', only: { kind: ['tab'], id: ['$session'] } },
  ],
  actions: [
    {
      operation: 'sessions.rename',
      label: 'renameOf',
      text: 'rename',
      kind: 'quiet',
      fields: [{ name: 'name' }],
      ask: { submit: 'save' },
    },
    { ...END, ask: { text: 'endSure' }, only: { kind: ['tab'], browser: [null] } },
    { ...END, ask: { text: 'endBrowserSure' }, only: { kind: ['tab'], browser: ['$any'] } },
    { ...END, ask: { text: 'endBrowserSure' }, only: { kind: ['browser'] } },
  ],
};
