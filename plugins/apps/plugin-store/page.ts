import type { PageAction, PageView } from '@device-core/plugin-api/services/operations';

const BACK: PageAction = { operation: 'plugins.rollback', label: 'backTo', icon: 'undo', text: 'backTo' };

/** Plugins that were installed, on the page of plugins. */
export const installedPage: PageView = {
  words: 'pages/plugins',
  after: ['plugin.state', 'plugin.changed', 'change.state'],
  heading: 'installed',
  rows: 'plugins',
  levels: { good: 'okay', probation: 'info' },
  columns: [['plugin', '{id:plugin}'], 'version', ['state', '{state:badge}'], ['since', '{installedAt:ago}']],
  marks: [
    { text: 'switchedOff', only: { enabled: [false] } },
    { text: 'provenIn', only: { probationEndsAt: ['$any'] } },
  ],
  empty: 'noneInstalled',
  actions: [
    { ...BACK, only: { former: ['$any'] } },
    { ...BACK, only: { former: [null], lastGood: ['$any'] } },
    {
      operation: 'plugins.remove',
      label: 'removeSure',
      text: 'remove',
      kind: 'danger',
      ask: { text: 'removeLead' },
      done: 'removed',
    },
  ],
};
