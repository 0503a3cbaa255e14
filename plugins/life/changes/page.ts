import type { PageView } from '@device-core/plugin-api/services/operations';

const RUNNING = ['waiting', 'doing', 'undoing'] as const;

/** Changes on the page: those under way, and those that are over. */
export const changesPage: PageView = {
  words: 'pages/changes',
  lead: 'lead',
  after: ['change.state'],
  rows: 'changes',
  groups: [
    ['now', { state: RUNNING }],
    ['over', { state: ['done', 'undone', 'failed'] }],
  ],
  levels: { doing: 'info', done: 'okay', undoing: 'warn', undone: 'warn', failed: 'error' },
  columns: [
    ['what', '{summary}'],
    ['state', '{state:badge}'],
    'by',
    ['started', '{startedAt:when}'],
    ['remark', '{error.message}'],
  ],
  marks: [{ text: 'progress', only: { state: RUNNING } }],
  empty: 'none',
  detail: 'changes.get',
};
