import { styleText } from 'node:util';

type Style = 'red' | 'green' | 'yellow' | 'dim' | 'bold';

const STYLES: Readonly<Record<string, Style>> = {
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

/** Standard output and error. Colours only on a terminal (and not with NO_COLOR); a reader that went away ends the process quietly. */
export class Output {
  readonly json: boolean;

  constructor(json: boolean) {
    this.json = json;
  }

  /** Resolves when the text is on its way, so that a slow reader slows us down instead of filling our memory. */
  line(text: string): Promise<void> {
    return new Promise((resolve) => {
      process.stdout.write(`${text}\n`, () => resolve());
    });
  }

  /** A state word in its colour. */
  state(word: string, shown = word): string {
    const style = STYLES[word];
    return style ? paint(style, shown) : shown;
  }

  /** Aligned columns. `state` names the column whose words are coloured. */
  async table(
    headers: readonly string[],
    rows: readonly (readonly string[])[],
    options: { readonly state?: number; readonly empty?: string } = {},
  ): Promise<void> {
    if (rows.length === 0) return this.line(options.empty ?? 'none');
    const safe = rows.map((row) => row.map(cell));
    const widths = headers.map((header, column) => Math.max(header.length, ...safe.map((row) => row[column]!.length)));
    const pad = (cell: string, column: number) => (column === headers.length - 1 ? cell : cell.padEnd(widths[column]!));
    await this.line(paint('bold', headers.map(pad).join('  ').trimEnd()));
    for (const row of safe) {
      const cells = row.map((cell, column) =>
        column === options.state ? this.state(cell, pad(cell, column)) : pad(cell, column),
      );
      await this.line(cells.join('  ').trimEnd());
    }
  }
}

export function paint(style: Style, text: string): string {
  return styleText(style, text, { stream: process.stdout });
}

/** A value in a cell: strings as they are, all else as JSON; control characters never reach the terminal. */
export function cell(value: unknown): string {
  if (value === undefined || value === null) return value === null ? 'null' : '';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.replace(/\p{Cc}/gu, (char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

export function duration(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3600)} h`;
  return `${Math.floor(seconds / 86_400)} days`;
}

/** Local time of day with milliseconds. */
export function timeOf(ts: number): string {
  const date = new Date(ts);
  const two = (value: number) => String(value).padStart(2, '0');
  const ms = String(date.getMilliseconds()).padStart(3, '0');
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}.${ms}`;
}
