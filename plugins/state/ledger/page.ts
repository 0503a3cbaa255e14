import type { PageView } from '@device-core/plugin-api/services/operations';

/** Data that left, on the page of telemetry. */
export const ledgerPage: PageView = {
  words: 'pages/telemetry',
  heading: 'ledger',
  params: { limit: 50 },
  rows: 'departures',
  columns: [['at', '{at:when}'], 'for', ['destination', '{to}'], 'what', ['bytes', '{bytes:bytes}']],
  empty: 'noLedger',
};
