/**
 * The API report: everything that the packed file exports, with the declarations of it and of what they are made of,
 * sorted. It is checked in, so that a change of the API is seen as a change of a file.
 * `node plugin-api/build/report.ts` writes it.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compile, outputFolder } from './compile.ts';
import { type Module, type Origin, readModules } from './declarations.ts';
import { API_FOLDER, modulesOf, OWN_NAME, publicDoors, ROOT, readPackageJson } from './package-json.ts';

export const REPORT_FILE = join(ROOT, 'docs/reference/plugin-api.md');

export interface ApiReport {
  /** Door -> sorted names. */
  readonly doors: ReadonlyMap<string, readonly string[]>;
  /** Name -> declaration; what no door exports has its module behind it, `Options (plugin-api/services/uart.ts)`. */
  readonly declarations: ReadonlyMap<string, string>;
}

export function makeReport(): ApiReport {
  using output = outputFolder('report');
  const own = readPackageJson(API_FOLDER);
  compile({ files: modulesOf(own), outDir: output.path, declarationsOnly: true });
  return reportOf(readModules(output.path, own.exports), publicDoors(own));
}

export function reportOf(modules: ReadonlyMap<string, Module>, doors: ReadonlyMap<string, string>): ApiReport {
  const reached = new Map<string, Origin>();
  const names = new Map<string, readonly string[]>();
  for (const [door, path] of doors) {
    const exported = modules.get(`plugin-api/${path}`)?.exported ?? new Map<string, Origin>();
    names.set(door, [...exported.keys()].sort());
    for (const origin of exported.values()) reach(modules, origin, reached);
  }
  const exported = new Set([...names.values()].flat());
  const declarations = [...reached.values()].map(({ module, name }) => {
    const text = modules.get(module)?.declared.get(name) ?? '';
    return [exported.has(name) ? name : `${name} (${module})`, normalised(name, text)] as const;
  });
  const keys = declarations.map(([key]) => key);
  const twice = keys.find((key, index) => keys.indexOf(key) !== index);
  if (twice !== undefined) throw new Error(`cannot make the API report: two declarations are exported as ${twice}`);
  return { doors: names, declarations: new Map(declarations.sort(([a], [b]) => (a < b ? -1 : 1))) };
}

const STRING = /"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'/g;

/** A declaration, and whatever its text names. */
function reach(modules: ReadonlyMap<string, Module>, { module, name }: Origin, reached: Map<string, Origin>): void {
  const there = modules.get(module);
  const text = there?.declared.get(name);
  if (!there || text === undefined) {
    // `export { name };` of what was imported: it is exported from here, and comes from elsewhere.
    const named = there?.exported.get(name);
    const own = named?.module === module && named.name === name;
    const next = (own ? undefined : named) ?? there?.imported.get(name) ?? handedOn(modules, there, name);
    if (!next) {
      const has = there
        ? `it declares ${[...there.declared.keys()].join(', ')}`
        : `${modules.size} others were compiled`;
      throw new Error(`cannot find ${name} of ${module}: ${has}`);
    }
    reach(modules, next, reached);
    return;
  }
  const key = `${module} ${name}`;
  if (reached.has(key)) return;
  reached.set(key, { module, name });
  for (const word of new Set(text.replace(STRING, '').match(/[A-Za-z_$][\w$]*/g))) {
    if (word !== name && there.declared.has(word)) reach(modules, { module, name: word }, reached);
    const from = there.imported.get(word);
    if (from) reach(modules, from, reached);
  }
}

function handedOn(modules: ReadonlyMap<string, Module>, from: Module | undefined, name: string): Origin | undefined {
  for (const module of from?.handsOn ?? []) {
    const there = modules.get(module);
    const found = there?.exported.get(name) ?? handedOn(modules, there, name);
    if (found) return found;
  }
  return undefined;
}

/** Without what changes and is no API: the version itself, and texts of errors, which are for people. */
function normalised(name: string, text: string): string {
  const plain = text.replace(/^export /gm, '').replace(/^declare /gm, '');
  if (name === 'API_VERSION') return plain.replace(STRING, 'string');
  if (name === 'ERROR_CODES') return plain.replace(STRING, 'string');
  return plain;
}

/** The page; `parseReport` reads it back. */
export function printReport({ doors, declarations }: ApiReport): string {
  const lines = [
    `# API of ${OWN_NAME}`,
    '',
    'Everything that the packed file exports, from the declarations of the compiler. `npm run docs` writes this page; what a change of it means for the version is in [VERSIONING](../../VERSIONING.md).',
    '',
    '## Doors',
    '',
  ];
  for (const [door, names] of doors) {
    const list = names.map((name) => `\`${name}\``).join(', ');
    lines.push(`- \`${door}\`: ${list === '' ? 'a program, no names' : list}`);
  }
  lines.push('', '## Declarations', '');
  for (const [name, text] of declarations) lines.push(`### ${name}`, '', '```ts', text, '```', '');
  return lines.join('\n');
}

export function parseReport(page: string): ApiReport {
  const doors = [...page.matchAll(/^- `(\.[^`]*)`: (.*)$/gm)].map(
    ([, door = '', list = '']) => [door, [...list.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)] as const,
  );
  const declarations = [...page.matchAll(/^### (.+)\n\n```ts\n([\s\S]*?)\n```$/gm)].map(
    ([, name = '', text = '']) => [name, text] as const,
  );
  return { doors: new Map(doors), declarations: new Map(declarations) };
}

if (import.meta.main) {
  const page = printReport(makeReport());
  const changed = readOrNothing(REPORT_FILE) !== page;
  if (changed) writeFileSync(REPORT_FILE, page);
  process.stdout.write(`the API report is ${changed ? 'written' : 'as it was'}\n`);
}

function readOrNothing(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return '';
    throw error;
  }
}
