import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { replaceFile } from '@device-core/plugin-api/durable';
import { defineProgram, EXIT, Failure, usage } from '@device-core/plugin-api/program';
import { KERNEL, providersOf, type ResolvedSku, readableSku } from './resolved.ts';

interface Args {
  readonly file: string;
  readonly out?: string;
  readonly optional: boolean;
}

/** `devicectl sku graph` */
export const program = defineProgram<Args>({
  description:
    'Who needs whom, as a graph for dot(1). An edge leads from a plugin to the one that it cannot start without.',
  params: {
    type: 'object',
    required: ['file'],
    properties: {
      file: { type: 'string', description: 'of the SKU' },
      out: { type: 'string', description: 'a file: .dot, or .svg where dot(1) is installed' },
      optional: { type: 'boolean', default: true, description: 'with what a plugin uses where it is there, as dashes' },
    },
  },
  cli: { fixed: ['file'] },
  async run({ out, args }) {
    if (args.out !== undefined && !/\.(dot|svg)$/.test(args.out)) throw usage('--out takes a file .dot or .svg');
    const { resolved } = readableSku(args.file);
    const edges = edgesOf(resolved, args.optional);
    const dot = dotOf(resolved, edges);
    if (args.out !== undefined) await replaceFile(resolve(args.out), args.out.endsWith('.svg') ? drawn(dot) : dot);
    if (out.json) return out.line(JSON.stringify({ ok: true, ...(args.out && { file: resolve(args.out) }), edges }));
    await out.line(args.out === undefined ? dot.trimEnd() : `${args.out}: ${edges.length} edges`);
  },
});

export interface Edge {
  readonly from: string;
  /** Absent where nobody provides it. */
  readonly to?: string;
  readonly service: string;
  readonly optional?: true;
}

/** Services of the kernel are left out: they are always there. */
export function edgesOf(resolved: ResolvedSku, optional: boolean): readonly Edge[] {
  const providers = providersOf(resolved);
  return resolved.plugins.flatMap((plugin) => {
    const wanted = [
      ...Object.keys(plugin.requires).map((service) => ({ service, may: false })),
      ...Object.keys(optional ? plugin.optional : {}).map((service) => ({ service, may: true })),
    ];
    return wanted.flatMap(({ service, may }): readonly Edge[] => {
      const [first, ...others] = providers.get(service) ?? [];
      if (first?.id === KERNEL || (first === undefined && may)) return [];
      const edge = { from: plugin.id, service, ...(may && ({ optional: true } as const)) };
      return first === undefined ? [edge] : [first, ...others].map(({ id }) => ({ ...edge, to: id }));
    });
  });
}

/** A wing of the house is a box, so that voice and display can be told apart. Sorted: two graphs can be compared. */
function dotOf({ sku, plugins }: ResolvedSku, edges: readonly Edge[]): string {
  const wings = Map.groupBy(plugins, ({ tree, file }) => (tree ? wingOf(file) : 'outside'));
  const boxes = [...wings]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([wing, members]) => {
      const nodes = members.map((one) => `    ${name(one.id)} [${style(one.essential, one.enabled)}];`);
      return [`  subgraph ${name(`cluster_${wing}`)} {`, `    label=${name(wing)};`, ...nodes, '  }'].join('\n');
    });
  const lines = edges.map(({ from, to, service, optional }) => {
    const gone = to === undefined;
    const dashes = optional ? ', style=dashed' : '';
    return `  ${name(from)} -> ${name(to ?? `no plugin provides ${service}`)} [label=${name(service)}${gone ? ', color=red' : dashes}];`;
  });
  const head = [
    '  rankdir=LR;',
    '  node [shape=box, fontname="sans-serif"];',
    '  edge [fontname="sans-serif", fontsize=9];',
  ];
  return `${[`digraph ${name(sku.id)} {`, ...head, ...boxes, ...lines, '}'].join('\n')}\n`;
}

const wingOf = (file: string | undefined): string => file?.split('/').at(-2) ?? 'outside';

const style = (essential: boolean, enabled: boolean): string => {
  const words = [...(essential ? ['bold'] : []), ...(enabled ? [] : ['dotted'])];
  return words.length === 0 ? '' : `style=${name(words.join(','))}`;
};

/** Any text is a name between quotation marks. */
const name = (text: string): string => `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

function drawn(dot: string): string {
  const { status, stdout, stderr, error } = spawnSync('dot', ['-Tsvg'], {
    input: dot,
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  if (status === 0) return stdout;
  const why = error === undefined ? stderr.trim() : 'dot is not installed';
  throw new Failure(EXIT.answered, 'UNAVAILABLE', `no picture can be drawn: ${why}`, {
    hint: 'apt-get install graphviz, or write a .dot',
  });
}
