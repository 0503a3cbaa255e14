import { html } from 'htm/preact';
import { link, type PageProps } from '../../core/route.ts';
import { sheet } from '../../parts/ask.ts';
import { Tabs } from '../../parts/dialog.ts';
import { Answer, Head } from '../../parts/frame.ts';
import { useCondition } from '../../parts/use-condition.ts';
import { Audit } from './audit.ts';
import { Cost } from './cost.ts';
import { Graph } from './graph.ts';
import { Installed } from './installed.ts';
import { List } from './list.ts';
import { One } from './one.ts';
import { text } from './text.ts';

sheet('pages/plugins/plugins.css');

const VIEWS = ['list', 'cost', 'graph', 'installed', 'audit'] as const;

export function Page({ title, rest: [id], query }: PageProps) {
  const { plugins: list, health, rows } = useCondition();
  const view = VIEWS.find((one) => one === query.get('view')) ?? 'list';
  const tabs = VIEWS.map(
    (one) => [link('plugins', [], one === 'list' ? {} : { view: one }), text(one), one === view] as const,
  );
  const draw = () => {
    if (id !== undefined) return html`<${One} key=${id} id=${id} rows=${rows} />`;
    const Shown = { list: List, cost: Cost, graph: Graph, installed: Installed, audit: Audit }[view];
    return html`<${Shown} rows=${rows} health=${health.data} />`;
  };
  const head = id === undefined && html`<${Head} title=${title} lead=${text('lead')} />`;
  return html`${head}${id === undefined && html`<${Tabs} label=${title} tabs=${tabs} />`}${id !== undefined && list.data === undefined && html`<${Head} title=${id} />`}<${Answer} of=${list}>${draw}<//>`;
}
