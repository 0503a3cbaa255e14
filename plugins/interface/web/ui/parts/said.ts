import { html } from 'htm/preact';
import { clean } from './clean.ts';

export { clean };

/** Words of an app, quoted as such: the device does not say this. */
export function Said({ words }: { words: string }) {
  return html`<q class="said" dir="auto">${clean(words)}</q>`;
}
