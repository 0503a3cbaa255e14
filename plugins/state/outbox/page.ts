import type { PageView } from '@device-core/plugin-api/services/operations';

/** Data that waits, on the page of telemetry. */
export const outboxPage: PageView = {
  words: 'pages/telemetry',
  heading: 'outbox',
  rows: 'queues',
  columns: [
    ['destination', '{id} · {to}'],
    'waiting',
    ['bytes', '{bytes:bytes}'],
    'sent',
    'lost',
    ['trouble', '{trouble.reason}', '–'],
  ],
  empty: 'noOutbox',
};
