/** First module of a worker or process that runs one plugin: imports the rest with the host's compile cache, where it has one. */
import { enableCompileCache } from 'node:module';
import { isMainThread, workerData } from 'node:worker_threads';
import type { EntryData } from './entry-data.ts';

// bubblewrap and systemd set some; the environment of a plugin is empty.
if (isMainThread) for (const name of Object.keys(process.env)) delete process.env[name];
delete process.env.PWD;
const data = (isMainThread ? JSON.parse(process.argv[2] ?? '{}') : workerData) as EntryData;

if (data.cache !== undefined) enableCompileCache(data.cache);
const { serve } = await import('./serve.ts');
serve(data);
