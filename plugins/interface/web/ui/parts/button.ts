import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { ApiError } from '../core/api.ts';
import { isOperator } from '../core/session.ts';
import { Icon, type IconName } from './icon.ts';
import { common } from './text.ts';
import { tell } from './toast.ts';

export interface ButtonProps {
  /** `main`: the one thing a card is for. `danger`: it takes something away. */
  readonly kind?: 'main' | 'normal' | 'quiet' | 'danger';
  readonly icon?: IconName;
  /** For a button of an icon alone. */
  readonly label?: string;
  /** The button changes the device: viewers cannot press it. */
  readonly writes?: boolean;
  readonly disabled?: boolean;
  readonly pressed?: boolean;
  readonly expanded?: boolean;
  readonly type?: 'button' | 'submit';
  /** While a promise of it is open the button is busy; what it rejects with is told. */
  readonly onClick?: () => unknown;
  readonly children?: ComponentChildren;
}

export function Button(props: ButtonProps) {
  const [busy, setBusy] = useState(false);
  const viewer = props.writes === true && !isOperator();
  const press = async () => {
    const done = props.onClick?.();
    if (!(done instanceof Promise)) return;
    setBusy(true);
    await done.catch(tellError);
    setBusy(false);
  };
  return html`<button class=${`button ${props.kind ?? 'normal'}`} type=${props.type ?? 'button'} disabled=${(props.disabled ?? false) || busy || viewer} aria-busy=${busy} aria-label=${props.label} title=${viewer ? common('viewer') : props.label} aria-pressed=${props.pressed} aria-expanded=${props.expanded} onClick=${press}>${props.icon && html`<${Icon} name=${props.icon} size=${18} />`}${props.children}</button>`;
}

/** The shell said so already. */
export const isQuiet = (error: unknown): boolean =>
  error instanceof ApiError && (error.code === 'CONFIRMATION_REQUIRED' || error.code === 'UNAUTHENTICATED');

/** For whatever failed and has no better place to say so. */
export function tellError(error: unknown): void {
  if (isQuiet(error)) return;
  tell(error instanceof Error ? error.message : `${common('failed')}: ${error}`, 'error');
}

/** A link that looks like a button. */
export function LinkButton(props: { href: string; icon?: IconName; kind?: string; children?: ComponentChildren }) {
  return html`<a class=${`button ${props.kind ?? 'normal'}`} href=${props.href}>${props.icon && html`<${Icon} name=${props.icon} size=${18} />`}${props.children}</a>`;
}

/** Puts a text on the clipboard. */
export function Copy({ text, label }: { text: string; label?: string }) {
  return html`<${Button} kind="quiet" icon="copy" label=${label ?? common('copy')} onClick=${async () => {
    await navigator.clipboard.writeText(text);
    tell(common('copied'));
  }} />`;
}
