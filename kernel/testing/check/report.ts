import { styleText } from 'node:util';

/** SKIP: the manifest says that it does not apply, for example a level of isolation that it refuses. */
export type Outcome = 'PASS' | 'WARN' | 'FAIL' | 'SKIP';

export interface CheckRow {
  readonly check: string;
  readonly outcome: Outcome;
  /** Finding or fault; more than one line if a tool printed more. */
  readonly remark: string;
  readonly file?: string;
  readonly line?: number;
}

const COLOURS = { PASS: 'green', WARN: 'yellow', FAIL: 'red', SKIP: 'dim' } as const satisfies Record<Outcome, string>;
const WIDTH = 24;

/** One line of the table, printed as soon as the check is done; a tool's output stands below, indented. */
export function tableLine({ check, outcome, remark, file, line }: CheckRow): string {
  const place = file === undefined ? '' : `${file}${line === undefined ? '' : `:${line}`} `;
  const [first = '', ...more] = remark.split('\n');
  const head = `${styleText(COLOURS[outcome], outcome)}  ${check.padEnd(WIDTH)}  ${place}${first}`.trimEnd();
  return [head, ...more.map((text) => `      ${text}`)].join('\n');
}
