import { reasonOf } from '@device-core/plugin-api';
import { defineProgram, usage } from '@device-core/plugin-api/program';
import { nativeCalls } from '../../shared/host/native.ts';
import { type FoundBus, scanHost } from './scan.ts';

interface Args {
  readonly host: boolean;
  readonly tree: string;
}

/** `devicectl bus scan` */
export const program = defineProgram<Args>({
  description: 'Lines for a SKU, of the buses that this machine has. Nothing is sent on a bus.',
  params: {
    type: 'object',
    properties: {
      host: { type: 'boolean', default: false, description: 'buses of this machine, by its kernel' },
      tree: { type: 'string', default: '/', description: 'root with sys, proc and dev' },
    },
  },
  async run({ out, args }) {
    if (!args.host) throw usage('say which buses are meant', 'devicectl bus scan --host');
    const calls = await nativeCalls().catch(async (error: unknown) => {
      if (!out.json) await out.line(`# ${reasonOf(error)}`);
      return undefined;
    });
    const buses = scanHost(args.tree, calls);
    if (out.json) return out.line(JSON.stringify({ ok: true, buses }));
    for (const line of linesOf(buses)) await out.line(line);
  },
});

/** YAML to be pasted below `plugins` of a SKU; users are comments. */
export function linesOf(buses: readonly FoundBus[]): readonly string[] {
  if (buses.length === 0) return ['# the kernel shows no I2C, SPI, GPIO, serial line or CAN'];
  return Object.entries(Object.groupBy(buses, ({ plugin }) => plugin)).flatMap(([plugin, found = []]) => [
    `  ${plugin}:`,
    '    version: ^1.0.0',
    '    config:',
    `      ${found[0]!.member}:`,
    ...found.flatMap(({ row, held }) => [
      `        - { ${Object.entries(row)
        .map(([key, value]) => `${key}: ${JSON.stringify(value)}`)
        .join(', ')} }`,
      ...held.map((who) => `          # ${who}`),
    ]),
  ]);
}
