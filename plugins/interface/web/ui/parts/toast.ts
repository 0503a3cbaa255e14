import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import type { Level } from './level.ts';

interface Told {
  readonly id: number;
  readonly text: string;
  readonly level: Level;
}

const told = signal<readonly Told[]>([]);
let next = 1;

/** A word on what just happened, at the edge of the page. Errors stay longer. */
export function tell(text: string, level: Level = 'okay'): void {
  const id = next++;
  told.value = [...told.value.slice(-3), { id, text, level }];
  setTimeout(() => drop(id), level === 'error' ? 12_000 : 4000);
}

const drop = (id: number): void => {
  told.value = told.value.filter((one) => one.id !== id);
};

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">${told.value.map(({ id, text, level }) => html`<button key=${id} type="button" class=${`toast ${level}`} onClick=${() => drop(id)}>${text}</button>`)}</div>`;
}
