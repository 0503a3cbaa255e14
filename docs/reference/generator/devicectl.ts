import type { Program } from '@device-core/plugin-api/program';
import type { DeviceInfo } from '@device-core/plugin-api/services/device';
import {
  type Command,
  Commands,
  operationCommands,
  programCommands,
} from '../../../plugins/interface/cli/program/commands.ts';
import { GLOBALS } from '../../../plugins/interface/cli/program/globals.ts';
import { flagsOf, programShape, usageOf } from '../../../plugins/interface/cli/program/help.ts';
import { shapeOf } from '../../../plugins/interface/cli/program/operation.ts';
import { loadProgram, treePrograms } from '../../../plugins/interface/cli/program/programs.ts';
import { methodsOf } from '../../../plugins/interface/cli/program/table.ts';
import { openrpc } from '../../../plugins/interface/operations/openrpc.ts';
import type { Input } from './input.ts';
import { code, codes, page, sentence, table } from './markdown.ts';

/** Modules of the programs that the tree declares, by command. */
export async function readPrograms(): Promise<Input['programs']> {
  const places = await treePrograms();
  const modules = await Promise.all(
    places.map(async (place) => [place.command, await loadProgram(place, true)] as const),
  );
  return { places, modules: new Map(modules) };
}

/** docs/reference/devicectl.md */
export function devicectlPage({ operations, programs }: Input): string {
  const nobody = { sku: { title: '' }, core: { version: '' } } as DeviceInfo;
  const methods = methodsOf(openrpc(operations, [], nobody));
  const commands = new Commands([...programCommands(programs.places), ...operationCommands(methods)]);
  return page(
    'devicectl',
    'The command line of a Core. A command is made from every [operation](rest.md) that the Core serves, and from every program that a plugin [declares](manifests.md). This page has those of the simulator with all plugins. `devicectl <command> --help` says the same of the Core that runs.',
    [
      '- A noun may be written in the plural (`apps`); alone it means its `list`, or what its table says (`spi`).',
      '- `<param>` stands at its place and may be given by its flag as well; `[param]` may be left out. A list is given by repeating its flag, a switch is turned off with `--no-`.',
      '- Bytes are pairs of hex digits, `@file`, `-` for standard input, or `base64:...`; `--out <file>` keeps those of the answer. An object is JSON, `key=value` (may be repeated), `@file` or `-`.',
      '- `--json` prints the answer of the Core as it is. Tables fit the terminal; without one nothing is cut.',
      '- Exit codes: 0 done, 1 the Core answered with an error, 2 wrong usage, 3 the Core cannot be reached.',
    ].join('\n'),
    '## Options of devicectl',
    table(
      ['option', 'meaning'],
      GLOBALS.map(({ flag, short, value, summary }) => [
        [...(short ? [code(short)] : []), code(`${flag}${value ? ` <${value}>` : ''}`)].join(', '),
        sentence(summary.replace(/<(\w+)>/g, '`<$1>`')),
      ]),
    ),
    ...commands.next([]).flatMap((noun) => {
      const own = commands.all.filter(({ path }) => path[0] === noun);
      return [
        `## ${noun}`,
        table(
          ['command', 'what', 'options', 'from'],
          own.map((one) => row(one, programs.modules)),
        ),
      ];
    }),
  );
}

function row(command: Command, modules: ReadonlyMap<string, Program>): readonly string[] {
  const shape = command.kind === 'operation' ? shapeOf(command) : programShape(modules.get(command.path.join(' ')));
  const also = command.aliases.map((words) => words.join(' '));
  const from =
    command.kind === 'operation'
      ? code(command.method.name)
      : `program of ${code(command.place.plugin)}${command.place.needsCore === false ? ', needs no Core' : ''}`;
  return [
    `${code(usageOf(command, shape.parameters))}${also.length > 0 ? `, also ${codes(also)}` : ''}`,
    sentence(command.summary),
    codes(flagsOf(shape)),
    from,
  ];
}
