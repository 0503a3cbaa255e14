/** The parts that each page is made of: head, cards, badges, states of loading. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { ApiError } from '../core/api.ts';
import { Button } from './button.ts';
import { Icon, type IconName } from './icon.ts';
import type { Level } from './level.ts';
import { common } from './text.ts';

/** First thing of a page: its one `h1`, a sentence, and what one can do. */
export function Head(props: { title: string; lead?: ComponentChildren; actions?: ComponentChildren }) {
  return html`<header class="head"><div><h1 tabindex="-1">${props.title}</h1>${props.lead && html`<p class="lead">${props.lead}</p>`}</div>${props.actions && html`<div class="actions">${props.actions}</div>`}</header>`;
}

export function Card(props: {
  title?: string;
  aside?: ComponentChildren;
  class?: string;
  label?: string;
  children?: ComponentChildren;
}) {
  return html`<section class=${`card ${props.class ?? ''}`} aria-label=${props.title ?? props.label}>${(props.title || props.aside) && html`<div class="card-head">${props.title && html`<h2>${props.title}</h2>`}${props.aside}</div>`}${props.children}</section>`;
}

/** A word on a state; colour is never alone. */
export function Badge({ level = 'quiet', children }: { level?: Level; children?: ComponentChildren }) {
  return html`<span class=${`badge ${level}`}>${children}</span>`;
}

/** Names and values. */
export function Facts({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return html`<dl class="facts">${rows.map(([name, value]) => html`<div key=${name}><dt>${name}</dt><dd>${value ?? '–'}</dd></div>`)}</dl>`;
}

/** One large number with what it counts; with `href` all of it is a link. */
export function Figure(props: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  level?: Level;
  href?: string;
}) {
  const inside = html`<span class="label">${props.label}</span><strong>${props.value}</strong>${props.note && html`<span class="note">${props.note}</span>`}`;
  const kind = `figure ${props.level ?? ''}`;
  return props.href === undefined
    ? html`<div class=${kind}>${inside}</div>`
    : html`<a class=${kind} href=${props.href}>${inside}</a>`;
}

export function Loading() {
  return html`<p class="loading" role="status"><span class="spin" aria-hidden="true"></span>${common('loading')}</p>`;
}

export function Empty(props: { icon?: IconName; title?: string; children?: ComponentChildren }) {
  return html`<div class="empty"><${Icon} name=${props.icon ?? 'info'} size=${28} /><p>${props.title ?? common('nothing')}</p>${props.children}</div>`;
}

/** An error as the Core said it: its words, its code, and for a refusal what is missing and the line that would grant it. */
export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const { code, message, data } =
    error instanceof ApiError
      ? error
      : {
          code: 'PAGE',
          message: error instanceof Error ? error.message : String(error),
          data: {} as Record<string, unknown>,
        };
  const missing = data.capability ?? data.missing;
  const line = data.grant ?? data.manifestLine ?? data.line;
  return html`<div class="problem" role="alert"><${Icon} name="warn" /><div><p>${message} <code>${code}</code></p>${typeof missing === 'string' && html`<p class="note">${common('missing')}: <code>${missing}</code></p>`}${typeof line === 'string' && html`<p class="note">${common('grant')}: <code>${line}</code></p>`}${again && html`<${Button} kind="quiet" onClick=${again}>${common('again')}<//>`}</div></div>`;
}

/** View of a result of a hook of `ask.ts`: loading, a problem, or the data. */
export function Answer<T>(props: {
  of: { readonly data: T | undefined; readonly error: unknown; readonly reload: () => void };
  children: (data: T) => ComponentChildren;
}) {
  const { data, error, reload } = props.of;
  return html`${error !== undefined && html`<${Problem} error=${error} again=${reload} />`}${data === undefined ? error === undefined && html`<${Loading} />` : props.children(data)}`;
}
