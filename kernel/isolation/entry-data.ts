import type { MessagePort } from 'node:worker_threads';

/** What the host tells before any message. */
export interface EntryData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
  /** Folder of compiled modules; a process may read it alone. */
  readonly cache: string | undefined;
  /** Of a worker. It is taken out before any code of the plugin runs. */
  port?: MessagePort;
}
