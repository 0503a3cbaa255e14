/**
 * Change notes: one file below `.changes/` for each change that a user of a package would notice. The release script
 * makes versions and the changelog of them.
 */
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseYaml } from '../inside/yaml.ts';

export const PACKAGES = ['core', 'plugin-api'] as const;
export type PackageId = (typeof PACKAGES)[number];
/** Least first. */
export const KINDS = ['patch', 'minor', 'major'] as const;
export type NoteKind = (typeof KINDS)[number];

export interface ChangeNote {
  /** `.changes/<slug>.md` */
  readonly file: string;
  readonly kind: NoteKind;
  readonly packages: readonly PackageId[];
  /** For the changelog, in the words of whoever notices. */
  readonly text: string;
}

/** Sorted by file. Throws where one is not a note. */
export function readNotes(checkout: string): readonly ChangeNote[] {
  return globSync('.changes/*.md', { cwd: checkout })
    .filter((file) => !basename(file).startsWith('released-'))
    .sort()
    .map((file) => parseNote(file, readFileSync(join(checkout, file), 'utf8')));
}

/** A head of YAML between lines of `---`, then the text. Throws an Error that names the file and what is wrong. */
export function parseNote(file: string, source: string): ChangeNote {
  const fail = (reason: string) => new Error(`cannot read ${file}: ${reason}`);
  if (!/^\.changes\/[a-z0-9]+(-[a-z0-9]+)*\.md$/.test(file))
    throw fail('its name is not of lower case words and dashes');
  const [, head, text = ''] = /^---\n([\s\S]*?)\n---\n([\s\S]*)$/.exec(source) ?? [];
  if (head === undefined) throw fail('it does not begin with kind and packages between two lines of ---');
  const { value, errors } = parseYaml(head);
  const [error] = errors;
  // The head begins below the line of dashes.
  if (error) throw fail(`line ${error.line + 1}: ${error.message}`);
  const { kind, packages, ...others } = Object(value) as Record<string, unknown>;
  const [other] = Object.keys(others);
  if (other !== undefined) throw fail(`it has a member ${other}`);
  if (!KINDS.some((one) => one === kind)) throw fail(`kind must be one of ${KINDS.join(', ')}`);
  const known = Array.isArray(packages) && packages.length > 0 && packages.every((one) => PACKAGES.includes(one));
  if (!known) throw fail(`packages must be a list of ${PACKAGES.join(', ')}`);
  if (text.trim() === '') throw fail('it says nothing');
  return { file, kind: kind as NoteKind, packages: packages as PackageId[], text: text.trim() };
}
