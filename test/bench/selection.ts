/** What the command line of the bench asks for. */
import { parseArgs } from 'node:util';

/** Rows that go together. */
export const GROUPS: Readonly<Record<string, string>> = {
  bridge: '16,22-27,39',
  isolation: '18-21',
  voice: '14-15,17,28-30',
  fair: '31-37,134-139',
  state: '40-44',
  small: '46-52',
  display: '75-89',
};
/** The start, idle and memory rows, confined to what a small board has. */
export const BOARD = 'board';

export interface Wanted {
  readonly quick: boolean;
  /** Print what is kept as Markdown; nothing is run. */
  readonly markdown: boolean;
  readonly against?: string;
  readonly profile?: 'start' | 'idle';
  /** Of the profile: a name in skus/ or a file. */
  readonly sku?: string;
  readonly board: boolean;
  /** All if absent. */
  readonly rows?: ReadonlySet<number>;
}

export function readWanted(args: readonly string[]): Wanted {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      quick: { type: 'boolean', default: false },
      markdown: { type: 'boolean', default: false },
      against: { type: 'string' },
      profile: { type: 'string' },
      sku: { type: 'string' },
    },
  });
  const { quick, markdown, against, profile, sku } = values;
  if (profile !== undefined && profile !== 'start' && profile !== 'idle')
    throw new Error(`cannot make a profile of "${profile}": expected start or idle`);
  if (sku !== undefined && profile === undefined)
    throw new Error('cannot take --sku without --profile: rows have SKUs of their own');
  const board = positionals.includes(BOARD);
  if (board && positionals.length > 1) throw new Error('cannot select rows beside "board": it has its own');
  const named = board ? ['small'] : positionals;
  return {
    quick,
    markdown,
    board,
    ...(against === undefined ? {} : { against }),
    ...(profile === undefined ? {} : { profile }),
    ...(sku === undefined ? {} : { sku }),
    ...(named.length === 0 ? {} : { rows: new Set(named.flatMap(rowNumbers)) }),
  };
}

function rowNumbers(named: string): number[] {
  const text = GROUPS[named] ?? named;
  return text.split(',').flatMap((part) => {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) throw new Error(`cannot select rows "${part}": ${expected}`);
    return Array.from({ length: Number(last) - Number(first) + 1 }, (_, index) => Number(first) + index);
  });
}

const expected = `expected a number, a range such as 1-5, or one of ${[...Object.keys(GROUPS), BOARD].join(', ')}`;

export const HELP = `usage: npm run bench [-- ROWS...] [--quick] [--against COMMIT]
       npm run bench -- --profile start|idle [--sku NAME|FILE]
       npm run bench -- --markdown

ROWS are as 3, 1-5 or 1-5,9, or a group; all if none are named. The groups:
${Object.entries(GROUPS)
  .map(([name, rows]) => `  ${name.padEnd(10)} ${rows}`)
  .join('\n')}
  ${BOARD.padEnd(10)} the group small, with the Core confined to a small board

  --quick            fewer rounds: a look, not a verdict
  --against COMMIT   measures another commit beside this checkout
  --profile          makes a CPU profile and a picture of it
  --markdown         prints what is kept, and puts it into docs/performance.md
`;
