import type { PageView } from '@device-core/plugin-api/services/operations';

/** Feature flags on the page: each with a field of its own schema. */
export const flagsPage: PageView = {
  words: 'pages/flags',
  lead: 'lead',
  after: ['flag.changed', 'plugin.changed'],
  rows: 'flags',
  key: ['name'],
  heading: '{name}',
  aside: '{source:badge}',
  levels: { app: 'info', device: 'info' },
  columns: [
    ['plugin', '{declaredBy:word}'],
    ['by', 'by'],
  ],
  empty: 'none',
  edit: { operation: 'flags.set', member: 'value', schema: 'schema' },
  actions: [{ operation: 'flags.reset', label: 'resetOf', text: 'reset', icon: 'undo', only: { source: ['device'] } }],
};
