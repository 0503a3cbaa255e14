import { html } from 'htm/preact';
import { timeText } from '../core/format.ts';
import { text } from './text.ts';

export interface Point {
  readonly at: number;
  readonly values: readonly (number | undefined)[];
}

interface Line {
  readonly label: string;
  readonly shown: (value: number) => string;
}

const SIZE = { width: 600, height: 120, edge: 6 };

/**
 * Each line has a height of its own, for degrees and hectopascals do not compare; its latest, least and greatest value
 * are told in words.
 */
export function Chart({ points, lines }: { points: readonly Point[]; lines: readonly Line[] }) {
  const since = points[0]?.at;
  return html`<div class="charts">${lines.map((line, place) => html`<${One} key=${line.label} line=${line} points=${points.flatMap(({ at, values }) => (values[place] === undefined ? [] : [[at, values[place]] as const]))} />`)}</div>${since !== undefined && html`<p class="note">${text('since', { time: timeText(since) })}</p>`}`;
}

function One({ line, points }: { line: Line; points: readonly (readonly [at: number, value: number])[] }) {
  const last = points.at(-1)?.[1];
  if (last === undefined) return html`<p class="note">${line.label}: –</p>`;
  const values = points.map(([, value]) => value);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const [first, until] = [points[0]![0], points.at(-1)![0]];
  const x = (when: number) => SIZE.edge + ((when - first) / Math.max(1, until - first)) * (SIZE.width - 2 * SIZE.edge);
  const y = (value: number) =>
    high === low
      ? SIZE.height / 2
      : SIZE.height - SIZE.edge - ((value - low) / (high - low)) * (SIZE.height - 2 * SIZE.edge);
  const path = points.map(
    ([when, value], place) => `${place === 0 ? 'M' : 'L'}${x(when).toFixed(1)} ${y(value).toFixed(1)}`,
  );
  const told = text('range', { low: line.shown(low), high: line.shown(high) });
  return html`<figure class="chart"><figcaption><span>${line.label}</span><strong>${line.shown(last)}</strong>${low !== high && html`<span class="note">${told}</span>`}</figcaption><svg viewBox=${`0 0 ${SIZE.width} ${SIZE.height}`} preserveAspectRatio="none" aria-hidden="true" focusable="false"><path d=${path.join('')} vector-effect="non-scaling-stroke" /></svg></figure>`;
}
