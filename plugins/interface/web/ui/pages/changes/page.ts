/** Long or undoable changes: under way and over. */
import { html } from 'htm/preact';
import { whenText } from '../../core/format.ts';
import { link, type PageProps } from '../../core/route.ts';
import { useAsk, useEvents } from '../../parts/ask.ts';
import { Answer, Badge, Card, Empty, Head } from '../../parts/frame.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { ChangeView, isOver, LEVEL, useChange } from './change.ts';
import type { Change } from './shapes.ts';
import { text } from './text.ts';

export function Page({ title, rest }: PageProps) {
  const [id] = rest;
  return id === undefined ? html`<${List} title=${title} />` : html`<${One} key=${id} id=${id} />`;
}

function One({ id }: { id: string }) {
  const change = useChange(id);
  return html`<p><a href=${link('changes')}>← ${text('all')}</a></p><${Head} title=${text('change', { id })} lead=${text('leadOne')} /><${ChangeView} of=${change} />`;
}

function List({ title }: Pick<PageProps, 'title'>) {
  const list = useAsk<{ readonly changes: readonly Change[] }>('/changes');
  useEvents(['change.state'], list.reload);
  return html`<${Head} title=${title} lead=${text('lead')} /><${Answer} of=${list}>${({
    changes,
  }: {
    changes: readonly Change[];
  }) => {
    const now = changes.filter((one) => !isOver(one));
    const over = changes.filter(isOver);
    if (changes.length === 0)
      return html`<${Card} label=${title}><${Empty} icon="changes" title=${text('none')} /><//>`;
    return html`${now.length > 0 && html`<${Card} title=${text('now')}><${Changes} label=${text('now')} of=${now} /><//>`}<${Card} title=${text('over')}><${Changes} label=${text('over')} of=${over} /><//>`;
  }}<//>`;
}

function Changes({ label, of }: { label: string; of: readonly Change[] }) {
  const columns = [
    {
      title: text('what'),
      cell: ({ summary }: Change) => html`<span class="change-what">${clean(summary)}</span>`,
      by: ({ summary }: Change) => summary,
    },
    {
      title: text('state'),
      cell: (one: Change) =>
        html`<${Badge} level=${LEVEL[one.state]}>${text(one.state)}<//>${!isOver(one) && html` <span class="note">${text('progress', { done: one.progress.done, of: one.progress.of })}</span>`}`,
      by: ({ state }: Change) => state,
    },
    { title: text('by'), cell: ({ by }: Change) => clean(by), by: ({ by }: Change) => by },
    {
      title: text('started'),
      cell: ({ startedAt }: Change) => whenText(startedAt),
      by: ({ startedAt }: Change) => startedAt,
    },
    { title: text('remark'), cell: ({ error }: Change) => (error ? clean(error.message) : '') },
  ];
  return html`<${Table} label=${label} columns=${columns} rows=${of} rowKey=${({ id }: Change) => id} href=${({ id }: Change) => link('changes', [id])} empty=${text('none')} most=${50} />`;
}
