/** A package that an operator names: a file or a folder, or what the repository of the device has under an id. */
import { stat } from 'node:fs/promises';
import { resolve } from 'node:path';
import { PACKAGE_OFFERS, type PackageNoun, packageNamed } from '../program/offered-package.ts';

export type NamedPackage =
  | { readonly kind: 'path'; readonly path: string }
  | { readonly kind: 'repository'; readonly id: string; readonly version?: string };

/** Existing paths come first, and a text in the form of a path is one. */
export async function namedPackage(noun: PackageNoun, text: string): Promise<NamedPackage> {
  const path = resolve(text);
  const isPath = text.includes('/') || text.endsWith(PACKAGE_OFFERS[noun].suffix);
  const named = isPath || (await isThere(path)) ? undefined : packageNamed(noun, text);
  return named ? { kind: 'repository', ...named } : { kind: 'path', path };
}

const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
