import type { PageView } from '@device-core/plugin-api/services/operations';

/** Data that left by receiver, on the page of voice. */
export const sumsPage: PageView = {
  words: 'pages/voice',
  heading: 'byReceiver',
  // No event tells of each departure; senders do so in a turn, or in a run of an app.
  after: ['audio.state', 'app.state', 'system.network'],
  rows: 'sums',
  key: ['for', 'to'],
  columns: ['to', ['for', '{for:code}'], ['times', '{count}'], ['bytes', '{bytes:bytes}']],
};

/** Data that left, on the page of telemetry. */
export const ledgerPage: PageView = {
  words: 'pages/telemetry',
  heading: 'ledger',
  params: { limit: 50 },
  rows: 'departures',
  columns: [['at', '{at:when}'], 'for', ['destination', '{to}'], 'what', ['bytes', '{bytes:bytes}']],
  empty: 'noLedger',
};
