/**
 * Writes the generated pages of docs/reference. With `--check` it writes nothing and fails where a page differs; with `--measure` it starts every
 * variant several times first, and keeps what they took; with `--examples` it asks a simulated device each request of the REST pages, and keeps the answers.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ANSWERS, answersFile } from './generator/answers.ts';
import { capabilitiesPage } from './generator/capabilities.ts';
import { configurationPage } from './generator/configuration.ts';
import { contractTable } from './generator/contracts.ts';
import { devicectlPage, readPrograms } from './generator/devicectl.ts';
import { errorsPage } from './generator/errors.ts';
import { hooksPage } from './generator/hooks.ts';
import { housePicture } from './generator/house.ts';
import { type Input, readManifests } from './generator/input.ts';
import { manifestsPage } from './generator/manifests.ts';
import { readTables } from './generator/operation-tables.ts';
import { RESERVED_FILES } from './generator/reserved.ts';
import { restPage, restPages } from './generator/rest.ts';
import { rpcPage } from './generator/rpc.ts';
import { SCENE_FILES, scenesPage } from './generator/scenes.ts';
import { servicesPage } from './generator/services.ts';
import { SUITE, suiteFile } from './generator/suite.ts';
import { variantsPage } from './generator/variants.ts';

/** Every page that is always there; the areas of REST follow the table of operations. */
const PAGES: Readonly<Record<string, (input: Input) => string>> = {
  '../architecture.svg': housePicture,
  '../../plugin-api/inside/contracts/table.ts': contractTable,
  'capabilities.md': capabilitiesPage,
  'configuration.md': configurationPage,
  'devicectl.md': devicectlPage,
  'errors.md': errorsPage,
  'hooks.md': hooksPage,
  'manifests.md': manifestsPage,
  'rest.md': restPage,
  'rpc.md': rpcPage,
  'scenes.md': scenesPage,
  'services.md': servicesPage,
  ...RESERVED_FILES,
  ...SCENE_FILES,
  [ANSWERS]: answersFile,
  [SUITE]: suiteFile,
  'variants.md': variantsPage,
};
const AREAS = 'rest';

/** Name below docs/reference -> text, of every generated page. */
export function pages(input: Input): Readonly<Record<string, string>> {
  const fixed = Object.entries(PAGES).map(([name, make]) => [name, make(input)]);
  return { ...Object.fromEntries(fixed), ...restPages(input) };
}

export async function readInput(): Promise<Input> {
  return { ...(await readTables()), manifests: readManifests(), programs: await readPrograms() };
}

/** Names of the pages whose file is not what would be generated, those included that are left from before. */
export function differing(made: Readonly<Record<string, string>>): readonly string[] {
  const wrong = Object.entries(made).flatMap(([name, text]) => (read(name) === text ? [] : [name]));
  return [...wrong, ...leftOver(made)];
}

/** Pages of areas that are gone. */
function leftOver(made: Readonly<Record<string, string>>): readonly string[] {
  const folder = fileOf(AREAS);
  const names = existsSync(folder) ? readdirSync(folder).map((name) => `${AREAS}/${name}`) : [];
  return names.filter((name) => made[name] === undefined);
}

function read(name: string): string | undefined {
  const file = fileOf(name);
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}

function write(name: string, text: string | undefined): void {
  const file = fileOf(name);
  if (text === undefined) rmSync(file);
  else {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
}

function fileOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url));
}

if (import.meta.main) {
  if (process.argv.includes('--measure')) await (await import('./generator/measure.ts')).measureVariants();
  if (process.argv.includes('--examples')) {
    const recorded = await (await import('./generator/examples/record.ts')).recordExamples();
    process.stdout.write(`examples that changed: ${recorded.join(', ') || 'none'}\n`);
  }
  const made = pages(await readInput());
  const changed = differing(made);
  if (process.argv.includes('--check')) {
    for (const name of changed) process.stderr.write(`docs/reference/${name} differs; run npm run docs\n`);
    process.exitCode = changed.length > 0 ? 1 : 0;
  } else {
    for (const name of changed) write(name, made[name]);
    process.stdout.write(`${changed.length} of ${Object.keys(made).length} pages written\n`);
  }
}
