import type { PageView } from '@device-core/plugin-api/services/operations';

/** Answers that were kept, on the page of their app. */
export const consentsPage: PageView = {
  words: 'pages/apps',
  heading: 'answers',
  lead: 'answersLead',
  after: ['prompt.state', 'app.state'],
  rows: 'consents',
  key: ['app', 'capability', 'params.ports'],
  levels: { true: 'okay' },
  columns: [
    ['capability', '{capability:code}: {params.ports:list}', '{capability:code}'],
    ['answer', '{allowed:badge}'],
    'by',
    ['when', '{at:when}'],
    'version',
  ],
  empty: 'noAnswers',
};
