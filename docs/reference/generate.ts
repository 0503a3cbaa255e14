/**
 * Writes the generated pages of docs/reference. With `--check` it writes nothing and fails where a page differs; with `--measure` it starts every
 * variant several times first, and keeps what they took.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { capabilitiesPage } from './generator/capabilities.ts';
import { configurationPage } from './generator/configuration.ts';
import { errorsPage } from './generator/errors.ts';
import { hooksPage } from './generator/hooks.ts';
import { type Input, readManifests } from './generator/input.ts';
import { manifestsPage } from './generator/manifests.ts';
import { readTables } from './generator/operation-tables.ts';
import { restPage } from './generator/rest.ts';
import { rpcPage } from './generator/rpc.ts';
import { servicesPage } from './generator/services.ts';
import { variantsPage } from './generator/variants.ts';

/** Every generated page. */
export const PAGES: Readonly<Record<string, (input: Input) => string>> = {
  'capabilities.md': capabilitiesPage,
  'configuration.md': configurationPage,
  'errors.md': errorsPage,
  'hooks.md': hooksPage,
  'manifests.md': manifestsPage,
  'rest.md': restPage,
  'rpc.md': rpcPage,
  'services.md': servicesPage,
  'variants.md': variantsPage,
};

export async function readInput(): Promise<Input> {
  return { ...(await readTables()), manifests: readManifests() };
}

/** Names of the pages whose file is not what would be generated. */
export function differing(input: Input): readonly string[] {
  return Object.entries(PAGES).flatMap(([name, make]) => (read(name) === make(input) ? [] : [name]));
}

function read(name: string): string | undefined {
  try {
    return readFileSync(fileOf(name), 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

if (import.meta.main) {
  if (process.argv.includes('--measure')) await (await import('./generator/measure.ts')).measureVariants();
  const input = await readInput();
  const changed = differing(input);
  if (process.argv.includes('--check')) {
    for (const name of changed) process.stderr.write(`docs/reference/${name} differs; run npm run docs\n`);
    process.exitCode = changed.length > 0 ? 1 : 0;
  } else {
    for (const name of changed) writeFileSync(fileOf(name), PAGES[name]!(input));
    process.stdout.write(`${changed.length} of ${Object.keys(PAGES).length} pages written\n`);
  }
}
