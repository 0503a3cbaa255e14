/**
 * The Core's process: `node kernel/start.js`, with the options of main.ts. Node strips types with a compiler that takes 40 ms to load, unless the compile
 * cache knows the module: so the one that turns the cache on has no types.
 */
import { enableCompileCache } from 'node:module';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// What is wrong with the options main.ts says.
const { values } = parseArgs({ strict: false, options: { root: { type: 'string' }, system: { type: 'boolean' } } });
const root = typeof values.root === 'string' ? values.root : join(import.meta.dirname, '../.device');
const state = values.system ? process.env.STATE_DIRECTORY?.split(':')[0] : join(root, 'var');
if (state) enableCompileCache(join(state, 'cache/compile'));
await import('./main.ts');
