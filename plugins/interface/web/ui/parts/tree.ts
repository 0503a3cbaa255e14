/** A value of JSON, to be opened and closed. Whatever is in it is text, however long and deep it is. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { sheet } from './ask.ts';
import { plain } from './plain.ts';
import { common } from './text.ts';

const MOST_CHILDREN = 100;
const MOST_TEXT = 400;
/** Deeper than that is shown as the text of the JSON. */
const DEEPEST = 24;

sheet('parts/tree.css');

export function Tree({ value, label }: { value: unknown; label: string }) {
  return html`<ul class="tree" aria-label=${label}><${Node} value=${value} depth=${0} /></ul>`;
}

function Node({ name, value, depth }: { name?: string; value: unknown; depth: number }) {
  const entries =
    typeof value === 'object' && value !== null && depth < DEEPEST
      ? Array.isArray(value)
        ? value.map((one, at) => [String(at), one] as const)
        : Object.entries(value)
      : undefined;
  const [open, setOpen] = useState(depth === 0 || (depth < 3 && (entries?.length ?? 0) <= 12));
  const [most, setMost] = useState(MOST_CHILDREN);
  const key = name === undefined ? null : html`<span class="key">${plain(name, 120)}</span>`;
  if (entries === undefined) return html`<li>${key}<${Leaf} value=${value} /></li>`;
  const brackets = Array.isArray(value) ? `[${entries.length}]` : `{${entries.length}}`;
  if (entries.length === 0) return html`<li>${key}<span class="leaf">${brackets}</span></li>`;
  return html`<li><button type="button" class="knot" aria-expanded=${open} onClick=${() => setOpen(!open)}><span aria-hidden="true">${open ? '▾' : '▸'}</span>${key}<span class="size">${brackets}</span></button>${open && html`<ul>${entries.slice(0, most).map(([key, one]) => html`<${Node} key=${key} name=${key} value=${one} depth=${depth + 1} />`)}${entries.length > most && html`<li><button type="button" class="button quiet" onClick=${() => setMost(most * 5)}>${common('more', { n: entries.length - most })}</button></li>`}</ul>`}</li>`;
}

function Leaf({ value }: { value: unknown }) {
  const [whole, setWhole] = useState(false);
  if (typeof value !== 'string') return html`<span class="leaf ${typeof value}">${JSON.stringify(value) ?? '–'}</span>`;
  const shown = plain(value, whole ? Number.POSITIVE_INFINITY : MOST_TEXT);
  return html`<bdi class="leaf string">${`“${shown}”`}</bdi>${!whole && value.length > MOST_TEXT && html`<button type="button" class="button quiet" onClick=${() => setWhole(true)}>${common('more', { n: value.length - MOST_TEXT })}</button>`}`;
}
