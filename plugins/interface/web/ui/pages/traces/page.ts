/** Traces: work that was slow, failed or sampled, and the spans of one as a tree. */

import { html } from 'htm/preact';
import { useState } from 'preact/hooks';
import type { Answers } from '../../core/answers.ts';
import { numberText, whenText } from '../../core/format.ts';
import { link, type PageProps } from '../../core/route.ts';
import { useAsk } from '../../parts/ask.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { Choice } from '../../parts/field.ts';
import { Answer, Badge, Card, Facts, Head } from '../../parts/frame.ts';
import type { Level } from '../../parts/level.ts';
import { clean } from '../../parts/said.ts';
import { Table } from '../../parts/table.ts';
import { text } from './text.ts';

type Why = Summary['why'];

type Summary = Omit<Listed, 'spans'>;

type Span = Trace['spans'][number];

type Listed = Answers['traces.list']['traces'][number];
type Trace = Answers['traces.get'];

const LEVEL: Readonly<Record<Why, Level>> = { failed: 'error', slow: 'warn', sampled: 'quiet' };
const WHYS = ['all', 'failed', 'slow', 'sampled'] as const;
const msText = (ms: number) => `${numberText(ms)} ms`;
const badge = (why: Why) => html`<${Badge} level=${LEVEL[why]}>${text(why)}<//>`;

export function Page({ rest: [id] }: PageProps) {
  return id === undefined ? html`<${All} />` : html`<${One} key=${id} id=${id} />`;
}

function All() {
  const [why, setWhy] = useState<(typeof WHYS)[number]>('all');
  const traces = useAsk<{ readonly traces: readonly Listed[]; readonly dropped: { readonly traces: number } }>(
    '/traces',
    {
      limit: 200,
      ...(why !== 'all' && { why }),
    },
  );
  const columns = [
    { title: text('name'), cell: ({ name }: Listed) => clean(name), by: ({ name }: Listed) => name },
    { title: text('at'), cell: ({ at }: Listed) => whenText(at), by: ({ at }: Listed) => at },
    { title: text('ms'), number: true, cell: ({ ms }: Listed) => msText(ms), by: ({ ms }: Listed) => ms },
    { title: text('why'), cell: (one: Listed) => badge(one.why), by: (one: Listed) => one.why },
    { title: text('error'), cell: ({ error }: Listed) => clean(error ?? '–') },
    { title: text('spans'), number: true, cell: ({ spans }: Listed) => spans },
  ];
  const choice = html`<${Choice} label=${text('why')} value=${why} options=${WHYS.map((one) => [one, text(one)] as const)} onChange=${setWhy} />`;
  return html`<${Head} title=${text('title')} lead=${text('lead')} actions=${html`<${Button} onClick=${traces.reload}>${text('reload')}<//>`} /><${Card} label=${text('title')} aside=${choice}><${Answer} of=${traces}>${(data: NonNullable<typeof traces.data>) => html`<${Table} label=${text('title')} columns=${columns} rows=${data.traces} rowKey=${(one: Listed) => one.id} href=${(one: Listed) => link('traces', [one.id])} empty=${text('none')} />${data.dropped.traces > 0 && html`<p class="note">${text('dropped', { count: data.dropped.traces })}</p>`}`}<//><//>`;
}

function One({ id }: { id: string }) {
  const trace = useAsk<Trace>(`/traces/${encodeURIComponent(id)}`);
  const back = html`<${LinkButton} kind="quiet" icon="undo" href=${link('traces')}>${text('back')}<//>`;
  const columns = [
    { title: text('span'), cell: ({ tree }: Span) => html`<code style=${{ whiteSpace: 'pre' }}>${clean(tree)}</code>` },
    { title: text('start'), number: true, cell: ({ start }: Span) => msText(start) },
    { title: text('ms'), number: true, cell: ({ ms }: Span) => msText(ms) },
    { title: text('error'), cell: ({ error }: Span) => clean(error ?? '') },
    {
      title: text('attributes'),
      cell: ({ attributes = {} }: Span) =>
        Object.entries(attributes)
          .map(([name, value]) => clean(`${name}: ${String(value)}`))
          .join(', '),
    },
  ];
  const draw = ({ at, ms, why, error, spans, left, name }: Trace) =>
    html`<${Card} title=${clean(name)} aside=${badge(why)}><${Facts} rows=${[
      [text('at'), whenText(at)],
      [text('ms'), msText(ms)],
      [text('error'), clean(error ?? '–')],
    ]} /><//><${Card} title=${text('spans')}><${Table} label=${text('spans')} columns=${columns} rows=${spans} rowKey=${(span: Span) => span.id} most=${500} />${left !== undefined && html`<p class="note">${text('left', { count: left })}</p>`}<//>`;
  return html`<${Head} title=${text('title')} lead=${html`<code>${clean(id)}</code>`} actions=${back} /><${Answer} of=${trace}>${draw}<//>`;
}
