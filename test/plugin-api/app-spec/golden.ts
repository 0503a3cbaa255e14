/** What is made of each manifest, as files of `golden/`. `node test/plugin-api/inside/app-spec/golden.ts` writes them anew. */
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type AppSpec, apparmorOf, egressUnitOf, specOf, unitOf } from '@device-core/plugin-api/inside/app-spec';
import { ARCHITECTURES, bwrapCommandOf, seccompOf } from '@device-core/plugin-api/inside/sandbox';
import { MANIFESTS, PATHS, placeOf, SKU } from './manifests.ts';

const FORWARDER = { node: '/opt/core/node', main: '/opt/core/forwarder.js' };
export const GOLDEN = join(import.meta.dirname, 'golden');

/** Everything that was claimed is granted. */
export function specOfGolden(name: string): AppSpec {
  const manifest = MANIFESTS[name];
  if (!manifest) throw new TypeError(`there is no manifest ${name}`);
  return specOf(
    manifest,
    manifest.capabilities.map(({ id }) => id),
    SKU,
    placeOf(manifest),
  );
}

/** File name -> text. */
export function goldenFiles(): Readonly<Record<string, string>> {
  const files: Record<string, string> = {};
  for (const name of Object.keys(MANIFESTS)) {
    const spec = specOfGolden(name);
    files[`${name}.spec`] = `${JSON.stringify(spec, null, 2)}\n`;
    files[`${name}.service`] = unitOf(spec, PATHS);
    const egress = egressUnitOf(spec, PATHS);
    if (egress !== undefined) files[`${name}-egress.service`] = egress;
    files[`${name}.bwrap`] = lines(bwrapCommandOf('bwrap', spec, { seccomp: 3, forwarder: FORWARDER }));
    const { uid: _, groups: __, ...plain } = spec;
    const token = { path: `/run/credentials/${spec.name}.service/token`, descriptor: 4, kind: 'secret' } as const;
    files[`${name}.user.bwrap`] = lines(
      bwrapCommandOf('bwrap', plain, { seccomp: 3, files: [token], forwarder: FORWARDER }),
    );
    files[`${name}.apparmor`] = apparmorOf(spec);
  }
  for (const network of ['none', 'hosts', 'open'] as const)
    for (const architecture of ARCHITECTURES)
      files[`${network}.${architecture}.seccomp`] =
        `${Buffer.from(seccompOf({ network }, architecture)).toString('hex').match(/.{16}/g)?.join('\n')}\n`;
  return files;
}

/** One word a line, and the words of one option on one. */
function lines(words: readonly string[]): string {
  const text = words.map((word) => JSON.stringify(word)).join(' ');
  return `${text.replaceAll(/ "--/g, '\n"--')}\n`;
}

export function readGolden(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    globSync('*', { cwd: GOLDEN }).map((name) => [name, readFileSync(join(GOLDEN, name), 'utf8')]),
  );
}

if (import.meta.main) {
  rmSync(GOLDEN, { recursive: true, force: true });
  mkdirSync(GOLDEN, { recursive: true });
  for (const [name, text] of Object.entries(goldenFiles())) writeFileSync(join(GOLDEN, name), text);
}
