import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Place, shown } from './place.ts';
import type { CheckRow } from './report.ts';
import { runNode } from './run-node.ts';

const MS = 120_000;
const MAX_LINES = 20;

/** Type-checks with the folder's own TypeScript, or the one that plugin-api has at hand. */
export async function checkTypes(place: Place): Promise<CheckRow> {
  const check = 'types';
  const compiler = compilerOf(place.folder) ?? compilerOf(import.meta.dirname);
  if (compiler === undefined) {
    const remark = 'there is no TypeScript: npm install --save-dev typescript @types/node';
    return { check, outcome: 'WARN', remark };
  }
  const own = join(place.folder, 'tsconfig.json');
  const temporary = existsSync(own) ? undefined : temporaryConfig(place, compiler);
  try {
    const project = temporary ?? own;
    const args = [compiler, '-p', project, '--noEmit', '--pretty', 'false'];
    const { code, output, timedOut } = await runNode(args, { cwd: place.checkout ?? place.folder, ms: MS });
    if (code === 0) return { check, outcome: 'PASS', remark: temporary ? 'by strict rules' : `by ${shown(own)}` };
    if (timedOut) return { check, outcome: 'FAIL', remark: `the compiler did not end within ${MS / 1000} s` };
    const lines = output.trim().split('\n');
    const rest = lines.length > MAX_LINES ? [`... and ${lines.length - MAX_LINES} lines more`] : [];
    const remark = ['the compiler says', ...lines.slice(0, MAX_LINES), ...rest].join('\n');
    return { check, outcome: 'FAIL', remark };
  } finally {
    if (temporary !== undefined) rmSync(dirname(temporary), { recursive: true, force: true });
  }
}

function compilerOf(folder: string): string | undefined {
  try {
    return join(dirname(createRequire(join(folder, 'x.js')).resolve('typescript/package.json')), 'bin/tsc');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'MODULE_NOT_FOUND') return undefined;
    throw error;
  }
}

/** For a plugin without a tsconfig.json: the rules of the tree. */
function temporaryConfig({ folder, tests, checkout }: Place, compiler: string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'dc-check-')), 'tsconfig.json');
  const rules = {
    target: 'es2024',
    lib: ['es2024', 'esnext.disposable', 'esnext.iterator'],
    module: 'nodenext',
    strict: true,
    skipLibCheck: true,
    allowImportingTsExtensions: true,
    erasableSyntaxOnly: true,
    verbatimModuleSyntax: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
  };
  const types = { noEmit: true, types: ['node'], typeRoots: [join(dirname(compiler), '../../@types')] };
  const config = {
    ...(checkout === undefined ? {} : { extends: join(checkout, 'tsconfig.json') }),
    compilerOptions: { ...(checkout === undefined ? rules : {}), ...types },
    include: [`${folder}/**/*.ts`, ...tests],
    // Templates are checked as what is made of them.
    exclude: ['**/node_modules'],
  };
  writeFileSync(file, JSON.stringify(config));
  return file;
}
