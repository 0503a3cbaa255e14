/** The golden pictures of all plugins, `pictures.ts` beside their tests, in one process: the addon and its fonts load once. `node --test FILE` runs one of them. */
import { globSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');
for (const file of globSync('test/plugins/*/pictures.ts', { cwd: ROOT }).sort()) await import(join(ROOT, file));
