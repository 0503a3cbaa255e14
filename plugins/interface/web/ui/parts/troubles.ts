/** Each trouble with its reason and what to do; those of a device are counted in one place, `troublesOf`. */
import { html } from 'htm/preact';
import { LinkButton } from './button.ts';
import type { Trouble } from './condition.ts';

export function Troubles({ troubles, most = 6 }: { troubles: readonly Trouble[]; most?: number }) {
  return html`<ul class="troubles">${troubles.slice(0, most).map(({ id, what, why, remedy, href, action }) => html`<li key=${id}><div><p><strong>${what}</strong></p>${why && html`<p class="note">${why}</p>`}<p class="note">${remedy}</p></div><${LinkButton} href=${href}>${action}<//></li>`)}</ul>`;
}
