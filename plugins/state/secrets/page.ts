/** Secrets on the page. A text goes one way, to the device; no answer has one. */
import type { PageAction, PageField, PageView } from '@device-core/plugin-api/contract/plugin-page';

const SHARED = { words: 'pages/secrets', after: ['secrets.state'] } as const satisfies Partial<PageView>;
const SECRET: PageField = { name: 'secretText', label: 'secret', hint: 'secretHint', kind: 'secret' };
const SCOPE: PageField = { name: 'scope', hint: 'scopeHint', value: 'shared' };
const SET = { operation: 'secrets.set', done: ['{warning}', 'isSet'] } as const satisfies Partial<PageAction>;
const REPLACE = { fields: [{ ...SCOPE, kind: 'fixed' }, SECRET], ask: { title: 'setFirst', submit: 'set' } } as const;

export const secretsPage: PageView = {
  ...SHARED,
  lead: 'lead',
  heading: 'kept',
  rows: 'secrets',
  key: ['scope', 'name'],
  columns: [
    ['name', '{name:code}'],
    'scope',
    ['setAt', '{setAt:when}'],
    ['by', '{setBy}'],
    ['read', '{readAt:when}', 'never'],
    'reads',
  ],
  empty: 'none',
  head: [
    {
      ...SET,
      label: 'add',
      icon: 'plus',
      text: 'add',
      kind: 'main',
      fields: [{ name: 'name' }, SCOPE, SECRET],
      ask: { submit: 'set' },
    },
  ],
  actions: [
    { ...SET, ...REPLACE, label: 'setOf', icon: 'key', kind: 'quiet' },
    {
      operation: 'secrets.delete',
      label: 'deleteOf',
      icon: 'trash',
      kind: 'danger',
      ask: { title: 'deleteSure', text: 'deleteSays', submit: 'delete' },
      done: 'isDeleted',
    },
  ],
};

export const missingPage: PageView = {
  ...SHARED,
  heading: 'missing',
  rows: 'missing',
  key: ['plugin', 'name'],
  columns: [['name', '{name:code}'], 'plugin'],
  lead: 'missingLead',
  actions: [{ ...SET, ...REPLACE, label: 'setFirst', text: 'set', icon: 'key' }],
};
