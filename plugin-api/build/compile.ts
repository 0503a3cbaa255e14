import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { API_FOLDER, OWN_NAME, ROOT, readPackageJson } from './package-json.ts';

export interface Compilation {
  /** Modules to begin with, relative to the root of the checkout; what they import comes with them. */
  readonly files: readonly string[];
  /** Folder with the output: `plugin-api/<module>`, `kernel/<module>`. */
  readonly outDir: string;
  /** Declarations alone, without comments. */
  readonly declarationsOnly?: boolean;
}

/** Compiles with the settings of the checkout. Throws where the compiler finds a mistake. */
export function compile({ files, outDir, declarationsOnly = false }: Compilation): void {
  const config = {
    extends: join(ROOT, 'tsconfig.json'),
    compilerOptions: {
      noEmit: false,
      declaration: true,
      emitDeclarationOnly: declarationsOnly,
      removeComments: declarationsOnly,
      rewriteRelativeImportExtensions: !declarationsOnly,
      allowImportingTsExtensions: declarationsOnly,
      rootDir: ROOT,
      outDir,
      types: ['node'],
      paths: doorPaths(),
    },
    include: [],
    files: files.map((file) => join(ROOT, file)),
  };
  mkdirSync(outDir, { recursive: true });
  const file = join(outDir, 'tsconfig.json');
  writeFileSync(file, JSON.stringify(config));
  execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', file], { stdio: 'inherit' });
  rmSync(file);
}

/**
 * Path of each door. Found through node_modules a module counts as one of a package, for which nothing is written;
 * which way the compiler finds it first depends on the load of the machine.
 */
function doorPaths(): Readonly<Record<string, readonly string[]>> {
  const { exports } = readPackageJson(API_FOLDER);
  return Object.fromEntries(
    Object.entries(exports).map(([door, path]) => [`${OWN_NAME}${door.slice(1)}`, [join(API_FOLDER, path)]]),
  );
}

/** A folder for the output of this process alone, below the checkout so that packages are found; gone when disposed of. */
export function outputFolder(name: string): Disposable & { readonly path: string } {
  const path = join(API_FOLDER, 'dist', `${name}-${process.pid}`);
  const remove = () => rmSync(path, { recursive: true, force: true });
  remove();
  return { path, [Symbol.dispose]: remove };
}
