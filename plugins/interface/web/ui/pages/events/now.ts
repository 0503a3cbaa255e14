import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { whenText } from '../../core/format.ts';
import { link } from '../../core/route.ts';
import { useFollow } from '../../parts/ask.ts';
import { Card, Loading } from '../../parts/frame.ts';
import { plain } from '../../parts/plain.ts';
import { Table } from '../../parts/table.ts';
import { type Envelope, Truths } from './feed.ts';
import { payloadLine, sourceText } from './shown.ts';
import { words } from './text.ts';

/** Retained truths: the latest event of each topic that the Core retains, and of each subject of it. */
export function Now({ topics }: { topics: readonly string[] | undefined }) {
  const [truths, setTruths] = useState(() => ({ of: new Truths() }));
  useEffect(() => setTruths({ of: new Truths() }), [topics?.join(' ')]);
  useFollow(
    topics === undefined || topics.length === 0 ? undefined : 'events.stream',
    { filter: topics ?? [] },
    {
      item: ({ data }) => {
        if (typeof (data as Partial<Envelope>).topic !== 'string') return;
        truths.of.add(data as Envelope);
        setTruths(({ of }) => ({ of }));
      },
    },
  );
  const columns = [
    {
      title: words('topic'),
      by: ({ topic }: Envelope) => topic,
      cell: ({ topic }: Envelope) => html`<bdi>${plain(topic, 120)}</bdi>`,
    },
    {
      title: words('subject'),
      by: subjectOf,
      cell: (event: Envelope) => html`<bdi>${plain(subjectOf(event), 140)}</bdi>`,
    },
    {
      title: words('value'),
      cell: (event: Envelope) => html`<bdi class="event-value">${payloadLine(without(event))}</bdi>`,
    },
    { title: words('since'), by: ({ ts }: Envelope) => ts, cell: ({ ts }: Envelope) => whenText(ts) },
    { title: words('source'), cell: (event: Envelope) => html`<bdi>${sourceText(event)}</bdi>` },
  ];
  if (topics === undefined) return html`<${Loading} />`;
  const values = [...truths.of.values.values()];
  const each = Map.groupBy(values, ({ topic }) => topic);
  // Topics with one value come before topics with many.
  const rows = values.sort(
    (a, b) =>
      each.get(a.topic)!.length - each.get(b.topic)!.length ||
      compare(a.topic, b.topic) ||
      compare(subjectOf(a), subjectOf(b)),
  );
  return html`<${Card} label=${words('now')}><p class="note">${words('nowLead')}</p><${Table} label=${words('now')} columns=${columns} rows=${rows} rowKey=${(event: Envelope) => `${event.topic} ${subjectOf(event)}`} href=${(event: Envelope) => link('events', [], { filter: event.topic })} empty=${words('nowNone')} most=${30} /><//>`;
}

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

const subjectOf = ({ payload }: Envelope): string => {
  const of = payload.app ?? payload.plugin;
  return typeof of === 'string' ? of : '';
};

function without({ payload }: Envelope): Envelope['payload'] {
  const { app: _, plugin: __, ...rest } = payload;
  return rest;
}
