/** What an app asks for, one capability each: what it allows in our words, and why in those of the app. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useId } from 'preact/hooks';
import { isOperator } from '../../core/session.ts';
import { Badge } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { clean, Said } from '../../parts/said.ts';
import type { Ask } from './shapes.ts';
import { text } from './text.ts';

type Claim = Pick<Ask, 'capability' | 'params' | 'summary' | 'reason' | 'optional' | 'widens'>;

/** Each with a tick of its own. Without `allowed` there is none. */
export function Claims({
  asks,
  allowed,
  onChange,
}: {
  asks: readonly Claim[];
  allowed: ReadonlySet<string>;
  onChange: (allowed: ReadonlySet<string>) => void;
}) {
  if (asks.length === 0) return null;
  return html`<ul class="apps-claims">${asks.map((ask) => html`<li key=${ask.capability}><${Tick} ask=${ask} on=${allowed.has(ask.capability)} turn=${(on: boolean) => onChange(turned(allowed, ask.capability, on))} /></li>`)}</ul>`;
}

function turned(allowed: ReadonlySet<string>, capability: string, on: boolean): ReadonlySet<string> {
  const next = new Set(allowed);
  if (on) next.add(capability);
  else next.delete(capability);
  return next;
}

function Tick({ ask, on, turn }: { ask: Claim; on: boolean; turn: (on: boolean) => void }) {
  const id = useId();
  return html`<div class="apps-claim"><input id=${id} type="checkbox" checked=${on} disabled=${!isOperator()} onChange=${(event: Event) => turn((event.currentTarget as HTMLInputElement).checked)} /><label for=${id}><${ClaimText} ask=${ask} /></label></div>`;
}

/** `aside` stands at its right: a badge, a button. */
export function ClaimText({ ask, aside }: { ask: Claim; aside?: ComponentChildren }) {
  const { capability, params, summary, reason, optional, widens } = ask;
  const ports =
    params?.ports === undefined ? '' : `, ${text('ports', { n: params.ports.length, ports: params.ports.join(', ') })}`;
  return html`<span class="apps-claim-text"><span class="apps-claim-head"><strong>${clean(summary)}${ports}</strong>${optional && html` <span class="note">${text('optional')}</span>`}${aside}</span><code>${clean(capability)}</code>${widens !== undefined && html`<span class="note">${text('widens', { capability: clean(widens) })}</span>`}<span class="note">${text('appSays')} <${Said} words=${reason} /></span></span>`;
}

const VERDICTS = { granted: 'okay', ask: 'warn', denied: 'quiet' } as const satisfies Record<Ask['verdict'], Level>;

export const Verdict = ({ of }: { of: Ask['verdict'] }) =>
  html`<${Badge} level=${VERDICTS[of]}>${text(of === 'ask' ? 'undecided' : of)}<//>`;
