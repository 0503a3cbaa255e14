/** `<sku>.lock.yaml`: what a SKU stood for when it was locked, to the last byte of its plugins and packages. */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { skuFiles } from '@device-core/plugin-api/inside/sku-family';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import { stringify } from 'yaml';
import type { Checkout } from '../image/build/checkout.ts';
import type { BuiltContents } from '../image/build/contents.ts';
import type { BuiltSku } from '../image/build/sku.ts';

interface Part {
  readonly version: string;
  /** Hash of the plugin's files in an image: `sha256:<hex>` of its paths and their contents. */
  readonly hash: string;
}

interface LockedPackage {
  readonly version: string;
  /** As package-lock.json has it. */
  readonly integrity: string;
}

export interface SkuLock {
  readonly lock: 1;
  /** Its id. */
  readonly sku: string;
  /** Every file of the family: hash of what it says. Comments and order do not count. */
  readonly files: Readonly<Record<string, string>>;
  readonly node: string;
  readonly core: Part;
  /** Plugins of the SKU and of safe mode. */
  readonly plugins: Readonly<Record<string, Part>>;
  /** By path below the checkout. */
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

/** Something that is not as it was locked. */
export interface Drift {
  /** `plugin voice`, `package yaml`, `Node`, `file base.yaml` */
  readonly what: string;
  readonly was?: string;
  readonly is?: string;
  /** In words, without `what`. */
  readonly text: string;
}

/** Beside the SKU: `kiosk.yaml` -> `kiosk.lock.yaml`. */
export const lockFileOf = (sku: string): string => `${sku.replace(/\.ya?ml$/, '')}.lock.yaml`;

/** Nothing of the checkout is written or started. */
export function lockOf(
  file: string,
  checkout: Checkout,
  sku: BuiltSku,
  { contents, packages }: BuiltContents,
): SkuLock {
  const paths = [...contents.keys()].sort();
  const part = (version: string, ...folders: readonly string[]): Part => {
    const hash = createHash('sha256');
    for (const path of paths)
      if (folders.some((folder) => path === folder || path.startsWith(`${folder}/`)))
        hash.update(`${sha256(contents.get(path)!.bytes())}  ${path}\n`);
    return { version, hash: `sha256:${hash.digest('hex')}` };
  };
  const core = ['kernel', 'node_modules/@device-core', 'manifests/schema', 'manifests/skus/safe-mode.yaml'];
  return {
    lock: 1,
    sku: sku.sku.id,
    files: Object.fromEntries(skuFiles(file).map((one) => [basename(one), saidIn(one)])),
    node: nodeOf(checkout),
    core: part(checkout.package.version, ...core),
    plugins: Object.fromEntries(
      sku.plugins.map(({ id, version, folder, manifest }) => [id, part(version, folder, manifest)]),
    ),
    packages: Object.fromEntries(
      packages.map((path) => {
        const { version = '', integrity = '' } = checkout.locked[path] ?? {};
        return [path, { version, integrity }];
      }),
    ),
  };
}

export function lockText(lock: SkuLock): string {
  const head = [
    `# What ${lock.sku} stood for when it was locked, by \`devicectl sku lock\`: not to be edited. \`devicectl sku check --locked\` and`,
    '# `devicectl image build` say what is different now.',
  ];
  return `${head.join('\n')}\n${stringify(lock, { lineWidth: 0 })}`;
}

/** The lock of a SKU, if it has one. Throws a Failure where that cannot be read as one. */
export function readLock(sku: string): SkuLock | undefined {
  const file = lockFileOf(sku);
  if (!existsSync(file)) return undefined;
  const { value, errors } = parseYaml(readFileSync(file, 'utf8'));
  const wrong = errors.length > 0 ? `line ${errors[0]!.line}: ${errors[0]!.message}` : wrongWith(value);
  if (wrong === undefined) return value as SkuLock;
  throw new Failure(EXIT.answered, 'SKU_INVALID', `${file} is no lock: ${wrong}`, { hint: 'devicectl sku lock' });
}

function wrongWith(value: unknown): string | undefined {
  const { lock, sku, files, node, core, plugins, packages } = Object(value);
  if (lock !== 1)
    return typeof lock === 'number' ? `it is of form ${lock}, newer than this checkout` : 'it has no form';
  if (typeof sku !== 'string' || typeof node !== 'string') return 'sku and node are texts';
  const maps = Object.entries({ files, core, plugins, packages }).find(([, map]) => typeof map !== 'object' || !map);
  return maps && `${maps[0]} is no map`;
}

/** Differences from the lock, and packages installed otherwise than package-lock.json says. */
export function driftOf(was: SkuLock, is: SkuLock, checkout: Checkout): readonly Drift[] {
  const changed = (what: string, from: string, to: string): readonly Drift[] =>
    from === to ? [] : [{ what, was: from, is: to, text: `was ${from}, and is ${to}` }];
  return [
    ...changed('id of the SKU', was.sku, is.sku),
    ...each('file', was.files, is.files, (then, now) =>
      then === now ? undefined : { was: then, is: now, text: 'says something else' },
    ),
    ...changed('Node', was.node, is.node),
    ...each('core', { core: was.core }, { core: is.core }, partDrift).map((one) => ({ ...one, what: 'core' })),
    ...each('plugin', was.plugins, is.plugins, partDrift),
    ...each('package', was.packages, is.packages, packageDrift),
    ...installedDrift(is, checkout),
  ];
}

function each<T>(
  kind: string,
  was: Readonly<Record<string, T>>,
  is: Readonly<Record<string, T>>,
  compare: (was: T, is: T) => Omit<Drift, 'what'> | undefined,
): readonly Drift[] {
  const names = [...new Set([...Object.keys(was), ...Object.keys(is)])].sort();
  return names.flatMap((name) => {
    const [then, now] = [was[name], is[name]];
    const what = `${kind} ${name.replace(/^node_modules\//, '')}`;
    if (now === undefined) return [{ what, text: 'was locked, and is not in it' }];
    if (then === undefined) return [{ what, text: 'is in it, and was not locked' }];
    const drift = compare(then, now);
    return drift ? [{ what, ...drift }] : [];
  });
}

function partDrift(was: Part, is: Part): Omit<Drift, 'what'> | undefined {
  if (was.version !== is.version)
    return { was: was.version, is: is.version, text: `was ${was.version}, and is ${is.version}` };
  if (was.hash === is.hash) return undefined;
  return { was: was.hash, is: is.hash, text: `is ${is.version} as before, and has other files` };
}

function packageDrift(was: LockedPackage, is: LockedPackage): Omit<Drift, 'what'> | undefined {
  if (was.version !== is.version)
    return { was: was.version, is: is.version, text: `was ${was.version}, and is ${is.version}` };
  if (was.integrity === is.integrity) return undefined;
  return { was: was.integrity, is: is.integrity, text: `is ${is.version} as before, and has another integrity` };
}

/** npm writes what it installed beside what it installed. */
function installedDrift({ packages }: SkuLock, checkout: Checkout): readonly Drift[] {
  const installed = (
    JSON.parse(checkout.text('node_modules/.package-lock.json')) as { packages: Record<string, Partial<LockedPackage>> }
  ).packages;
  return Object.entries(packages).flatMap(([path, { version, integrity }]) => {
    const there = installed[path];
    if (there?.version === version && (there.integrity ?? '') === integrity) return [];
    const is = there?.version ?? 'nothing';
    const text = `is not what package-lock.json says: ${is} is installed; run npm ci`;
    return [{ what: `package ${path.replace(/^node_modules\//, '')}`, was: version, is, text }];
  });
}

/** The Node that an image takes along. */
function nodeOf({ node }: Checkout): string {
  const { stdout } = spawnSync(node, ['--version'], { encoding: 'utf8' });
  return stdout.trim().replace(/^v/, '');
}

/** Hash of the content of a file: comments, order of members and forms of writing do not count. */
function saidIn(file: string): string {
  return `sha256:${sha256(JSON.stringify(sorted(parseYaml(readFileSync(file, 'utf8')).value)))}`;
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(entries.map(([key, one]) => [key, sorted(one)]));
}

const sha256 = (bytes: Uint8Array | string): string => createHash('sha256').update(bytes).digest('hex');

/** Throws a Failure that names everything that is not as it was locked. A SKU without a lock may be anything. */
export function holdLock(file: string, checkout: Checkout, sku: BuiltSku, contents: BuiltContents): void {
  const lock = readLock(file);
  const drift = lock ? driftOf(lock, lockOf(file, checkout, sku, contents), checkout) : [];
  if (drift.length === 0) return;
  const told = drift.map(({ what, text }) => `${what} ${text}`).join('; ');
  throw new Failure(EXIT.answered, 'SKU_INVALID', `not what ${basename(lockFileOf(file))} locked: ${told}`, {
    hint: 'where that is meant: devicectl sku lock',
  });
}
