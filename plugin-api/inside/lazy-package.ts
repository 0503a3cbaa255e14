/**
 * Packages that most starts do without. They are loaded by the call that needs them first; `import()` would make each
 * of its callers wait.
 */
import { createRequire } from 'node:module';

/** The package as the module at `from` finds it: `packageLater<typeof import('ajv')>('ajv', import.meta.url)`. CommonJS packages only. */
export function packageLater<T>(name: string, from: string): () => T {
  let loaded: T | undefined;
  return () => {
    loaded ??= createRequire(from)(name) as T;
    return loaded;
  };
}
