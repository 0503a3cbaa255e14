/** What runs leave behind: one file for each run, and the newest figures of every row. */
import { mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { figure, type Line, unitOf } from './verdict.ts';

/** Under which circumstances a row was measured. */
export interface Circumstances {
  /** ISO 8601. */
  readonly at: string;
  readonly commit: string;
  readonly against?: string;
  readonly quick: boolean;
  readonly board: boolean;
  /** How the Core was confined for `board`. */
  readonly confined?: readonly string[];
  /** Load averages of 1 and 5 minutes when the row began. */
  readonly load: readonly [number, number];
  readonly machine: { readonly node: string; readonly cpu: string; readonly cores: number; readonly memoryMb: number };
}

export interface Kept extends Circumstances {
  readonly lines: readonly Line[];
}

/** By row, `46` or `46 board`: on the board a row is another one. */
export type Results = Readonly<Record<string, Kept>>;

export const keyOf = (row: number, board: boolean): string => (board ? `${row} board` : `${row}`);

/** A row that was run takes the place of its last figures, and no other. A look (`quick`) takes the place of a look only. */
export function merged(kept: Results, run: Results): Results {
  const news = Object.entries(run).filter(([key, { quick }]) => !quick || (kept[key]?.quick ?? true));
  return { ...kept, ...Object.fromEntries(news) };
}

export class ResultsFolder {
  readonly #folder: string;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get latest(): Results {
    try {
      const read = JSON.parse(readFileSync(join(this.#folder, 'latest.json'), 'utf8')) as { readonly rows?: Results };
      return read.rows ?? {}; // the form before rows were kept one by one has none
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
      throw error;
    }
  }

  /** `run` is what a run has so far, `name` the name of its own file. */
  keep(name: string, run: Results): void {
    mkdirSync(join(this.#folder, 'runs'), { recursive: true });
    this.#write(`runs/${name}.json`, run);
    this.#write('latest.json', merged(this.latest, run));
  }

  #write(name: string, rows: Results): void {
    const path = join(this.#folder, name);
    writeFileSync(`${path}.new`, `${JSON.stringify({ rows }, null, 2)}\n`);
    renameSync(`${path}.new`, path);
  }
}

const FIGURES = /(<!-- figures -->\n)[\s\S]*(<!-- end of figures -->)/;

/** A page with these tables between its two marks, `<!-- figures -->` and `<!-- end of figures -->`. */
export function withFigures(page: string, tables: string): string {
  if (!FIGURES.test(page)) throw new Error('cannot write the figures: the page has no marks for them');
  return page.replace(FIGURES, (_all, begin: string, end: string) => `${begin}\n${tables}\n\n${end}`);
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('<', '&lt;');

function rowsOf(kept: Kept): readonly string[] {
  return kept.lines.map(({ row, title, goal, measured, verdict, reason }, index) => {
    const value = measured ? `${figure(measured.median)} ${unitOf(goal)}` : (reason ?? '');
    const sides = [measured?.ours, measured?.theirs].filter((side) => side !== undefined).join(' : ');
    const words = { PASS: 'met', MISS: '**missed**', SKIP: 'skipped', FAIL: '**failed**' }[verdict];
    const first = index === 0;
    return `| ${[first ? `${row}` : '', first ? `${title}: ${goal.name}` : goal.name, value, `${goal.goal} ${unitOf(goal)}`, words, sides].map(cell).join(' | ')} |`;
  });
}

/** One line for everything that was measured alike. */
function circumstances({ at, commit, against, quick, confined, load, machine }: Kept): string {
  const parts = [
    `${at.slice(0, 10)}, commit ${commit}${against === undefined ? '' : ` against ${against}`}`,
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryMb} MB, Node ${machine.node}`,
    ...(confined ?? []),
    ...(quick ? ['a quick look'] : []),
    `load ${load[0].toFixed(1)}`,
  ];
  return `${parts.join('; ')}.`;
}

const HEAD = ['| Row | What | Figure | Goal (at most) | | Ours : theirs |', '| --- | --- | --- | --- | --- | --- |'];

/** Tables for a page, one for each set of circumstances; the load of the busiest row stands for all of a table. */
export function markdown(results: Results): string {
  const tables = new Map<string, Kept[]>();
  const rows = Object.values(results).toSorted((a, b) => (a.lines[0]?.row ?? 0) - (b.lines[0]?.row ?? 0));
  for (const kept of rows) {
    const key = JSON.stringify([kept.board, kept.commit, kept.against, kept.at.slice(0, 10), kept.quick, kept.machine]);
    tables.set(key, [...(tables.get(key) ?? []), kept]);
  }
  return [...tables.values()]
    .map((all) => {
      const busiest = all.reduce((a, b) => (b.load[0] > a.load[0] ? b : a));
      const title = all[0]!.board ? 'On the board' : 'On the machine';
      return [`${title}: ${circumstances(busiest)}`, '', ...HEAD, ...all.flatMap(rowsOf)].join('\n');
    })
    .join('\n\n');
}
