/**
 * `sbom.json`: CycloneDX of what the image holds. npm knows the packages; ours and Node are added, and nothing in it
 * depends on where and when.
 */
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { EXIT, Failure } from '@device-core/plugin-api/program';
import type { Contents } from '../list.ts';
import { sha256 } from '../list.ts';
import type { Checkout } from './checkout.ts';
import { nameOf } from './licences.ts';
import type { BuiltSku } from './sku.ts';

export const SBOM_FILE = 'sbom.json';

interface Component {
  readonly type?: string;
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
}
interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}
interface Bom {
  readonly specVersion: string;
  readonly components: readonly Component[];
  readonly dependencies?: readonly Dependency[];
}

export interface SbomParts {
  readonly checkout: Checkout;
  readonly sku: BuiltSku;
  readonly version: string;
  /** Paths below node_modules. */
  readonly packages: readonly string[];
  /** All but this file. */
  readonly contents: Contents;
}

export function sbomOf({ checkout, sku, version, packages, contents }: SbomParts): string {
  const bom = npmSbom(checkout);
  const wanted = new Set(packages.map((path) => `${nameOf(path)}@${checkout.locked[path]?.version}`));
  const components: Component[] = bom.components.filter((one) => wanted.has(`${one.name}@${one.version}`));
  for (const { name, version: of } of components) wanted.delete(`${name}@${of}`);
  // Stand-ins have the name of what they stand in for.
  for (const path of packages) {
    const { name = nameOf(path), version: of = '', license } = checkout.locked[path] ?? {};
    if (wanted.has(`${nameOf(path)}@${of}`)) components.push(library(name, of, license ?? 'NOASSERTION'));
  }
  const node = contents.get('bin/node')!;
  const own = sku.plugins.map(({ id, version: of }) => library(`@device-core/plugin-${id}`, of, 'Apache-2.0'));
  const core = library('device-core', checkout.package.version, 'Apache-2.0');
  const platform = {
    'bom-ref': `node@${process.version.slice(1)}`,
    type: 'platform',
    name: 'node',
    version: process.version.slice(1),
    hashes: [{ alg: 'SHA-256', content: sha256(node.bytes()) }],
    licenses: [{ license: { id: 'MIT' } }],
  };
  const all = [core, platform, ...own, ...components].sort((a, b) => (a['bom-ref'] < b['bom-ref'] ? -1 : 1));
  const refs = new Set(all.map((one) => one['bom-ref']));
  const dependencies = (bom.dependencies ?? [])
    .filter(({ ref }) => refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((one) => refs.has(one)) }));
  const made = {
    bomFormat: 'CycloneDX',
    specVersion: bom.specVersion,
    serialNumber: `urn:uuid:${uuidOf(contents)}`,
    version: 1,
    metadata: {
      timestamp: new Date(checkout.time * 1000).toISOString(),
      component: { 'bom-ref': `image@${version}`, type: 'firmware', name: sku.sku.id, version },
    },
    components: all,
    dependencies,
  };
  return `${JSON.stringify(made, null, 1)}\n`;
}

function library(name: string, version: string, license: string): Component & { readonly licenses: readonly object[] } {
  return {
    'bom-ref': `${name}@${version}`,
    type: 'library',
    name,
    version,
    licenses: [{ expression: license }],
  };
}

/** Derived from the files, so that the same image has the same UUID. */
function uuidOf(contents: Contents): string {
  const hash = createHash('sha256');
  for (const path of [...contents.keys()].sort()) hash.update(`${path}\0${sha256(contents.get(path)!.bytes())}\n`);
  const hex = hash.digest('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  );
}

function npmSbom({ folder }: Checkout): Bom {
  const words = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--omit=dev'];
  const { status, stdout, stderr, error } = spawnSync('npm', words, {
    cwd: folder,
    encoding: 'utf8',
    maxBuffer: 64 << 20,
  });
  if (error === undefined && status === 0) return JSON.parse(stdout) as Bom;
  throw new Failure(EXIT.answered, 'INTERNAL', `npm sbom: ${error?.message ?? stderr.trim().split('\n').at(-1)}`);
}
