import { maybe } from '@device-core/plugin-api';
import { cell, defineProgram, EXIT, type ProgramOutput } from '@device-core/plugin-api/program';
import { type Change, type Difference, differenceOfSkus, isSame, type Only } from './difference.ts';
import { hidden } from './hidden.ts';
import { CHECKOUT, placeOf, readableSku } from './resolved.ts';
import { type Sizes, sizesOf } from './sizes.ts';

interface Args {
  readonly a: string;
  readonly b: string;
  readonly bytes: boolean;
  readonly source: string;
}

/** `devicectl sku diff` */
export const program = defineProgram<Args>({
  description:
    'What is different in the second SKU: plugins, versions, settings, grants, capabilities, services. Exit code 1 where something is.',
  params: {
    type: 'object',
    required: ['a', 'b'],
    properties: {
      a: { type: 'string', description: 'a SKU' },
      b: { type: 'string', description: 'the other one' },
      bytes: { type: 'boolean', default: false, description: 'and what their images weigh, which takes some seconds' },
      source: { type: 'string', default: CHECKOUT, description: 'checkout with its packages, for --bytes' },
    },
  },
  cli: { fixed: ['a', 'b'] },
  async run({ out, args }) {
    const [a, b] = [readableSku(args.a).resolved, readableSku(args.b).resolved];
    const found = differenceOfSkus(a, b);
    const same = isSame(found);
    const difference = hidden(found);
    const sizes = args.bytes ? sizesOf(args.a, args.b, args.source) : undefined;
    if (out.json) await out.line(JSON.stringify({ ok: true, same, ...difference, ...maybe({ bytes: sizes }) }));
    else if (same) await out.line(`${args.a} and ${args.b} stand for the same`);
    else await told(out, difference);
    if (sizes && !out.json) await toldSizes(out, sizes);
    return same ? EXIT.ok : EXIT.answered;
  },
});

async function told(out: ProgramOutput, difference: Difference): Promise<void> {
  const { plugins, services, capabilities, grants, lines, config, sku } = difference;
  await toldLists(out, 'plugins', plugins);
  await toldLists(out, 'services', services);
  await toldLists(out, 'capabilities of plugins', capabilities);
  await toldLists(out, 'grants of apps', grants);
  await toldChanges(out, 'SKU', sku);
  await toldChanges(out, 'lines', lines);
  await toldChanges(out, 'settings', config);
}

async function toldLists(out: ProgramOutput, title: string, { added, removed }: Only): Promise<void> {
  if (added.length + removed.length === 0) return;
  await out.line(out.paint('bold', title));
  for (const one of removed) await out.line(out.paint('red', `  - ${one}`));
  for (const one of added) await out.line(out.paint('green', `  + ${one}`));
}

async function toldChanges(out: ProgramOutput, title: string, changes: readonly Change[]): Promise<void> {
  if (changes.length === 0) return;
  await out.line(out.paint('bold', title));
  await out.table(
    ['  WHAT', 'FROM', 'TO', 'LINE'],
    changes.map(({ key, from, to, at }) => [
      ...[`  ${key}`, from === undefined ? '-' : cell(from), to === undefined ? '-' : cell(to)],
      at === undefined ? 'by default' : placeOf(at),
    ]),
  );
}

async function toldSizes(out: ProgramOutput, { from, to, parts }: Sizes): Promise<void> {
  const kilobytes = (bytes: number) => Math.round(bytes / 1_000);
  const rows = parts.map((one) => [`  ${one.what}`, ...[one.from, one.to, one.to - one.from].map(kilobytes)]);
  await out.line(out.paint('bold', 'bytes of their images, in kB'));
  const all = ['  all', ...[from, to, to - from].map(kilobytes)];
  await out.table(['  WHAT', 'FROM', 'TO', 'MORE'], [all, ...rows.filter((row) => row[3] !== 0)]);
}
