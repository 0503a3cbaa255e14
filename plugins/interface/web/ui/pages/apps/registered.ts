/** Offers of an app: functions, sentences and topics. */
import { html } from 'htm/preact';
import type { ComponentChildren } from 'preact';
import { link } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Card } from '../../parts/frame.ts';
import { clean, Said } from '../../parts/said.ts';
import type { Description } from './shapes.ts';
import { text } from './text.ts';

interface Functions {
  readonly functions: readonly {
    readonly id: string;
    readonly name: string;
    readonly version: string;
    readonly description?: string;
    readonly available: boolean;
  }[];
  readonly leftOut: readonly { readonly app: string; readonly name: string; readonly reason: string }[];
}
interface Intents {
  readonly intents: readonly { readonly id: string; readonly owner: string; readonly example: string }[];
}

export function Registered({ id, events }: { id: string; events: Description['events'] }) {
  const functions = useAsk<Functions>('/functions', { app: id });
  const intents = useAsk<Intents>('/intents');
  useEvents(
    ['app.state'],
    () => {
      functions.reload();
      intents.reload();
    },
    500,
  );
  const offered = functions.data?.functions ?? [];
  const leftOut = (functions.data?.leftOut ?? []).filter(({ app }) => app === id);
  const said = (intents.data?.intents ?? []).filter(({ owner }) => owner === `app.${id}`);
  const topics = (list: readonly string[] = []) =>
    list.map((one) => html`<li key=${one}><code>${clean(one)}</code></li>`);
  const some =
    offered.length + leftOut.length + said.length + (events?.subscribe?.length ?? 0) + (events?.publish?.length ?? 0);
  if (some === 0) return null;
  return html`<${Card} title=${text('registered')}><div class="grid"><${Part} title=${text('functions')}>${offered.map(({ id: key, name, version, description }) => html`<li key=${key}><a href=${link('functions', [name])}>${clean(name)}</a> <span class="note">${clean(version)}</span>${description && html`<br /><${Said} words=${description} />`}</li>`)}${leftOut.map(({ name, reason }) => html`<li key=${`out ${name}`}>${clean(name)} <span class="note">${text('notRegistered', { reason: clean(reason) })}</span></li>`)}<//><${Part} title=${text('intents')}>${said.map(({ id: key, example }) => html`<li key=${key}><${Said} words=${example} /></li>`)}<//><${Part} title=${text('listens')}>${topics(events?.subscribe)}<//><${Part} title=${text('tells')}>${topics(events?.publish)}<//></div><//>`;
}

function Part({ title, children }: { title: string; children?: ComponentChildren }) {
  const list = [children].flat(2).filter(Boolean);
  return list.length === 0 ? null : html`<section><h3>${title}</h3><ul class="apps-list">${list}</ul></section>`;
}
