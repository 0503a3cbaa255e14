/** First module of a worker or process that runs one plugin: imports the rest with the host's compile cache, where it has one. */
import { enableCompileCache } from 'node:module';
import { isMainThread, workerData } from 'node:worker_threads';

/** What the host tells before any message. */
export interface EntryData {
  readonly plugin: string;
  /** URL of its module. */
  readonly main: string;
  /** Folder of compiled modules; a process may read it alone. */
  readonly cache: string | undefined;
}

const data = (isMainThread ? JSON.parse(process.argv[2] ?? '{}') : workerData) as EntryData;

if (data.cache !== undefined) enableCompileCache(data.cache);
const { serve } = await import('./serve.ts');
serve(data);
