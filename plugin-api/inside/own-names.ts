/**
 * Names that an installed plugin may take: those below its id. Names of the tree are reserved by
 * `manifests/reserved.json`, which `npm run docs` makes from the manifests and the table of operations, so that the
 * order of starts decides nothing (docs/adr/0178).
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PluginManifest } from '../contract/manifest.ts';
import { parseFilter } from '../contract/topics.ts';
import type { OperationInfo } from '../services/operations.ts';
import type { ManifestProblem } from './manifest-check.ts';

/** Letters and digits that look like others, in the one form that stands for all of them. */
const ALIKE: readonly (readonly [RegExp, string])[] = [
  [/[^a-z0-9]/g, ''],
  [/0/g, 'o'],
  [/[1i]/g, 'l'],
  [/5/g, 's'],
  [/rn/g, 'm'],
  [/vv/g, 'w'],
  [/(?<=..)s$/, ''],
];

/** Equal for names that a person takes for each other: `app-st0re` and `app-store`, `timers` and `timer`. */
export function looksLike(name: string): string {
  return ALIKE.reduce((text, [pattern, by]) => text.replace(pattern, by), name.toLowerCase());
}

/** `weather-station` -> `weatherStation`: the first word of its operations and streams. */
export function operationWord(id: string): string {
  const [first = '', ...rest] = id.split('-').filter((word) => word !== '');
  return [first, ...rest.map((word) => word[0]!.toUpperCase() + word.slice(1))].join('');
}

/** `device.weather_station.`: the beginning of its metrics. */
export const metricPrefix = (id: string): string => `device.${id.replaceAll('-', '_')}.`;

/** Reserved names by what they look like. */
export type Reserved = ReadonlyMap<string, string>;

const known = new Map<string, Reserved>();

/** Names of the tree in `checkout`. */
export function reservedNames(checkout: string): Reserved {
  const file = join(checkout, 'manifests/reserved.json');
  let names = known.get(file);
  if (!names) {
    const { names: list } = JSON.parse(readFileSync(file, 'utf8')) as { readonly names: readonly string[] };
    names = new Map(list.map((name) => [looksLike(name), name]));
    known.set(file, names);
  }
  return names;
}

/** Names in the manifest of an installed plugin that are not its own. Empty when all is well. */
export function foreignNames(manifest: PluginManifest, reserved: Reserved): readonly ManifestProblem[] {
  const { id, publishes = [], programs = [] } = manifest;
  const problems: ManifestProblem[] = [];
  const report = (path: ManifestProblem['path'], message: string) =>
    problems.push({ path, code: 'MANIFEST_INVALID', message });
  const taken = reserved.get(looksLike(id));
  if (taken !== undefined) report(['id'], `${id} is, or looks like, ${taken}, a name of the Core`);
  for (const [index, filter] of publishes.entries())
    if (!isOwnTopic(id, filter))
      report(
        ['publishes', index],
        `${filter} is no topic of this plugin: an installed plugin publishes plugin.${id}.*`,
      );
  for (const [index, { command, aliases = [] }] of programs.entries())
    for (const words of [command, ...aliases])
      if (!isOwnCommand(id, words))
        report(['programs', index], `the command ${words} of an installed plugin has to begin with ${id}`);
  return problems;
}

/** The names of an operation or a stream of an installed plugin that are not its own, as a sentence. */
export function foreignName(
  id: string,
  { name, rest, cli }: Pick<OperationInfo, 'name' | 'rest' | 'cli'>,
): string | undefined {
  const because = `for it comes from the installed plugin with \`id: ${id}\` in plugin.yaml`;
  const word = operationWord(id);
  if (!name.startsWith(`${word}.`)) return `its name has to begin with ${word}., ${because}`;
  if (rest && rest.path !== `/${id}` && !rest.path.startsWith(`/${id}/`))
    return `its path ${rest.path} has to lie below /${id}, ${because}`;
  for (const view of cli === undefined ? [] : [cli].flat())
    for (const words of [view?.command ?? id, ...listOf(view?.aliases)])
      if (!isOwnCommand(id, words))
        return `its command ${String(words).slice(0, 60)} has to begin with ${id}, ${because}`;
  return undefined;
}

const listOf = (value: unknown): readonly unknown[] =>
  Array.isArray(value) ? value : value === undefined ? [] : [value];

function isOwnTopic(id: string, filter: string): boolean {
  try {
    const [first, second, ...rest] = parseFilter(filter);
    return first === 'plugin' && second === id && rest.length > 0;
  } catch {
    return true; // told as FILTER_INVALID
  }
}

/** Nouns stand in the singular, too: `weather` of plugin `weathers`. */
function isOwnCommand(id: string, words: unknown): boolean {
  const [noun = ''] = String(words).split(' ');
  return noun === id || `${noun}s` === id;
}
