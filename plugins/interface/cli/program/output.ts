import { styleText } from 'node:util';
import { cell, type ProgramCell, type ProgramColour, type ProgramOutput } from '@device-core/plugin-api/program';

const COLOURS: Readonly<Record<string, ProgramColour>> = {
  okay: 'green',
  ok: 'green',
  active: 'green',
  running: 'green',
  up: 'green',
  waiting: 'yellow',
  starting: 'yellow',
  degraded: 'yellow',
  backoff: 'yellow',
  resetting: 'yellow',
  failed: 'red',
  error: 'red',
  down: 'red',
  quarantined: 'red',
};
/** Columns whose words are states. */
const STATES: ReadonlySet<string> = new Set(['STATE', 'STATUS', 'LINK', 'HEALTH']);
const GAP = 2;
/** A column that is cut keeps so many characters. */
const LEAST = 6;

/** Output of the program: standard output, or that of a test. */
export interface Terminal {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string, done: () => void): unknown;
}

/** Standard output. Colours and a width there are only on a terminal (no colours with NO_COLOR). */
export class Output implements ProgramOutput {
  readonly json: boolean;
  readonly #to: Terminal;

  constructor(json: boolean, to: Terminal = process.stdout) {
    this.json = json;
    this.#to = to;
  }

  get terminal(): boolean {
    return this.#to.isTTY === true;
  }

  /** Characters of a line; without a terminal there is no end. */
  get width(): number {
    return this.terminal ? Math.max(20, this.#to.columns || 80) : Infinity;
  }

  line(text: string): Promise<void> {
    return new Promise((resolve) => {
      this.#to.write(`${text}\n`, () => resolve());
    });
  }

  state(word: string, shown = word): string {
    const colour = COLOURS[word];
    return colour ? this.paint(colour, shown) : shown;
  }

  paint(colour: ProgramColour, text: string): string {
    return this.terminal ? styleText(colour, text, { stream: process.stdout }) : text;
  }

  async table(
    wanted: readonly string[],
    rows: readonly (readonly ProgramCell[])[],
    options: { readonly empty?: string; readonly most?: number } = {},
  ): Promise<void> {
    if (rows.length === 0) return this.line(options.empty ?? 'none');
    const headers = wanted.slice(0, this.#most(wanted, rows));
    const shown = rows.slice(0, options.most).map((row) => row.slice(0, headers.length).map(cell));
    const right = headers.map(
      (_, column) =>
        rows.some((row) => typeof row[column] === 'number') &&
        rows.every((row) => typeof row[column] === 'number' || row[column] === ''),
    );
    const widths = this.#fit(
      headers.map((header, column) => Math.max(header.length, ...shown.map((row) => row[column]!.length))),
    );
    const last = headers.length - 1;
    const lay = (text: string, column: number) => {
      const width = widths[column]!;
      const fitting = cut(text, width);
      if (right[column]) return fitting.padStart(width);
      return column === last ? fitting : fitting.padEnd(width);
    };
    const join = (cells: readonly string[]) => cells.join(' '.repeat(GAP)).trimEnd();
    await this.line(this.paint('bold', join(headers.map(lay))));
    for (const row of shown)
      await this.line(
        join(
          row.map((text, column) =>
            STATES.has(headers[column]!) ? this.state(text, lay(text, column)) : lay(text, column),
          ),
        ),
      );
    const left = wanted.slice(headers.length);
    if (left.length > 0) await this.line(this.paint('dim', cut(`no room for ${left.join(', ')}`, this.width)));
  }

  /** How many columns there is room for when all that can are cut. */
  #most(headers: readonly string[], rows: readonly (readonly ProgramCell[])[]): number {
    let used = -GAP;
    const over = headers.findIndex((header, column) => {
      const widest = Math.max(header.length, ...rows.map((row) => cell(row[column] ?? '').length));
      used += GAP + Math.min(LEAST, widest);
      return used > this.width;
    });
    return over < 0 ? headers.length : Math.max(1, over);
  }

  /** The widest columns give way first, until the line fits or all are narrow. */
  #fit(wanted: readonly number[]): readonly number[] {
    const widths = [...wanted];
    let excess = widths.reduce((sum, width) => sum + width, GAP * (widths.length - 1)) - this.width;
    while (excess > 0) {
      const widest = Math.max(...widths);
      if (widest <= LEAST) break;
      const at = widths.indexOf(widest);
      const next = Math.max(LEAST, ...widths.filter((_, column) => column !== at));
      const less = Math.max(1, Math.min(excess, widest - next));
      widths[at] = widest - less;
      excess -= less;
    }
    return widths;
  }
}

/** At most `width` characters, the last of which is an ellipsis where something is missing. */
export function cut(text: string, width: number): string {
  if (text.length <= width) return text;
  return `${text.slice(0, Math.max(0, width - 1)).replace(/[\uD800-\uDBFF]$/, '')}…`;
}
