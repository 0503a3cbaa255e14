/**
 * The first module of a worker or a process, in a checkout. Node strips types with a compiler that takes 40 ms to load,
 * unless the compile cache knows the module: so the one that turns the cache on has no types. Built for publishing, the
 * entry itself is JavaScript.
 */
import { enableCompileCache } from 'node:module';
import { isMainThread, workerData } from 'node:worker_threads';

const { cache } = isMainThread ? JSON.parse(process.argv[2] ?? '{}') : workerData;
if (cache !== undefined) enableCompileCache(cache);
await import('./entry.ts');
