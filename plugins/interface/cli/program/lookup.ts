/**
 * Finds the command that the words name: among the programs of the plugins that run, the operations of the table, and
 * what needs no Core.
 */

import { singular } from '@device-core/plugin-api/inside/command-words';
import { pause } from '@device-core/plugin-api/inside/program';
import { EXIT, Failure, usage } from '@device-core/plugin-api/program';
import type { CoreClient } from './client.ts';
import { Commands, type Found, operationCommands, programCommands } from './commands.ts';
import { corePrograms, type ProgramPlace, treePlugins, treePrograms } from './programs.ts';
import { nearest } from './suggest.ts';
import { type Method, readTable } from './table.ts';

/** A device that starts is looked at again for half a minute. */
const LOOKS = 60;
const LOOK_MS = 500;

export interface Looked {
  readonly commands: Commands;
  /** The table, those included that are no command of their own. */
  readonly methods: readonly Method[];
  /** Plugins of the Core are on their way, and may bring more. */
  readonly starting?: boolean;
  /** Why the Core could not be asked. */
  readonly unreachable?: Failure;
}

/** Everything there is. A Core that cannot be reached leaves the programs of the tree. */
export async function allCommands(client: CoreClient, timeoutMs?: number): Promise<Looked> {
  return everything(client, () => corePrograms(client, timeoutMs), timeoutMs);
}

/** Asks for no more than it needs. Throws a Failure where there is no such command, or it cannot be known without the Core. */
export async function findCommand(client: CoreClient, words: readonly string[]): Promise<Found> {
  for (let looks = 0; ; looks++) {
    const found = await look(client, words, looks < LOOKS);
    if (found) return found;
    await pause(LOOK_MS);
  }
}

/** Undefined where it may still be to come, as long as one is `patient`. Throws a Failure. */
async function look(client: CoreClient, words: readonly string[], patient: boolean): Promise<Found | undefined> {
  const running = corePrograms(client);
  const quick = await running.then(
    (programs) => quickly(programs, words),
    () => undefined, // the same promise says below why
  );
  if (quick) return quick;
  const { commands, starting, unreachable } = await everything(client, () => running);
  const found = commands.find(words);
  if (found && !(unreachable && needsCore(found))) return found;
  if (starting && patient) return undefined;
  if (unreachable && !isOfTheDesk(words, commands)) throw unreachable;
  throw unknown(words, commands, unreachable && 'no Core is reached, which may know more');
}

async function everything(
  client: CoreClient,
  running: () => Promise<readonly ProgramPlace[]>,
  timeoutMs?: number,
): Promise<Looked> {
  const tree = await treePrograms();
  try {
    const programs = await running();
    const { methods, starting } = await readTable(client, timeoutMs);
    return { commands: merged(programs, tree, methods), methods, starting };
  } catch (error) {
    if (!(error instanceof Failure) || error.exit !== EXIT.unreachable) throw error;
    return { commands: new Commands(programCommands(tree)), methods: [], unreachable: error };
  }
}

/** A program that is named by all words that could be a verb of its noun needs no look at the table. */
function quickly(programs: readonly ProgramPlace[], words: readonly string[]): Found | undefined {
  const found = new Commands(programCommands(programs)).find(words);
  const next = found && words[found.used];
  return next === undefined || !/^[a-z][a-z0-9-]*$/.test(next) ? found : undefined;
}

/** Programs of plugins that do not run are offered where they need no Core. */
function merged(running: readonly ProgramPlace[], tree: readonly ProgramPlace[], methods: readonly Method[]) {
  const idle = tree.filter(
    ({ command, needsCore }) => needsCore === false && !running.some((one) => one.command === command),
  );
  return new Commands([...programCommands([...running, ...idle]), ...operationCommands(methods)]);
}

function needsCore({ command }: Found): boolean {
  return command.kind === 'operation' || command.place.needsCore !== false;
}

/**
 * Is the first word a noun of tools alone? Their programs need no Core, and no plugin of the tree is called so, whose
 * operations a Core would have.
 */
function isOfTheDesk(words: readonly string[], commands: Commands): boolean {
  const below = commands.below(words.slice(0, 1));
  const noun = below[0]?.path[0];
  if (noun === undefined || treePlugins().some((id) => singular(id) === noun)) return false;
  return below.every((command) => command.kind === 'program' && command.place.needsCore === false);
}

/** A command of a plugin that does not run is as unknown as any. */
const NONE = 'see: devicectl --help; a plugin that does not run brings no commands: devicectl plugin list';

const absent = (plugin: string): string =>
  `plugin ${plugin} brings its commands while it runs; whether it does, and why not: devicectl plugin list`;

function unknown(words: readonly string[], commands: Commands, note?: string): Failure {
  const verbs = commands.below(words.slice(0, 1));
  if (verbs.length === 0) {
    const plugin = treePlugins().find((id) => id === words[0] || singular(id) === words[0]);
    if (plugin) return usage(`there is no command ${words[0]}`, absent(plugin));
    const near = nearest(words[0]!, commands.next([]));
    return usage(`there is no command ${words[0]}`, near ? `did you mean ${near}?` : NONE);
  }
  const noun = verbs[0]!.path[0]!;
  const there = commands.next([noun]);
  if (words.length === 1) return usage(`${noun} needs one of ${there.join(', ')}`, note);
  const near = nearest(words[1]!, there);
  const hint = near ? `did you mean ${noun} ${near}?` : `there are ${there.join(', ')}`;
  return usage(`there is no command ${noun} ${words[1]}`, note === undefined ? hint : `${hint}; ${note}`);
}
