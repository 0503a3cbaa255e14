/** A checkout to measure: this one, or a worktree of another commit with packages of its own, in the cache folder. */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { treeAliases } from '@device-core/plugin-api/inside/tree';
import { parseDocument } from 'yaml';

export const HERE = resolve(import.meta.dirname, '../..');
export const CACHE = join(HERE, '.device/bench');
/** The workspace: each checkout has to have its own. */
const OWN = '@device-core';

export interface Checkout {
  readonly folder: string;
  /** Ten digits, and `+` where files differ from it; `unknown` in an archive of the tree. */
  readonly commit: string;
}

function git(folder: string, ...args: readonly string[]): string {
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8' }).trim();
}

export function thisCheckout(): Checkout {
  if (!existsSync(join(HERE, '.git'))) return { folder: HERE, commit: 'unknown' };
  const dirty = git(HERE, 'status', '--porcelain', '--untracked-files=no') !== '';
  return { folder: HERE, commit: `${git(HERE, 'rev-parse', '--short=10', 'HEAD')}${dirty ? '+' : ''}` };
}

/** Makes a worktree of a commit, once; its packages are linked where all of them are here in the same version, else installed. */
export function checkoutOf(revision: string): Checkout {
  const commit = git(HERE, 'rev-parse', '--short=10', '--verify', `${revision}^{commit}`);
  const folder = join(CACHE, 'against', commit);
  const done = join(folder, 'node_modules/.bench');
  if (existsSync(done)) return { folder, commit };
  rmSync(folder, { recursive: true, force: true });
  git(HERE, 'worktree', 'prune');
  process.stdout.write(`making a worktree of ${commit} in ${folder.slice(HERE.length + 1)} ...\n`);
  git(HERE, 'worktree', 'add', '--force', '--detach', folder, commit);
  if (installedHere(folder)) linkPackages(folder);
  else installPackages(folder);
  writeFileSync(done, '');
  return { folder, commit };
}

interface Lock {
  readonly packages: Readonly<Record<string, { readonly version?: string; readonly optional?: boolean }>>;
}

const lockOf = (path: string): Lock['packages'] => (JSON.parse(readFileSync(path, 'utf8')) as Lock).packages;

function installedHere(folder: string): boolean {
  const ours = lockOf(join(HERE, 'node_modules/.package-lock.json'));
  return Object.entries(lockOf(join(folder, 'package-lock.json'))).every(
    ([path, { version, optional }]) =>
      !path.startsWith('node_modules/') || version === undefined || optional || ours[path]?.version === version,
  );
}

/** One link for each package but the workspace's, which a link of the whole folder would take from here. */
function linkPackages(folder: string): void {
  const packages = join(HERE, 'node_modules');
  mkdirSync(join(folder, 'node_modules', OWN), { recursive: true });
  for (const name of readdirSync(packages))
    if (name !== OWN && name !== '.cache') symlinkSync(join(packages, name), join(folder, 'node_modules', name));
  symlinkSync(join(folder, 'plugin-api'), join(folder, 'node_modules', OWN, 'plugin-api'));
}

function installPackages(folder: string): void {
  const npm = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (npm.status !== 0)
    throw new Error(`cannot install the packages of ${folder}: npm ci ended with ${npm.status ?? npm.error?.message}`);
}

/** What `node` is given to run the Core; older commits begin with TypeScript. */
export function entryOf({ folder }: Pick<Checkout, 'folder'>): string {
  const first = join(folder, 'kernel/start.js');
  return existsSync(first) ? first : join(folder, 'kernel/main.ts');
}

/** Ids of the plugins that a checkout has. */
function pluginsOf({ folder }: Checkout): ReadonlySet<string> {
  const files = readdirSync(join(folder, 'manifests/plugins'), { recursive: true, encoding: 'utf8' });
  const ids = files.filter((name) => name.endsWith('.yaml')).map((name) => name.replace(/^.*\//, '').slice(0, -5));
  return new Set([...ids, ...treeAliases(folder).keys()]);
}

/** A SKU by its name in skus/, or by the path of its file. */
function skuFile(name: string): string {
  return name.endsWith('.yaml') ? resolve(name) : join(import.meta.dirname, `skus/${name}.yaml`);
}

/** A SKU for a checkout, without some plugins and those that it does not have yet; writes it to `path` and tells which these are. */
export function writeSku(
  name: string,
  checkout: Checkout,
  path: string,
  without: readonly string[] = [],
): readonly string[] {
  const document = parseDocument(readFileSync(skuFile(name), 'utf8'));
  const known = pluginsOf(checkout);
  const { plugins } = document.toJS() as { readonly plugins: Readonly<Record<string, unknown>> };
  const missing = Object.keys(plugins).filter((id) => !known.has(id));
  for (const id of [...missing, ...without]) document.deleteIn(['plugins', id]);
  writeFileSync(path, String(document));
  return missing;
}
