/** Declarations of programs, and their loading. */
import { readFileSync, realpathSync, type Stats, statSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { dirname, join, resolve, sep } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { ProgramDeclaration } from '@device-core/plugin-api';
import type { PluginStatus } from '@device-core/plugin-api/inside/services/plugin-manager';
import { treeManifests } from '@device-core/plugin-api/inside/tree';
import { EXIT, Failure, type Program } from '@device-core/plugin-api/program';
import type { CoreClient } from './client.ts';

/** `main` is absolute. */
export interface ProgramPlace extends ProgramDeclaration {
  readonly plugin: string;
}

const TREE = fileURLToPath(new URL('../../../../', import.meta.url));

/** Programs of every plugin of this checkout. */
export async function treePrograms(tree = TREE): Promise<readonly ProgramPlace[]> {
  const all = [...treeManifests(tree)].map(async ([plugin, file]) => {
    const programs = await programsIn(readFileSync(file, 'utf8'));
    return programs.map((one) => ({ ...one, plugin, main: resolve(dirname(file), one.main) }));
  });
  return (await Promise.all(all)).flat();
}

/** Ids of all of them. */
export function treePlugins(tree = TREE): readonly string[] {
  return [...treeManifests(tree).keys()];
}

/** A manifest of the tree has its programs as JSON (but for commas at line ends), which is read in no time; a shell waits for us. */
async function programsIn(manifest: string): Promise<readonly ProgramDeclaration[]> {
  const start = /^programs:/m.exec(manifest)?.index;
  if (start === undefined) return [];
  const text = /^programs:\s*(\[[\s\S]*?\n {2}\])/m.exec(manifest.slice(start))?.[1];
  try {
    if (text !== undefined) return JSON.parse(text.replace(/,(\s*[}\]])/g, '$1')) as readonly ProgramDeclaration[];
  } catch {
    // YAML of another style, which takes its own parser.
  }
  const { parse } = await import('yaml');
  return (parse(manifest) as { programs?: readonly ProgramDeclaration[] }).programs ?? [];
}

/** Programs of the plugins that the Core runs. None where it does not tell its plugins. */
export async function corePrograms(client: CoreClient, timeoutMs?: number): Promise<readonly ProgramPlace[]> {
  try {
    const { body } = await client.get('/plugins', timeoutMs === undefined ? {} : { timeoutMs });
    const plugins = (body.plugins ?? []) as readonly PluginStatus[];
    const named = plugins.flatMap(({ id, programs = [] }) => programs.map((one) => ({ ...one, plugin: id })));
    if (!client.target.device) return named;
    // Paths of another machine mean nothing here: this checkout has the same programs, or none.
    const tree = await treePrograms();
    return named.flatMap(
      ({ plugin, command }) => tree.find((one) => one.plugin === plugin && one.command === command) ?? [],
    );
  } catch (error) {
    if (error instanceof Failure && error.exit === EXIT.answered && error.code !== 'UNAUTHENTICATED') return [];
    throw error;
  }
}

/** Rejects with a Failure where it may not be loaded, or is no program. */
export async function loadProgram(place: ProgramPlace, overSocket: boolean): Promise<Program> {
  const file = realPath(place);
  if (!file.startsWith(join(realpathSync(TREE), 'plugins') + sep)) admit(place, file, overSocket);
  const { program } = (await import(pathToFileURL(file).href)) as { program?: Program };
  if (typeof program?.run === 'function') return program;
  throw refused(place, `${file} exports no \`program\` with run()`);
}

/**
 * A module from outside the tree is code that a Core named: it runs with the rights of the user who types. So it has to
 * be a plugin that this user or root installed on this machine, and nobody else may have written it.
 */
function admit(place: ProgramPlace, file: string, overSocket: boolean): void {
  if (!overSocket) throw refused(place, 'programs of installed plugins need the Unix socket of the Core');
  for (const path of [file, dirname(file)]) {
    const reason = foreign(statSync(path));
    if (reason) throw refused(place, `${path} ${reason}`);
  }
  if (hooked) return;
  hooked = true;
  registerHooks({
    resolve: (specifier, context, next) =>
      /^@device-core\/plugin-api(\/|$)/.test(specifier) && !context.parentURL?.startsWith(pathToFileURL(TREE).href)
        ? next(specifier, { ...context, parentURL: import.meta.url })
        : next(specifier, context),
  });
}

/** Modules from outside get the plugin-api of this tree, for the life of the process. */
let hooked = false;

function foreign({ uid, gid, mode }: Stats): string | undefined {
  if (uid !== 0 && uid !== process.getuid?.()) return 'belongs to another user';
  const others = (mode & 0o002) !== 0 || ((mode & 0o020) !== 0 && gid !== 0 && gid !== process.getgid?.());
  return others ? 'may be written by others' : undefined;
}

function realPath(place: ProgramPlace): string {
  try {
    return realpathSync(place.main);
  } catch (error) {
    throw refused(place, `cannot read ${place.main}: ${(error as NodeJS.ErrnoException).code}`);
  }
}

function refused({ command, plugin }: ProgramPlace, reason: string): Failure {
  return new Failure(EXIT.usage, 'PROGRAM_REFUSED', `${command} of plugin ${plugin} is not run: ${reason}`);
}
