import type { MessagePort } from 'node:worker_threads';

/** One plugin that is to run. */
export interface GuestData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
  /** Its border, in a worker. */
  readonly port?: MessagePort;
}

/** What the host tells before any message. */
export interface EntryData {
  /** Folder of compiled modules; a process may read it alone. */
  readonly cache: string | undefined;
  /** Of a process. */
  readonly guest?: GuestData;
  /** Of a worker: brings GuestData. It is taken out before any code of a plugin runs. */
  joins?: MessagePort;
  /** More plugins may join later. */
  readonly shared?: boolean;
}

/** Megabytes of heap where the manifest's budget says nothing. */
export const HEAP_MB = 256;

// Built for publishing, this file and the entry are JavaScript.
export const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './first.js' : './entry.js', import.meta.url);
