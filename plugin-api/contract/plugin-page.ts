/** Pages that a plugin brings as data: the page of the device draws them, and nothing of the plugin runs in the browser of the operator. */

/** One text for all languages, or one for each. */
export type PageText = string | { readonly en: string; readonly de?: string; readonly fr?: string };

/** Source of a panel's data: an operation that changes nothing (REST `GET`), or an event. */
export interface PageSource {
  readonly operation?: string;
  /** As they are; the page fills in nothing. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** Interval of further calls while the page is visible; milliseconds, 1,000 at least. Absent: once, and after the events of `after`. */
  readonly everyMs?: number;
  /** Topics of events after which the operation is asked again. */
  readonly after?: readonly string[];
  /** Instead of an operation: the payload of the latest event of this topic. */
  readonly event?: string;
}

/** A value at a JSON pointer of the data (RFC 6901): `/values/temperature`. */
export interface PageValue {
  readonly at: string;
  readonly label: PageText;
  readonly unit?: string;
  /** Digits after the point; default 1. */
  readonly digits?: number;
}

export interface PageButton {
  readonly label: PageText;
  readonly operation: string;
  /** Fixed: what the button does stands in the manifest. */
  readonly params?: Readonly<Record<string, unknown>>;
}

/** One of: values, chart, table, text, buttons, form. */
export interface PagePanel {
  readonly title: PageText;
  readonly from?: PageSource;
  readonly values?: readonly PageValue[];
  /** Numbers over time, as long as the page is open. */
  readonly chart?: readonly PageValue[];
  readonly table?: { readonly rows: string; readonly columns: readonly PageValue[] };
  readonly text?: PageText;
  readonly buttons?: readonly PageButton[];
  /** A form from the schema of an operation's params. */
  readonly form?: PageButton;
}

export interface PluginPage {
  /** Kebab case; of this plugin. */
  readonly id: string;
  readonly title: PageText;
  readonly lead?: PageText;
  readonly panels: readonly PagePanel[];
}
