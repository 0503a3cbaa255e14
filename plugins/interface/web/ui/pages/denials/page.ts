/** Refusals, their reasons, and the grants that would lift them. */
import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { agoText, datedText, whenText } from '../../core/format.ts';
import { link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { Button, Copy } from '../../parts/button.ts';
import { TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Empty, Head } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { clean } from '../../parts/said.ts';
import { tell } from '../../parts/toast.ts';
import type { Ask, Description } from '../apps/shapes.ts';
import { coveringAsk, lineOf, type Refusal } from './shapes.ts';
import { text } from './text.ts';

sheet('pages/denials/denials.css');

/** Capabilities that each refused app asks for. `undefined`: the app is gone. */
type Asks = ReadonlyMap<string, readonly Ask[] | undefined>;

const MOST = 100;

export function Page({ title, query }: PageProps) {
  const list = useAsk<{ readonly refusals: readonly Refusal[] }>('/refusals', { limit: 256 });
  const [wanted, setWanted] = useState(query.get('of') ?? '');
  const refusals = list.data?.refusals ?? [];
  const apps = [...new Set(refusals.flatMap(({ caller }) => (caller.kind === 'app' ? [caller.id] : [])))].sort();
  const [asks, setAsks] = useState<Asks>(new Map());
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    let over = false;
    void asksOf(apps.slice(0, MOST)).then((found) => {
      if (!over) setAsks(found);
    });
    return () => {
      over = true;
    };
  }, [apps.join(' '), turn]);
  const again = () => {
    list.reload();
    setTurn((now) => now + 1);
  };
  useEvents(['system.refused'], list.reload, 500);
  // A grant may have come meanwhile.
  useEvents(['prompt.state', 'app.state'], again, 500);
  const matches = ({ caller, capability }: Refusal) =>
    `${caller.id} ${capability}`.toLowerCase().includes(wanted.toLowerCase());
  return html`<${Head} title=${title} lead=${text('lead')} /><${Answer} of=${list}>${() => {
    if (refusals.length === 0)
      return html`<${Card} label=${text('all')}><${Empty} icon="check" title=${text('none')} /><//>`;
    const shown = refusals.filter(matches);
    return html`<div class="denials-filter"><${TextField} quiet label=${text('filter')} placeholder=${text('filterHint')} type="search" value=${wanted} onInput=${setWanted} /></div>${shown.length === 0 ? html`<${Empty} title=${text('noneMatch')} />` : html`<ul class="stack" aria-label=${text('all')}>${shown.slice(0, MOST).map((one) => html`<li key=${`${one.caller.kind} ${one.caller.id} ${one.capability}`}><${Denial} of=${one} asks=${asks} granted=${again} /></li>`)}</ul>`}`;
  }}<//>`;
}

async function asksOf(apps: readonly string[]): Promise<Asks> {
  const found = await Promise.all(
    apps.map(async (app) => {
      // An app may have gone since it was refused something.
      const one = await api.get<Description>(`/apps/${encodeURIComponent(app)}/description`).catch(() => undefined);
      return [app, one?.asks] as const;
    }),
  );
  return new Map(found);
}

/** One refusal in words: what it means now, and what the reader can do. */
function Denial({ of, asks, granted }: { of: Refusal; asks: Asks; granted: () => void }) {
  const { caller, capability, count, ts, first } = of;
  const known = caller.kind === 'app' ? asks.get(caller.id) : undefined;
  const ask = known && coveringAsk(known, capability);
  const isNow = ask?.verdict === 'granted';
  const level: Level = isNow ? 'okay' : 'warn';
  const give = async (wanted: string) => {
    await api.post(`/apps/${encodeURIComponent(caller.id)}/grant`, { capability: wanted });
    tell(text('granted', { app: caller.id, capability: wanted }));
    granted();
  };
  const kind = caller.kind as 'app' | 'plugin' | 'operator' | 'anonymous';
  const line = lineFor(of, ask);
  return html`<${Card} label=${`${caller.id}: ${capability}`} class="denial"><div class="card-head"><h2><span class="denial-kind">${text(kind)}</span> ${caller.kind === 'app' ? html`<a href=${link('apps', [caller.id])}>${clean(caller.id)}</a>` : clean(caller.id)}</h2><${Badge} level=${level}>${text(isNow ? 'nowGranted' : 'open')}<//></div><p class="denial-what">${text('needs')} <code>${clean(capability)}</code></p><p>${reasonOf(of, ask, asks)}</p><p class="note" title=${whenText(first)}>${text('times', { n: count })}, ${text('last', { ago: agoText(ts) })}${count > 1 && `, ${text('since', { when: whenText(first) })}`}</p>${!isNow && line && html`<div class="denial-line"><span class="note">${line.label}</span><code>${line.text}</code><${Copy} text=${line.text} label=${line.label} /></div>`}${ask && !isNow && ask.grantable && html`<div class="actions"><${Button} kind="main" icon="check" writes onClick=${() => give(ask.capability)}>${text('grantIt', { capability: ask.capability })}<//></div>`}<//>`;
}

function reasonOf({ caller, class: kind }: Refusal, ask: Ask | undefined, asks: Asks): string {
  if (caller.kind === 'plugin') return text('reasonPlugin');
  if (caller.kind !== 'app') return text('reasonCaller');
  if (ask === undefined)
    return asks.has(caller.id) && asks.get(caller.id) === undefined
      ? text('reasonGone')
      : `${text('reasonUnasked')} ${text(kind === 'oem' ? 'thenOem' : kind === 'sensitive' ? 'thenAsked' : 'thenGiven')}`;
  const rule = { rule: clean(datedText(ask.by.line)) };
  if (ask.verdict === 'granted') return text('reasonNow', rule);
  if (!ask.grantable) return text('reasonSku', rule);
  return text(ask.verdict === 'ask' ? 'reasonAsked' : 'reasonDenied', rule);
}

/** Line to write into the manifest or the SKU; undefined where the button grants it. */
function lineFor(of: Refusal, ask: Ask | undefined): { readonly label: string; readonly text: string } | undefined {
  if (of.caller.kind === 'plugin') return { label: text('pluginLine'), text: of.hint };
  if (of.caller.kind !== 'app') return { label: text('other'), text: of.hint };
  if (ask === undefined) return { label: text('line'), text: lineOf(of) };
  if (ask.grantable) return undefined;
  return { label: text('skuLine'), text: `grants: { ${of.caller.id}: ["${ask.capability}"] }` };
}
