import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { numberText } from '../../core/format.ts';
import { go } from '../../core/route.ts';
import { Button } from '../../parts/button.ts';
import { Dialog } from '../../parts/dialog.ts';
import { TextField } from '../../parts/field.ts';
import { Card, Empty, Problem } from '../../parts/frame.ts';
import { Icon } from '../../parts/icon.ts';
import { useNarrow } from '../../parts/narrow.ts';
import { plain } from '../../parts/plain.ts';
import { LongList, Table } from '../../parts/table.ts';
import { Details } from './details.ts';
import { chosen, type Envelope, filterFault, isEvent, type Row, type TopicCount, type View } from './feed.ts';
import { exactTime, gapText, nameOf, payloadLine, sourceText } from './shown.ts';
import { words } from './text.ts';
import type { Fed } from './use-feed.ts';

/** Milliseconds per picture for texts of rows that were never searched. */
const SEARCH_MS = 12;
const PRIORITIES = ['low', 'normal', 'high', 'critical'] as const;

/** A frozen list, and the number of events at that moment. */
interface Frozen {
  readonly rows: readonly Row[];
  readonly gone: number;
  readonly total: number;
}

export function Live({ fed, filters, topics }: { fed: Fed; filters: readonly string[]; topics: readonly string[] }) {
  const { feed, error } = fed;
  const [view, setView] = useState<View>({ search: '', priorities: new Set() });
  const [frozen, setFrozen] = useState<Frozen | undefined>(undefined);
  const [event, setEvent] = useState<Envelope | undefined>(undefined);
  const narrow = useNarrow();
  const { rows: all, gone } = frozen ?? feed;
  // A new list each time: what it is made of is changed in place.
  const found = chosen(all, view, performance.now() + SEARCH_MS);
  const rows = [...found.rows];
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (found.whole) return;
    const timer = setTimeout(() => setTurn(turn + 1));
    return () => clearTimeout(timer);
  });
  const filtered = view.search.trim() !== '' || view.priorities.size > 0;
  const freeze = () =>
    setFrozen(frozen === undefined ? { rows: [...feed.rows], gone: feed.gone, total: feed.total } : undefined);
  const clear = () => {
    setFrozen(undefined);
    setEvent(undefined);
    fed.clear();
  };
  const toggle = (priority: string) => {
    const now = new Set(view.priorities);
    if (!now.delete(priority)) now.add(priority);
    setView({ ...view, priorities: now });
  };
  const list = html`<${LongList} label=${words('list')} items=${rows} height=${narrow ? 60 : 36} follow=${frozen === undefined} gone=${filtered ? 0 : gone} itemKey=${({ key }: Row) => key} row=${(row: Row) => html`<${Line} row=${row} chosen=${event} onChoose=${setEvent} />`} />`;
  const nothing = all.length === 0 ? words('waiting') : words('nothingFits');
  const actions = html`<div class="actions"><${Button} icon=${frozen ? 'play' : 'pause'} onClick=${freeze}>${words(frozen ? 'go' : 'pause')}<//><${Button} kind="quiet" icon="trash" onClick=${clear}>${words('clear')}<//></div>`;
  const shown = event && html`<${Details} key=${event.seq} event=${event} done=${() => setEvent(undefined)} />`;
  return html`<div class="columns events"><${Card} title=${words('list')} aside=${actions}><${Filters} filters=${filters} topics=${topics} />${error && html`<${Problem} error=${error} />`}<div class="event-tools"><${TextField} type="search" quiet label=${words('search')} placeholder=${words('searchHint')} value=${view.search} onInput=${(search: string) => setView({ ...view, search })} /><div class="choice" role="group" aria-label=${words('priorities')}>${PRIORITIES.map((one) => html`<button key=${one} type="button" aria-pressed=${view.priorities.has(one)} onClick=${() => toggle(one)}>${words(one)}</button>`)}</div></div>${rows.length === 0 ? html`<${Empty} icon="events" title=${nothing} />` : list}<${Summary} fed=${fed} rows=${rows} filtered=${filtered} frozen=${frozen} /><//><div class="stack">${!narrow && html`<${Card} title=${words('details')}>${shown ?? html`<p class="note">${words('chooseOne')}</p>`}<//>`}<${Topics} counts=${[...feed.topics.values()]} /></div></div>${narrow && shown && html`<${Dialog} title=${words('details')} wide onClose=${() => setEvent(undefined)}>${shown}<//>`}`;
}

