/** What the host tells before any message. */
export interface EntryData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
  /** Folder of compiled modules; a process may read it alone. */
  readonly cache: string | undefined;
}
