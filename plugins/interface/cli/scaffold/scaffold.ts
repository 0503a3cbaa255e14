import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Wing } from '@device-core/plugin-api/inside/tree';
import { usage } from '@device-core/plugin-api/program';
import type { Kind } from './kinds.ts';
import type { PluginNames } from './names.ts';
import { type ProjectOptions, projectFiles } from './project.ts';

const TEMPLATES = fileURLToPath(new URL('../templates/', import.meta.url));

/** Paths -> texts; paths are relative to the folder that is written to. */
type Files = Readonly<Record<string, string>>;

/** A plugin in a folder of its own. */
export async function outsideFiles(names: PluginNames, options: ProjectOptions): Promise<Files> {
  return { ...projectFiles(names, options), ...(await codeFiles(names, options.kind)) };
}

/** A plugin of the tree: code, manifest and tests each have their place. */
export async function treeFiles(names: PluginNames, kind: Kind, wing: Wing): Promise<Files> {
  const { id } = names;
  const files: Record<string, string> = {};
  for (const [name, text] of Object.entries(await codeFiles(names, kind))) {
    if (name === 'plugin.yaml') files[`manifests/plugins/${wing}/${id}.yaml`] = treeManifest(text, `${wing}/${id}`);
    else if (isTestFile(name)) files[`test/plugins/${id}/${name}`] = treeTest(text, `${wing}/${id}`);
    else files[`plugins/${wing}/${id}/${name}`] = text;
  }
  return files;
}

/** All or nothing: throws a Failure, with nothing written, where a file is there already. */
export async function writeFiles(folder: string, files: Files): Promise<void> {
  const written: string[] = [];
  try {
    for (const [name, text] of Object.entries(files)) {
      const path = join(folder, name);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, text, { flag: 'wx' });
      written.push(path);
    }
  } catch (error) {
    for (const path of written) await rm(path, { force: true });
    const { code, path } = error as NodeJS.ErrnoException;
    throw usage(code === 'EEXIST' ? `${path} exists already` : `cannot write ${path ?? folder}: ${code}`);
  }
}

async function codeFiles(names: PluginNames, kind: Kind): Promise<Files> {
  const folder = join(TEMPLATES, kind);
  const entries = (await readdir(folder)).sort();
  const texts = await Promise.all(entries.map(async (name) => readFile(join(folder, name), 'utf8')));
  return Object.fromEntries(entries.map((name, index) => [names.fill(name), names.fill(texts[index]!)]));
}

function isTestFile(name: string): boolean {
  return name.endsWith('.test.ts') || name === 'fakes.ts';
}

function treeManifest(text: string, place: string): string {
  return text
    .replace(/^# yaml-language-server: .*$/m, '# yaml-language-server: $schema=../../schema/plugin.json')
    .replace(/^main: .*$/m, `main: ../../../plugins/${place}/index.ts`);
}

/** A test of the tree lies apart from the code. Imports that become longer come first, as the linter wants it. */
function treeTest(text: string, place: string): string {
  const moved = text
    .replace(/from ['](?:\.\/)(?!fakes\.ts)([^']+)'/g, `from '../../../plugins/${place}/$1'`)
    .replace("'plugin.yaml'", `'../../../manifests/plugins/${place}.yaml'`);
  return moved.replace(/^(import .* from ['][.][^']+';\n)+/m, (imports) => {
    const lines = imports.trimEnd().split('\n');
    const near = (line: string) => Number(line.includes("from './"));
    return `${lines.toSorted((a, b) => near(a) - near(b)).join('\n')}\n`;
  });
}
