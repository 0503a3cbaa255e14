/** How modules hang together inside their rooms: no circles of imports, no long lists of parameters, the private parts of Node in one place. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { test } from 'node:test';

const ROOT = resolve(import.meta.dirname, '../..');
const DOORS: Readonly<Record<string, string>> = JSON.parse(
  readFileSync(join(ROOT, 'plugin-api/package.json'), 'utf8'),
).exports;
const files = globSync('{kernel,plugin-api,plugins}/**/*.ts', { cwd: ROOT })
  .filter((file) => !/node_modules|\/dist\//.test(file))
  .sort();
/** Without comments and the texts of templates. */
const code = new Map(
  files.map((file) => [file, readFileSync(join(ROOT, file), 'utf8').replace(/\/\*[\s\S]*?\*\/|`[^`]*`/g, '``')]),
);

/** The file behind a specifier; undefined for packages. */
function target(file: string, name: string): string | undefined {
  if (name.startsWith('.')) return join(dirname(file), name);
  const door = /^@device-core\/plugin-api(\/.*)?$/.exec(name);
  if (!door) return undefined;
  const path = DOORS[`.${door[1] ?? ''}`] ?? DOORS['./services/*']?.replace('*', name.split('/').at(-1) ?? '');
  return path && join('plugin-api', path);
}

/** What a module imports; `types: false` leaves out what is gone when the types are stripped. */
function importsOf(file: string, types: boolean): readonly string[] {
  const text = code.get(file) ?? '';
  const names: string[] = [];
  for (const [, only, clause = '', name = ''] of text.matchAll(
    /^(?:import|export) (type )?([^;'"]*? from )?'([^']+)'/gm,
  )) {
    const named = /^\{([^}]*)\} from $/.exec(clause)?.[1]?.split(',');
    const erased = only !== undefined || named?.every((one) => /^\s*(type |$)/.test(one)) === true;
    if (types || !erased) names.push(name);
  }
  if (types) for (const [, name = ''] of text.matchAll(/\bimport\('([^']+)'\)/g)) names.push(name);
  return names.flatMap((name) => target(file, name) ?? []).filter((name) => code.has(name));
}

/** A walk that comes back to where it was, if there is one: `a -> b -> a`. */
function circles(types: boolean): readonly string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const walk = (file: string, path: readonly string[]): void => {
    const at = path.indexOf(file);
    if (at >= 0) found.push([...path.slice(at), file].join(' -> '));
    if (at >= 0 || done.has(file)) return;
    for (const next of importsOf(file, types)) walk(next, [...path, file]);
    done.add(file);
  };
  for (const file of files) walk(file, []);
  return found;
}

/** Parameters of a list that begins at `from`, right behind its parenthesis. */
function parameters(text: string, from: number): number {
  let depth = 1;
  let count = 0;
  let any = false;
  for (let at = from; at < text.length && depth > 0; at++) {
    const char = text[at] ?? '';
    if ('([{<'.includes(char)) depth++;
    else if (')]}'.includes(char) || (char === '>' && text[at - 1] !== '=')) depth--;
    else if (char === ',' && depth === 1) {
      count++;
      any = false;
      continue;
    }
    if (depth > 0 && char.trim() !== '') any = true;
  }
  return count + (any ? 1 : 0);
}

test('modules import each other in one direction, while the code runs and among types', () => {
  assert.deepEqual(circles(false), []);
  assert.deepEqual(circles(true), []);
});

test('the search for circles finds one', () => {
  code.set('plugins/a.ts', "import { b } from './b.ts';\nexport const a = b;\n");
  code.set('plugins/b.ts', "import { type A, a } from './a.ts';\nexport const b = a;\n");
  files.push('plugins/a.ts', 'plugins/b.ts');
  try {
    assert.deepEqual(circles(false), ['plugins/a.ts -> plugins/b.ts -> plugins/a.ts']);
    code.set('plugins/b.ts', "import { type A } from './a.ts';\nexport const b = 1;\n");
    assert.deepEqual(circles(false), []);
    assert.equal(circles(true).length, 1);
  } finally {
    for (const file of files.splice(-2)) code.delete(file);
  }
});

test('a function of six parameters takes them by name', () => {
  const long = files
    .filter((file) => !file.startsWith('kernel/'))
    .flatMap((file) => {
      const text = code.get(file) ?? '';
      return [...text.matchAll(/\b(?:constructor|function\*? \w+(?:<[^(]*>)?) ?\(/g)]
        .filter((match) => parameters(text, match.index + match[0].length) >= 6)
        .map(([name]) => `${file}: ${name}`);
    });
  assert.deepEqual(long, []);
  assert.equal(parameters('a, b: Map<string, number>, { c, d }: { c: 1; d: 2 }, e = (x, y) => x, f,)', 0), 5);
});

test('private parts of Node are read in one file each', () => {
  const allowed: readonly (readonly [RegExp, readonly string[]])[] = [
    [/\bfd\b.*\b_handle\b/, ['plugin-api/contract/socket-descriptor.ts']],
    [/\b_handle\b/, ['plugin-api/contract/socket-descriptor.ts', 'plugins/interface/http/node-private.ts']],
    [/\b_httpMessage\b/, ['plugins/interface/http/node-private.ts']],
    [/process\.binding\b|\b_getActive(Handles|Requests)\b|\b_linkedBinding\b|\bkHandle\b/, []],
  ];
  for (const [pattern, where] of allowed)
    assert.deepEqual(
      files.filter((file) => pattern.test(code.get(file) ?? '')),
      where,
    );
});
