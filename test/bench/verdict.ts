/** What a row's measurements mean: a line for each goal, a verdict, and the list of what is missed. */
import type { Goal, Measured, Row, Skipped } from './harness.ts';

export type Verdict = 'PASS' | 'MISS' | 'SKIP' | 'FAIL';

export interface Line {
  readonly row: number;
  readonly title: string;
  readonly goal: Goal;
  readonly measured?: Measured;
  readonly verdict: Verdict;
  /** Why it was skipped, or failed. */
  readonly reason?: string;
}

type Head = Pick<Row, 'id' | 'title' | 'goals'>;

const LONGEST_REASON = 400;

/** A figure that is no number is a fault of the row, not a miss. */
export function judge({ id, title, goals }: Head, measured: Readonly<Record<string, Measured | Skipped>>): Line[] {
  return goals.map((goal) => {
    const base = { row: id, title, goal };
    const found = measured[goal.name];
    if (!found) return { ...base, verdict: 'SKIP', reason: 'not on this machine' };
    if ('skipped' in found) return { ...base, verdict: 'SKIP', reason: found.skipped };
    if (!Number.isFinite(found.median)) return { ...base, verdict: 'FAIL', reason: `measured ${found.median}` };
    return { ...base, measured: found, verdict: found.median <= goal.goal ? 'PASS' : 'MISS' };
  });
}

export function failed({ id, title, goals }: Head, error: unknown): Line[] {
  const reason = String(error)
    .trim()
    .replaceAll(/\s*\n\s*/g, '; ')
    .slice(0, LONGEST_REASON);
  return goals.map((goal) => ({ row: id, title, goal, verdict: 'FAIL', reason }));
}

export const unitOf = (goal: Goal): string => goal.unit ?? 'x';

export function figure(value: number): string {
  if (value === 0) return '0';
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toPrecision(3);
}

export function format({ goal, measured, verdict, reason }: Line): string {
  const head = `   ${verdict}  ${goal.name.padEnd(26)}`;
  if (!measured) return `${head} ${reason}`;
  const number = (value: number): string => figure(value).padStart(6);
  const sides = measured.ours ? `   ${measured.ours}${measured.theirs ? ` : ${measured.theirs}` : ''}` : '';
  const floor = goal.floor === undefined ? '' : `, floor ${goal.floor}`;
  return `${head} ${number(measured.median)} ${unitOf(goal)}  [${number(measured.q1)} ..${number(measured.q3)}]  goal <= ${goal.goal}${floor}${sides}`;
}

/** The end of a run: how many of each, and by name what is missed, has failed or was skipped; goals of a row with one reason share a line. */
export function summary(lines: readonly Line[]): string {
  const of = (verdict: Verdict): readonly Line[] => lines.filter((line) => line.verdict === verdict);
  const count = `${of('PASS').length} met, ${of('MISS').length} missed, ${of('SKIP').length} skipped, ${of('FAIL').length} failed`;
  const named = (title: string, verdict: Verdict): readonly string[] => {
    const alike = Map.groupBy(of(verdict), (line) => `${line.row} ${line.measured ? line.goal.name : line.reason}`);
    const told = [...alike.values()].map(
      (same) => `  row ${same[0]!.row}, ${same.map(({ goal }) => goal.name).join('; ')}: ${end(same[0]!)}`,
    );
    return told.length === 0 ? [] : ['', title, ...told];
  };
  return [count, ...named('missed:', 'MISS'), ...named('failed:', 'FAIL'), ...named('skipped:', 'SKIP')].join('\n');
}

function end({ goal, measured, reason }: Line): string {
  return measured ? `${figure(measured.median)} ${unitOf(goal)}, goal ${goal.goal}` : (reason ?? '');
}
