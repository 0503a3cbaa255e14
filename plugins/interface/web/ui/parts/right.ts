/**
 * A right as a person reads it before a yes: what it allows in the words of the device, and why in those of the app.
 * Nothing of it is cut.
 */

import { claimIn, rightIn } from '@device-core/plugin-api/inside/consent-words';
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { catalogue, language } from '../core/text.ts';
import { sheet } from './ask.ts';
import { clean, Said } from './said.ts';

export interface Right {
  readonly capability: string;
  readonly params?: { readonly ports?: readonly number[] };
  readonly summary: string;
  readonly reason: string;
  readonly optional: boolean;
  readonly widens?: string;
  readonly sole?: boolean;
}

/** A right that no capability names. */
export interface Claim {
  readonly kind: string;
  readonly name: string;
  readonly summary: string;
}

const text = catalogue('parts/right');

sheet('parts/right.css');

/** `signer`: name of the key, or its fingerprint. */
export const signedText = (signer: string | null | undefined): string =>
  signer ? text('signed', { name: clean(signer) }) : text('unsigned');

/** A right of a plugin as a sentence, whether a capability names it or not. */
export const sentenceOf = ({ kind, name, summary }: Claim): string =>
  kind === 'capability'
    ? rightIn(language.value, { capability: name, summary })
    : claimIn(language.value, { kind, name, summary });

/** `aside` stands at its right: a badge, a button. */
export function RightText({ right, aside }: { right: Right; aside?: ComponentChildren }) {
  const { capability, reason, optional, widens } = right;
  return html`<span class="right-text"><span class="right-head"><strong>${clean(rightIn(language.value, right))}</strong>${optional && html` <span class="note">${text('optional')}</span>`}${aside}</span><code>${clean(capability)}</code>${widens !== undefined && html`<span class="note">${text('widens', { capability: clean(widens) })}</span>`}${reason !== '' && html`<span class="note">${text('appSays')} <${Said} words=${reason} /></span>`}</span>`;
}

/** Rights of an act, to be answered as a whole. */
export function Rights({ what, claims }: { what: readonly Right[]; claims: readonly Claim[] }) {
  return html`<ul class="right-list">${claims.map((claim) => html`<li key=${`${claim.kind} ${claim.name}`}><strong>${clean(claimIn(language.value, claim))}</strong></li>`)}${what.map((right) => html`<li key=${`${right.capability} ${String(right.params?.ports)}`}><${RightText} right=${{ ...right, optional: false }} /></li>`)}</ul>`;
}
