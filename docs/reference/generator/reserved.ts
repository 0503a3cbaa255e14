import { EVENTS, HOOKS } from '@device-core/plugin-api';
import { operationCommands, programCommands } from '../../../plugins/interface/cli/program/commands.ts';
import { type Input, readAliases } from './input.ts';

/** Words that the kernel and the front ends use for themselves. */
const ALWAYS = ['core', 'kernel', 'device', 'operator', 'anonymous', 'plugin', 'app', 'v1', 'ui', 'help', 'version'];

/** manifests/reserved.json: the words with which names of the tree begin. An installed plugin has none of them as its id. */
function reservedFile({ manifests, operations, streams, programs, metrics }: Input): string {
  const first = (name: string, at: RegExp | string = '.') => name.split(at)[0]!;
  const methods = operations.map((one) => ({ ...one, views: [one.cli ?? {}].flat() }));
  const commands = [...operationCommands(methods as never), ...programCommands(programs.places)];
  const second = (name: string) => name.split('.')[1] ?? '';
  const topics = [...Object.keys(EVENTS), ...manifests.flatMap(({ publishes = [] }) => publishes)];
  const names = [
    ...ALWAYS,
    ...readAliases().keys(),
    ...manifests.flatMap(({ id, pages = [], provides = {} }) => [
      id,
      ...pages.map((one) => one.id),
      ...Object.keys(provides),
    ]),
    ...[...operations, ...streams].map(({ name }) => first(name)),
    ...operations.flatMap(({ rest }) => (rest ? [rest.path.split('/')[1]!] : [])),
    ...commands.flatMap(({ path, aliases }) => [path, ...aliases].map((words) => words[0]!)),
    ...topics.flatMap((topic) => [first(topic), ...(topic.startsWith('plugin.') ? [second(topic)] : [])]),
    ...Object.keys(HOOKS).map((name) => first(name)),
    ...metrics.map(second),
  ];
  const plain = names.filter((name) => /^[A-Za-z][A-Za-z0-9_-]*$/.test(name));
  return `${JSON.stringify({ names: [...new Set(plain)].sort() }, null, 2)}\n`;
}

export const RESERVED_FILES = { '../../manifests/reserved.json': reservedFile } as const;