/** One row: a gap says what is missing, an event is a button that shows it whole. */
function Line(props: { row: Row; chosen: Envelope | undefined; onChoose: (event: Envelope) => void }) {
  const { row } = props;
  if (!isEvent(row))
    return html`<p class="event-gap"><${Icon} name="warn" size=${16} /><time>${exactTime(row.at)}</time> ${gapText(row)}</p>`;
  const { event } = row;
  return html`<button type="button" class=${`event-row ${event.priority}`} aria-pressed=${props.chosen === event} onClick=${() => props.onChoose(event)} onKeyDown=${step}><time>${exactTime(event.ts)}</time><strong><bdi>${plain(event.topic, 120)}</bdi></strong>${event.priority !== 'normal' && html`<span class="event-priority">${nameOf(event.priority)}</span>`}<span class="event-source"><bdi>${sourceText(event)}</bdi></span><span class="event-line"><bdi>${payloadLine(event.payload)}</bdi></span></button>`;
}

/** Up and down the list by the arrows. */
function step(event: KeyboardEvent): void {
  const way =
    event.key === 'ArrowDown' ? 'nextElementSibling' : event.key === 'ArrowUp' ? 'previousElementSibling' : undefined;
  if (way === undefined) return;
  event.preventDefault();
  let row = (event.currentTarget as HTMLElement).closest('.long-row')?.[way];
  while (row && !row.querySelector('button')) row = row[way];
  row?.querySelector('button')?.focus();
}

function Summary(props: { fed: Fed; rows: readonly Row[]; filtered: boolean; frozen: Frozen | undefined }) {
  const { feed } = props.fed;
  const total = props.frozen?.total ?? feed.total;
  const parts = [
    props.filtered
      ? words('shown', { shown: numberText(props.rows.length), n: total })
      : words('counted', { n: total }),
  ];
  if (feed.gone > 0) parts.push(words('oldGone', { n: props.frozen?.gone ?? feed.gone }));
  if (feed.lost > 0) parts.push(words('lostNote', { n: feed.lost }));
  if (props.frozen) parts.push(words('pausedNote', { n: feed.total - props.frozen.total }));
  return html`<p class="note">${parts.join(' · ')}</p>`;
}

/** The filters are in the address, so that a link leads to what one sees. */
function Filters({ filters, topics }: { filters: readonly string[]; topics: readonly string[] }) {
  const [text, setText] = useState('');
  const [wrong, setWrong] = useState<string | undefined>(undefined);
  const to = (next: readonly string[]) => go('events', [], next.length === 0 ? {} : { filter: next.join(',') });
  const everything = filters.length === 1 && filters[0] === '**';
  const add = (submitted: Event) => {
    submitted.preventDefault();
    const filter = text.trim();
    const fault = filterFault(filter);
    setWrong(fault && words(fault));
    if (fault !== undefined) return;
    setText('');
    to([...new Set([...(everything ? [] : filters), filter])]);
  };
  const chip = (filter: string) =>
    html`<li key=${filter} class="chip"><code><bdi>${plain(filter, 120)}</bdi></code><${Button} kind="quiet" icon="close" label=${words('dropFilter', { filter: plain(filter, 120) })} onClick=${() => to(filters.filter((one) => one !== filter))} /></li>`;
  return html`<form class="event-filters" onSubmit=${add}><${TextField} label=${words('filter')} hint=${words('filterHint')} error=${wrong} placeholder="app.*.event.**" list=${topics} value=${text} onInput=${(
    next: string,
  ) => {
    setText(next);
    setWrong(undefined);
  }} /><${Button} type="submit" icon="plus">${words('addFilter')}<//></form><ul class="chips" aria-label=${words('filters')}>${everything ? html`<li class="chip">${words('everything')} <code>**</code></li>` : filters.map(chip)}</ul>`;
}

function Topics({ counts }: { counts: readonly TopicCount[] }) {
  const columns = [
    {
      title: words('topic'),
      cell: ({ topic }: TopicCount) =>
        html`<button type="button" class="text-button" aria-label=${`${words('only')}: ${plain(topic, 120)}`} onClick=${() => go('events', [], { filter: topic })}><bdi>${plain(topic, 120)}</bdi></button>`,
    },
    { title: words('rate'), number: true, cell: ({ rate }: TopicCount) => numberText(rate) },
    { title: words('total'), number: true, cell: ({ total }: TopicCount) => numberText(total) },
  ];
  const most = [...counts].sort((a, b) => b.total - a.total || (a.topic < b.topic ? -1 : 1));
  return html`<${Card} title=${words('topics')} class="event-topics"><${Table} label=${words('topics')} columns=${columns} rows=${most} rowKey=${({ topic }: TopicCount) => topic} most=${12} /><//>`;
}
