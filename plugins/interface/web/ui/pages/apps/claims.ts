/**
 * Capabilities that an app asks for, one row each: the permission in words of the device, and the reason in those of
 * the app.
 */

import { optionalIn } from '@device-core/plugin-api/inside/consent-choice';
import { html } from 'htm/preact';
import { useId } from 'preact/hooks';
import { isOperator } from '../../core/session.ts';
import { Badge } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { type Right, RightText } from '../../parts/right.ts';
import type { Ask } from './shapes.ts';
import { text } from './text.ts';

/** Each with a tick of its own. What is required is ticked, and cannot be left out of a yes. */
export function Claims({
  asks,
  allowed,
  onChange,
}: {
  asks: readonly Right[];
  allowed: ReadonlySet<string>;
  onChange: (allowed: ReadonlySet<string>) => void;
}) {
  if (asks.length === 0) return null;
  const optional = new Set(optionalIn({ kind: 'consent', what: asks }));
  return html`<ul class="apps-claims">${asks.map((ask) => html`<li key=${`${ask.capability} ${String(ask.params?.ports)}`}><${Tick} ask=${ask} on=${!optional.has(ask.capability) || allowed.has(ask.capability)} fixed=${!optional.has(ask.capability)} turn=${(on: boolean) => onChange(turned(allowed, ask.capability, on))} /></li>`)}</ul>`;
}

function turned(allowed: ReadonlySet<string>, capability: string, on: boolean): ReadonlySet<string> {
  const next = new Set(allowed);
  if (on) next.add(capability);
  else next.delete(capability);
  return next;
}

function Tick({ ask, on, fixed, turn }: { ask: Right; on: boolean; fixed: boolean; turn: (on: boolean) => void }) {
  const id = useId();
  return html`<div class="apps-claim"><input id=${id} type="checkbox" checked=${on} disabled=${fixed || !isOperator()} onChange=${(event: Event) => turn((event.currentTarget as HTMLInputElement).checked)} /><label for=${id}><${RightText} right=${ask} /></label></div>`;
}

const VERDICTS = { granted: 'okay', ask: 'warn', denied: 'quiet' } as const satisfies Record<Ask['verdict'], Level>;

export const Verdict = ({ of }: { of: Ask['verdict'] }) =>
  html`<${Badge} level=${VERDICTS[of]}>${text(of === 'ask' ? 'undecided' : of)}<//>`;
