/** The suites that a change touches: by git, by the folder of a plugin, and by what the test files import. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { closure } from './imports.ts';
import { filesOf, LANES, ROOT } from './lanes.ts';

/** Files that differ from where this branch left `base`, untracked ones included. */
export function changedFiles(base: string): readonly string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' }).split('\n').filter(Boolean);
  const [from = base] = git('merge-base', base, 'HEAD');
  return [...new Set([...git('diff', '--name-only', from), ...git('ls-files', '--others', '--exclude-standard')])];
}

/** Suites of the unit lane that the changed files touch. A change of what all are built with touches all. */
export function suitesOf(changed: readonly string[]): readonly string[] {
  const unit = filesOf(LANES.find(({ name }) => name === 'unit')!, 'whole');
  if (changed.some((file) => /^(package(-lock)?\.json|tsconfig\.json)$/.test(file))) return unit;
  const touched = new Set(changed);
  const plugins = new Set(
    changed.flatMap((file) => /^(?:plugins|manifests\/plugins)\/[^/]+\/([^/.]+)/.exec(file)?.[1] ?? []),
  );
  const code = changed.some((file) => /^(kernel|plugin-api|plugins|test)\/.*\.ts$/.test(file));
  return unit.filter((file) => {
    if (plugins.has(/^test\/plugins\/([^/]+)\//.exec(file)?.[1] ?? '')) return true;
    if (file.startsWith('test/architecture/')) return code;
    for (const one of closure(ROOT, file)) if (touched.has(one)) return true;
    return namesOne(file, changed);
  });
}

/** A suite that reads a file by its name: a manifest, a vector, a document. */
function namesOne(file: string, changed: readonly string[]): boolean {
  const source = readFileSync(join(ROOT, file), 'utf8');
  return changed.some((one) => !one.endsWith('.ts') && source.includes(one.split('/').at(-1)!));
}
