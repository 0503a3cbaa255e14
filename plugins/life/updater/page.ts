import type { PageView } from '@device-core/plugin-api/services/operations';

/** Steps of updates, on their page. */
export const historyPage: PageView = {
  words: 'pages/updates',
  heading: 'history',
  params: { limit: 50 },
  after: ['update.state'],
  rows: 'history',
  key: ['at', 'state'],
  columns: [['at', '{at:when}'], 'state', 'version', 'by', ['because', '{reason}']],
  empty: 'noHistory',
};
