import type { PageView } from '@device-core/plugin-api/services/operations';

const SHARED = {
  words: 'pages/traces',
  levels: { failed: 'error', slow: 'warn' },
} as const satisfies Partial<PageView>;

/** Traces on the page: a list by reason. */
export const tracesPage: PageView = {
  ...SHARED,
  lead: 'lead',
  params: { limit: 200 },
  choice: ['why', 'failed', 'slow', 'sampled'],
  rows: 'traces',
  columns: ['name', ['at', '{at:when}'], ['ms', '{ms:ms}'], ['why', '{why:badge}'], ['error', '{error}', '–'], 'spans'],
  empty: 'none',
  notes: ['dropped'],
  detail: 'traces.get',
};

/** One trace on the page: its spans as a tree. */
export const tracePage: PageView = {
  ...SHARED,
  heading: '{name}',
  aside: '{why:badge}',
  columns: [['at', '{at:when}'], ['ms', '{ms:ms}'], 'error'],
  tables: [
    {
      title: 'spans',
      rows: 'spans',
      columns: [
        ['span', '{tree:code}'],
        ['start', '{start:ms}'],
        ['ms', '{ms:ms}'],
        'error',
        ['attributes', '{attributes:list}'],
      ],
    },
  ],
  notes: ['left'],
};
