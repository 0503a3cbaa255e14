/**
 * Reads the declarations that the compiler writes: what a module declares, imports and hands on. They are regular, so
 * that no parser is needed.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { OWN_NAME } from './package-json.ts';

export interface Module {
  /** Name -> its statements, overloads among them. */
  readonly declared: ReadonlyMap<string, string>;
  /** Name in this module -> where it comes from. */
  readonly imported: ReadonlyMap<string, Origin>;
  /** Name for others -> where it comes from; what is declared and exported here is among them. */
  readonly exported: ReadonlyMap<string, Origin>;
  /** Modules all of whose names are handed on (`export *`). */
  readonly handsOn: readonly string[];
}

export interface Origin {
  /** As `plugin-api/contract/errors.ts`. */
  readonly module: string;
  readonly name: string;
}

const DECLARATION =
  /^(export )?(?:declare )?(?:abstract )?(?:const|let|function\*?|class|interface|type|namespace) ([\w$]+)/;

/** All modules below a folder of the compiler's output, by the path of their source. */
export function readModules(folder: string, doors: Readonly<Record<string, string>>): ReadonlyMap<string, Module> {
  const modules = globSync('**/*.d.ts', { cwd: folder }).sort();
  return new Map(
    modules.map((file) => {
      const source = file.replace(/\.d\.ts$/, '.ts');
      return [source, readModule(source, readFileSync(join(folder, file), 'utf8'), doors)];
    }),
  );
}

export function readModule(source: string, text: string, doors: Readonly<Record<string, string>>): Module {
  const declared = new Map<string, string>();
  const imported = new Map<string, Origin>();
  const exported = new Map<string, Origin>();
  const handsOn: string[] = [];
  for (const statement of statements(text)) {
    const [, exports, name = ''] = DECLARATION.exec(statement) ?? [];
    if (name !== '') {
      declared.set(name, [declared.get(name), statement].filter((one) => one !== undefined).join('\n'));
      if (exports) exported.set(name, { module: source, name });
      continue;
    }
    const [, way, names, from] =
      /^(import|export) (?:type )?(?:\{([^}]*)\}|\*)(?: from ['"]([^'"]+)['"])?;$/.exec(statement) ?? [];
    const module = from === undefined ? source : resolveModule(source, from, doors);
    if (way === undefined && !statement.startsWith('import'))
      throw new Error(`cannot read the declarations of ${source}: ${statement.split('\n')[0]}`);
    if (module === undefined) continue;
    if (names === undefined) {
      if (way === 'export') handsOn.push(module);
      continue;
    }
    for (const one of names.split(',').flatMap((part) => part.trim().replace(/^type /, '') || [])) {
      const [theirs = '', ours = theirs] = one.split(' as ');
      (way === 'import' ? imported : exported).set(ours, { module, name: theirs });
    }
  }
  return { declared, imported, exported, handsOn };
}

/** Statements of the first level; those in braces go on for lines. */
function statements(text: string): readonly string[] {
  const found: string[] = [];
  let open: string[] = [];
  let depth = 0;
  for (const line of text.split('\n')) {
    if (open.length === 0 && (line.trim() === '' || line.startsWith('#!'))) continue;
    open.push(line);
    const bare = line.replace(/"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|=>/g, '');
    depth += (bare.match(/[([{<]/g)?.length ?? 0) - (bare.match(/[)\]}>]/g)?.length ?? 0);
    if (depth > 0 || !/[;}]$/.test(line)) continue;
    found.push(open.join('\n'));
    open = [];
  }
  return found;
}

/** Undefined for packages. */
function resolveModule(source: string, from: string, doors: Readonly<Record<string, string>>): string | undefined {
  if (from.startsWith('.')) return join(dirname(source), from);
  if (from !== OWN_NAME && !from.startsWith(`${OWN_NAME}/`)) return undefined;
  const door = doors[`.${from.slice(OWN_NAME.length)}`];
  return door && join('plugin-api', door);
}
