import type { MessagePort } from 'node:worker_threads';

/** One plugin that is to run. */
export interface GuestData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
  /** Its border, in a worker. */
  readonly port?: MessagePort;
}

/** Data that the host passes before any message. */
export interface EntryData {
  /** Folder of compiled modules; a process may read it alone. */
  readonly cache: string | undefined;
  /** The plugin of a process. */
  readonly guest?: GuestData;
  /** Port of a worker that brings GuestData. It is removed before any code of a plugin runs. */
  joins?: MessagePort;
  /** More plugins may join later. */
  readonly shared?: boolean;
}

/** Megabytes of heap if the manifest has no budget. */
export const HEAP_MB = 256;

// Built for publishing, this file and the entry are JavaScript.
export const ENTRY = new URL(import.meta.url.endsWith('.ts') ? './first.js' : './entry.js', import.meta.url);
