/** Parts of a support bundle beside the files of the log. Data alone: devicectl lists them, the Core makes them. */
export interface BundleEntry {
  /** Name of the file in the bundle. */
  readonly name: string;
  readonly what: string;
  /** The operation whose answer it is; absent: the journal. */
  readonly operation?: string;
  readonly params?: Readonly<Record<string, unknown>>;
}

export const JOURNAL_LINES = 5_000;

export const BUNDLE: readonly BundleEntry[] = [
  { name: 'versions.json', operation: 'system.version', what: 'versions, and the SKU' },
  { name: 'health.json', operation: 'system.health', what: 'health, with every warning' },
  {
    name: 'plugins.json',
    operation: 'plugins.list',
    what: 'what the SKU stands for: plugins, versions, states',
  },
  { name: 'usage.json', operation: 'plugins.usage', what: 'what each plugin takes' },
  { name: 'last-start.json', operation: 'logs.lastStart', what: 'how the start before this one went' },
  { name: 'levels.json', operation: 'logs.levels', what: 'who logs how much' },
  { name: 'apps.json', operation: 'apps.list', what: 'apps, versions, states' },
  { name: 'ledger.json', operation: 'ledger.list', params: { limit: 500 }, what: 'what left the device' },
  { name: 'ledger-sums.json', operation: 'ledger.sums', what: 'the same, summed up' },
  { name: 'refusals.json', operation: 'system.refusals', what: 'what was refused to whom' },
  {
    name: 'configuration.json',
    operation: 'config.describe',
    params: { limit: 500 },
    what: 'settings, each with its origin',
  },
  { name: 'journal.txt', what: `the last ${JOURNAL_LINES} lines of the units` },
];
