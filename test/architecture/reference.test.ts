/** The generated pages of the documents. Costs a start of every plugin. */
import { execFileSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');

test('the pages of docs/reference are what the tables say', () => {
  execFileSync(process.execPath, [join(ROOT, 'docs/reference/generate.ts'), '--check'], { cwd: ROOT, stdio: 'pipe' });
});
