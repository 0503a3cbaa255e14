/**
 * Stages of a turn with their times, against the limits that people bear. A table whose bars are drawn beside its
 * numbers.
 */
import { html } from 'htm/preact';
import { durationText } from '../../core/format.ts';
import type { Turn } from './shapes.ts';
import { words } from './text.ts';

export const GOAL_MS = 500;

export interface Bar {
  readonly name: string;
  readonly from: number;
  readonly to: number;
  readonly note: string | undefined;
}

/** The time that counts: the detection of the wake phrase, and everything from the end of speech on. Who speaks is not waited for. */
export function barsOf({ spans, latencyMs }: Turn): { readonly bars: readonly Bar[]; readonly total: number } {
  const wake = spans.find(({ name }) => name === 'wake');
  const end = spans.find(({ name }) => name === 'endpoint')?.from;
  const wakeMs = end === undefined ? 0 : Math.max(0, (wake?.to ?? 0) - (wake?.from ?? 0));
  const shift = (at: number) => (end === undefined ? Math.max(0, at) : wakeMs + Math.max(0, at - end));
  const bars = spans.map(({ name, from, to, note }) =>
    name === 'wake' && end !== undefined
      ? { name, from: 0, to: wakeMs, note }
      : { name, from: shift(from), to: shift(to), note },
  );
  const first = bars.find(({ name }) => name === 'tts') ?? bars.at(-1);
  return { bars, total: latencyMs ?? first?.to ?? 0 };
}

const known = new Set(['wake', 'endpoint', 'stt', 'intent', 'call', 'tts', 'late']);
type Part = 'wake' | 'endpoint' | 'stt' | 'intent' | 'call' | 'tts' | 'late';
export const partName = (name: string): string => (known.has(name) ? words(`part-${name as Part}`) : name);

export function Waterfall({ turn, other }: { turn: Turn; other?: Turn | undefined }) {
  const mine = barsOf(turn);
  const theirs = other && barsOf(other);
  const last = Math.max(...mine.bars.map(({ to }) => to), ...(theirs?.bars.map(({ to }) => to) ?? []), GOAL_MS);
  const scale = last * 1.06;
  const percent = (value: number) => `${((100 * value) / scale).toFixed(2)}%`;
  const names = [...new Set([...mine.bars, ...(theirs?.bars ?? [])].map(({ name }) => name))];
  const bar = (one: Bar | undefined, kind: string) =>
    one &&
    html`<span class=${`bar ${kind} ${one.name}`} style=${{ left: percent(one.from), width: `max(3px, ${percent(one.to - one.from)})` }}></span>`;
  const took = (one: Bar | undefined) => (one === undefined ? '–' : durationText(one.to - one.from));
  const row = (name: string) => {
    const [a, b] = [mine, theirs].map((side) => side?.bars.find((one) => one.name === name));
    return html`<tr key=${name}><th scope="row">${partName(name)}</th><td class="track" aria-hidden="true"><span class="goal" style=${{ left: percent(GOAL_MS) }}></span>${bar(a, 'mine')}${bar(b, 'theirs')}</td><td class="number">${took(a)}</td>${other && html`<td class="number soft">${took(b)}</td>`}</tr>`;
  };
  return html`<table class=${`waterfall ${other ? 'two' : ''}`} aria-label=${words('waterfall')}><thead><tr><th scope="col">${words('part')}</th><td class="axis" aria-hidden="true"><span style=${{ left: percent(GOAL_MS) }}>${durationText(GOAL_MS)}</span></td><th scope="col" class="number">${other ? words('this') : words('took')}</th>${other && html`<th scope="col" class="number">${words('other')}</th>`}</tr></thead><tbody>${names.map(row)}</tbody><tfoot><tr><th scope="row">${words('total')}</th><td class="track" aria-hidden="true"><span class="goal" style=${{ left: percent(GOAL_MS) }}></span></td><td class="number"><strong>${durationText(mine.total)}</strong></td>${theirs && html`<td class="number soft">${durationText(theirs.total)}</td>`}</tr></tfoot></table>`;
}
