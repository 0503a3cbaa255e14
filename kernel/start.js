/**
 * The Core's process: `node kernel/start.js`, with the options of main.ts. Node strips types with a compiler that takes
 * 40 ms to load, unless the compile cache knows the module: so the one that turns the cache on has no types.
 */
import { existsSync } from 'node:fs';
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { setFlagsFromString } from 'node:v8';

// V8 lets the young half of the heap grow to 128 MB for throughput that a device has no use for (ADR 0062). Who names a size of it decides.
if (![...process.execArgv, process.env.NODE_OPTIONS].some((option) => option?.includes('semi-space')))
  // One thread collects 1 MiB for less than it takes to wake four others.
  for (const flag of ['--semi-space-growth-factor=1', '--no-parallel-scavenge']) setFlagsFromString(flag);

// Buses of the host wait for their wires in threads of the pool, and leave its usual four to files and names (ADR 0203).
process.env.UV_THREADPOOL_SIZE ??= '16';

// main.ts reports faults of the options.
const { values } = parseArgs({ strict: false, options: { root: { type: 'string' }, system: { type: 'boolean' } } });
const root = typeof values.root === 'string' ? values.root : join(import.meta.dirname, '../.device');
const state = values.system ? process.env.STATE_DIRECTORY?.split(':')[0] : join(root, 'var');
// An image has nothing to strip, and no code but what was signed: a cache would be unsigned code (docs/adr/0124).
const stripped = !existsSync(join(import.meta.dirname, 'main.ts'));
if (state && !stripped) enableCompileCache(join(state, 'cache/compile'));
await import('./main.ts');
