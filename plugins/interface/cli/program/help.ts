/** Help: of devicectl, of a noun, of a command. All of it comes from the commands there are. */

import { cell, type Program } from '@device-core/plugin-api/program';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Command, Commands } from './commands.ts';
import { GLOBALS } from './globals.ts';
import { shapeOf } from './operation.ts';
import { type Parameter, parametersOf, placesOf } from './parameters.ts';
import { dashed, labelOf } from './parse.ts';
import { typeName } from './values.ts';

const EPILOGUE = `Exit codes: 0 done, 1 the Core answered with an error, 2 wrong usage, 3 the Core cannot be reached.
On the Unix socket the user of the Core and root are the operator; over --url the operator's token file is used.`;

/** Help of devicectl: single commands with their summaries, nouns with their verbs. */
export function overview(commands: Commands, note?: string): string {
  const rows = commands.next([]).map((noun): readonly [string, string] => {
    const alone = commands.all.find(({ path }) => path.length === 1 && path[0] === noun);
    const verbs = commands.next([noun]);
    const more = verbs.length > 0 ? `${alone ? '; also ' : ''}${verbs.join(', ')}` : '';
    return [noun, `${alone?.summary ?? ''}${more}`];
  });
  return [
    'Usage: devicectl [options] <command> ...',
    'Look at and administer a Device Core through its public interface.',
    `Commands (devicectl <command> --help says more):\n${lines([...rows, ['completion <shell>', 'completion for a shell: eval "$(devicectl completion bash)"']])}`,
    globals(),
    ...(note === undefined ? [] : [note]),
    EPILOGUE,
  ].join('\n\n');
}

/** Help for the commands below a noun. */
export function nounHelp(words: readonly string[], commands: readonly Command[]): string {
  const rows = commands.map((command): readonly [string, string] => [
    command.kind === 'program' ? `${command.path.join(' ')} ...` : usageOf(command),
    command.summary,
  ]);
  return `Usage: devicectl ${words.join(' ')} <command> ...\n\nCommands:\n${lines(rows)}`;
}

/** `program` is the module of a program. */
export function commandHelp(command: Command, program?: Program): string {
  const { parameters, own } = command.kind === 'operation' ? shapeOf(command) : programShape(program);
  const about = command.kind === 'operation' ? command.method.description : program?.description;
  const places = placesOf(parameters).map((one): readonly [string, string] => [placeOf(one), described(one)]);
  const flags = optionsOf(parameters).map((one): readonly [string, string] => [flagOf(one), described(one)]);
  const added = Object.entries(own).map(([flag, { kind, summary }]): readonly [string, string] => [
    ownFlag(flag, kind),
    summary,
  ]);
  const origin =
    command.kind === 'operation'
      ? `Operation ${command.method.name}${command.method.capability ? `, needs ${command.method.capability}` : ''}: ${command.method.rest.method} ${command.method.rest.path}`
      : `A program of plugin ${command.place.plugin}${command.place.needsCore === false ? '; needs no Core' : ''}.`;
  return [
    `Usage: devicectl ${usageOf(command, parameters)}`,
    about ? `${command.summary}\n${about}` : command.summary,
    ...(command.aliases.length > 0 ? [`Also: ${command.aliases.map((words) => words.join(' ')).join(', ')}`] : []),
    ...(places.length > 0 ? [`Arguments:\n${lines(places)}`] : []),
    ...(flags.length + added.length > 0 ? [`Options:\n${lines([...flags, ...added])}`] : []),
    globals(),
    origin,
  ].join('\n\n');
}

export function programShape(program?: Program): ReturnType<typeof shapeOf> {
  return { parameters: parametersOf(program?.params, program?.cli), own: {} };
}

/** As they are typed: `-n, --lines <lines>`. */
export function flagsOf({ parameters, own }: ReturnType<typeof shapeOf>): readonly string[] {
  return [...optionsOf(parameters).map(flagOf), ...Object.entries(own).map(([flag, { kind }]) => ownFlag(flag, kind))];
}

function optionsOf(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ place, flags }) => place === undefined && flags.length > 0);
}

function ownFlag(flag: string, kind: 'value' | 'switch'): string {
  return `--${flag}${kind === 'value' ? ' <file>' : ''}`;
}

/** `app stop <id>`, with `[options]` where there are some. */
export function usageOf(
  command: Command,
  parameters: readonly Parameter[] = command.kind === 'operation' ? shapeOf(command).parameters : [],
): string {
  const options = parameters.some(({ place, required }) => place === undefined && !required) ? ['[options]'] : [];
  const needed = parameters
    .filter(({ place, required }) => place === undefined && required)
    .map((one) => (one.kind === 'boolean' ? flagOf(one) : `${labelOf(one)} <${one.name}>`));
  return [...command.path, ...placesOf(parameters).map(placeOf), ...needed, ...options].join(' ');
}

function placeOf({ name, required, kind }: Parameter): string {
  const text = kind === 'array' || kind === 'object' ? `${name}...` : name;
  return required ? `<${text}>` : `[${text}]`;
}

function flagOf({ name, flags, kind, schema }: Parameter): string {
  const value = kind === 'boolean' ? '' : ` <${name}>`;
  const all = [...flags].sort((a, b) => a.length - b.length).map(dashed);
  return kind === 'boolean' && schema.default === true ? `--no-${flags[0]}` : `${all.join(', ')}${value}`;
}

function described({ schema, kind, required, place }: Parameter): string {
  const { description } = schema as { readonly description?: string };
  const type = kind === 'string' || kind === 'boolean' ? [] : [typeName(schema)];
  const initial = defaultOf(schema);
  const rest = [...type, ...(initial === undefined ? [] : [`default ${initial}`])].join('; ');
  const needed = required && place === undefined ? 'required' : '';
  // How bytes are typed is not how they are sent.
  const told = description?.replace(/(; )?base64\b.*$/i, '').replace(/\.$/, '');
  const all = [told, [needed, rest].filter(Boolean).join('; ')].filter(Boolean);
  return cell(all.length === 2 ? `${all[0]} (${all[1]})` : (all[0] ?? ''));
}

function defaultOf(schema: JsonSchema): string | undefined {
  if (!('default' in schema) || typeof schema.default === 'boolean') return undefined;
  return typeof schema.default === 'string' ? schema.default : JSON.stringify(schema.default);
}

function globals(): string {
  const rows = GLOBALS.map(({ flag, short, value, summary }): readonly [string, string] => [
    `${short ? `${short}, ` : ''}${flag}${value ? ` <${value}>` : ''}`,
    summary,
  ]);
  return `Options of devicectl:\n${lines(rows)}`;
}

function lines(rows: readonly (readonly [string, string])[]): string {
  const width = Math.min(32, Math.max(...rows.map(([name]) => name.length)));
  return rows.map(([name, text]) => `  ${name.padEnd(width)}  ${text}`.trimEnd()).join('\n');
}
