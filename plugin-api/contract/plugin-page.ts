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

/** Values by member, each of which must fit. `null`: it is missing; `$any`: it is there; `$session`: id of the reader's session or browser. */
export type PageRule = Readonly<Record<string, readonly (string | number | boolean | null)[]>>;

/**
 * A member, or a title and templates as in `cli`: the first that has all its members is shown. Formats: `ago`, `when`,
 * `time`, `ms`, `bytes`, `json`, `count`, `if`, `list` (names and values), `code`, `word`, `plugin` (a link), and `badge` with
 * the colour of `levels`.
 */
export type PageColumn = string | readonly [title: PageText, ...templates: PageText[]];

/** A text that is asked for, or some of a list. */
export interface PageField {
  /** Param of the operation; begins with the row's member of that name, else with `value`. */
  readonly name: string;
  readonly label?: PageText;
  readonly hint?: PageText;
  readonly value?: string;
  /** `fixed` is shown only; a `secret` is typed unseen; a `time` is one of the day, `07:00`. */
  readonly kind?: 'fixed' | 'secret' | 'time';
  /** Any of these may be chosen: the param is a list, and absent where none is. */
  readonly options?: readonly string[];
}

/** A button. Members of the row fill the path of its operation; `params` and `fields` are the rest. */
export interface PageAction {
  readonly operation: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** Name of the button and of its dialog: `Rename {name}`. */
  readonly label: PageText;
  /** Text on the button; absent: its icon, or the label. */
  readonly text?: PageText;
  readonly icon?: string;
  readonly kind?: 'main' | 'quiet' | 'danger';
  readonly fields?: readonly PageField[];
  /** A question that comes first. */
  readonly ask?: { readonly title?: PageText; readonly text?: PageText; readonly submit?: PageText };
  /** Said afterwards, with members of the row, the params and the answer. */
  readonly done?: PageText | readonly PageText[];
  readonly only?: PageRule;
  readonly unless?: PageRule;
}

/**
 * How an operation with REST `GET` is seen as a page: a list with what can be done to its rows, or without `rows` the
 * facts of its answer. Members of the answer stand in texts as in `cli`: `{name}`. Data only.
 */
export interface PageView {
  /** In the menu of the page. */
  readonly title?: PageText;
  readonly lead?: PageText;
  /** The room of `ui/locales` that has its texts by key; for plugins of the tree alone. */
  readonly words?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  /** A param, and the values that the reader chooses from. */
  readonly choice?: readonly [param: string, ...values: string[]];
  /** Topics of events after which it is asked again. */
  readonly after?: readonly string[];
  readonly rows?: string;
  /** Members that tell rows apart; `id` if absent. */
  readonly key?: readonly string[];
  readonly columns: readonly PageColumn[];
  readonly levels?: Readonly<Record<string, 'okay' | 'warn' | 'error' | 'info' | 'quiet'>>;
  /** Badges in the first column. */
  readonly marks?: readonly { readonly text: PageText; readonly level?: string; readonly only?: PageRule }[];
  /** Parts of the list with their titles. */
  readonly groups?: readonly (readonly [title: PageText, only: PageRule])[];
  /** Title of the list, or of each card. */
  readonly heading?: PageText;
  readonly aside?: PageText;
  readonly empty?: PageText;
  /** Below the list; one whose members are missing or 0 is left out. */
  readonly notes?: readonly PageText[];
  /** Further lists in the answer. */
  readonly tables?: readonly {
    readonly title: PageText;
    readonly rows: string;
    readonly columns: readonly PageColumn[];
  }[];
  /** The operation of one row, which its first column leads to. */
  readonly detail?: string;
  /** Each row is a card with a form: `member` by the JSON Schema in `schema`, saved by `operation`; for the tree alone. */
  readonly edit?: { readonly operation: string; readonly member: string; readonly schema: string };
  readonly actions?: readonly PageAction[];
  /** Buttons beside the title. */
  readonly head?: readonly PageAction[];
}
