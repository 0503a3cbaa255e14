/** The apps of the device: a list, or one of them. */
import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import { agoText } from '../../core/format.ts';
import { link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk, useEvents, useVisible } from '../../parts/ask.ts';
import { LinkButton } from '../../parts/button.ts';
import { Choice, TextField } from '../../parts/field.ts';
import { Answer, Badge, Card, Empty, Head } from '../../parts/frame.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { App } from './app.ts';
import { Install } from './install.ts';
import { Questions } from './questions.ts';
import type { AppStatus, Top, Use } from './shapes.ts';
import { isTroubled, levelOf, stateText } from './state.ts';
import { text } from './text.ts';
import { useTimer } from './timer.ts';
import { useText } from './units.ts';

sheet('pages/apps/apps.css');

const LOOK_MS = 5000;

type Row = AppStatus & { readonly usage: readonly Use[] };
type Shown = 'all' | 'troubled' | 'running';

export function Page({ title, rest, query }: PageProps) {
  const [id] = rest;
  if (id === 'install') return html`<${Install} of=${query.get('of') ?? undefined} />`;
  return id === undefined
    ? html`<${List} title=${title} />`
    : html`<${App} key=${id} id=${id} tab=${query.get('tab') ?? 'state'} />`;
}

function List({ title }: Pick<PageProps, 'title'>) {
  const apps = useAsk<{ readonly apps: readonly AppStatus[] }>('/apps');
  const top = useAsk<{ readonly apps: readonly Top[] }>('/apps/usage');
  const [wanted, setWanted] = useState('');
  const [shown, setShown] = useState<Shown>('all');
  useEvents(['app.state', 'app.installed', 'app.removed', 'app.rolledback'], () => apps.reload(), 500);
  const visible = useVisible();
  // The usage of apps is measured on request: no event tells it.
  useTimer(visible ? LOOK_MS : undefined, top.reload);
  const usage = new Map(top.data?.apps.map((one) => [one.id, one.usage]));
  const all = (apps.data?.apps ?? []).map((one): Row => ({ ...one, usage: usage.get(one.id) ?? [] })).sort(byTrouble);
  const troubled = all.filter(isTroubled).length;
  const rows = all.filter(
    (one) =>
      (shown === 'all' || (shown === 'running' ? one.state === 'running' : isTroubled(one))) &&
      `${one.id} ${one.title}`.toLowerCase().includes(wanted.toLowerCase()),
  );
  const choices = [
    ['all', `${text('all')} ${all.length}`],
    ['troubled', `${text('troubled')} ${troubled}`],
    ['running', text('running')],
  ] as const;
  const actions = html`<${LinkButton} kind="main" icon="upload" href=${link('apps', ['install'])}>${text('install')}<//>`;
  return html`<${Head} title=${title} lead=${text('lead')} actions=${actions} /><${Questions} /><${Answer} of=${apps}>${() =>
    all.length === 0
      ? html`<${Card} label=${title}><${Empty} icon="apps" title=${text('none')} /><//>`
      : html`<${Card} label=${title}><div class="apps-filter"><${TextField} quiet label=${text('filter')} placeholder=${text('filter')} type="search" value=${wanted} onInput=${setWanted} /><${Choice} label=${text('show')} value=${shown} options=${choices} onChange=${setShown} /></div><${Table} label=${title} columns=${columns()} rows=${rows} rowKey=${({ id }: Row) => id} href=${({ id }: Row) => link('apps', [id])} empty=${text('noneMatch')} most=${100} /><//>`}<//>`;
}

const weight = (one: AppStatus): number => (isTroubled(one) ? (levelOf(one) === 'error' ? 0 : 1) : 2);
const byTrouble = (a: AppStatus, b: AppStatus): number => weight(a) - weight(b) || (a.id < b.id ? -1 : 1);
const used = ({ usage }: Row, budget: Use['budget']): number => usage.find((one) => one.budget === budget)?.used ?? 0;

function columns() {
  return [
    {
      title: text('app'),
      cell: ({ title, id }: Row) =>
        html`<span class="apps-title">${clean(title || id)}</span><span class="note apps-id">${clean(id)}</span>`,
      by: ({ id }: Row) => id,
    },
    {
      title: text('state'),
      cell: (one: Row) => html`<${Badge} level=${levelOf(one)}>${stateText(one.state)}<//>`,
      by: (one: Row) => `${weight(one)} ${one.state}`,
    },
    { title: text('version'), cell: ({ version }: Row) => clean(version) },
    {
      title: text('memory'),
      cell: (one: Row) => useText(one.usage, 'memory'),
      by: (one: Row) => used(one, 'memory'),
      number: true,
    },
    {
      title: text('cpu'),
      cell: (one: Row) => useText(one.usage, 'cpu'),
      by: (one: Row) => used(one, 'cpu'),
      number: true,
    },
    { title: text('remark'), cell: (one: Row) => html`<span class="apps-remark">${remark(one)}</span>` },
  ];
}

function remark({ complaint, reason, state, lastEnd, denied, health }: AppStatus) {
  const said = complaint ?? (state === 'running' ? undefined : reason);
  if (said) return clean(said);
  if (health?.status === 'error') return clean(health.message ?? '');
  if (denied.length > 0) return text('withoutGrants', { n: denied.length });
  return lastEnd ? text('ended', { n: lastEnd.count, ago: agoText(lastEnd.at) }) : '';
}
