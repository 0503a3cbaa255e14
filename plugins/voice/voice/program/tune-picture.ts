/** The trade-off of thresholds as an SVG file: missed calls on the left axis, false calls on the right one. */
import type { TradeOff } from './trade-off.ts';

interface Drawn {
  readonly phrase: string;
  readonly rows: readonly TradeOff[];
  readonly chosen: TradeOff | undefined;
}

const [WIDTH, HEIGHT, EDGE] = [720, 400, 60];
const [RED, BLUE] = ['#b3261e', '#1a56a8'];
const TICKS = [0, 0.25, 0.5, 0.75, 1];

export function picture({ phrase, rows, chosen }: Drawn): string {
  const most = Math.max(1, ...rows.map(({ falseCalls }) => falseCalls.perHour));
  const x = (threshold: number) => EDGE + threshold * (WIDTH - 2 * EDGE);
  const y = (part: number) => HEIGHT - EDGE - Math.min(1, Math.max(0, part)) * (HEIGHT - 2 * EDGE);
  const line = (value: (row: TradeOff) => number) =>
    rows.map((row) => `${x(row.threshold).toFixed(1)},${y(value(row)).toFixed(1)}`).join(' ');
  const band = (low: (row: TradeOff) => number, high: (row: TradeOff) => number) =>
    `${line(low)} ${line(high).split(' ').reverse().join(' ')}`;
  const text = (at: readonly [number, number], anchor: string, words: string, fill = '#222') =>
    `<text x="${at[0].toFixed(1)}" y="${at[1].toFixed(1)}" text-anchor="${anchor}" fill="${fill}">${escaped(words)}</text>`;
  const ticks = TICKS.flatMap((part) => [
    `<line x1="${EDGE}" y1="${y(part)}" x2="${WIDTH - EDGE}" y2="${y(part)}" stroke="#ddd"/>`,
    text([EDGE - 8, y(part) + 4], 'end', `${100 * part} %`, RED),
    text([WIDTH - EDGE + 8, y(part) + 4], 'start', `${(part * most).toFixed(1)}/h`, BLUE),
    text([x(part), HEIGHT - EDGE + 20], 'middle', part.toFixed(2)),
  ]);
  const shade = (points: string, colour: string) =>
    `<polygon points="${points}" fill="${colour}" fill-opacity="0.12"/>`;
  const curve = (points: string, colour: string) =>
    `<polyline points="${points}" fill="none" stroke="${colour}" stroke-width="2"/>`;
  const at = chosen && x(chosen.threshold);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text([WIDTH / 2, 24], 'middle', `"${phrase}": missed calls and false calls by threshold`),
    ...ticks,
    shade(
      band(
        ({ missed }) => missed.low,
        ({ missed }) => missed.high,
      ),
      RED,
    ),
    shade(
      band(
        ({ falseCalls }) => falseCalls.low / most,
        ({ falseCalls }) => falseCalls.high / most,
      ),
      BLUE,
    ),
    curve(
      line(({ missed }) => missed.share),
      RED,
    ),
    curve(
      line(({ falseCalls }) => falseCalls.perHour / most),
      BLUE,
    ),
    ...(at === undefined
      ? []
      : [
          `<line x1="${at}" y1="${EDGE}" x2="${at}" y2="${HEIGHT - EDGE}" stroke="#222" stroke-dasharray="4 4"/>`,
          text([at, EDGE - 8], 'middle', `proposed: ${chosen!.threshold}`),
        ]),
    text([EDGE, HEIGHT - 14], 'start', 'missed', RED),
    text([WIDTH / 2, HEIGHT - 14], 'middle', 'threshold'),
    text([WIDTH - EDGE, HEIGHT - 14], 'end', 'false calls an hour', BLUE),
    '</svg>',
    '',
  ].join('\n');
}

function escaped(words: string): string {
  return words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);
}
