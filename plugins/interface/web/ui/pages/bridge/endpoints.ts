/** Endpoints of the bridge with their own counters. */
import { html } from 'htm/preact';
import { api } from '../../core/api.ts';
import { bytesText, numberText } from '../../core/format.ts';
import { Badge, Card } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { Sure } from './link-card.ts';
import type { Endpoint, Link } from './shapes.ts';
import { words } from './text.ts';

export function Endpoints({ list, link }: { list: readonly Endpoint[]; link: Link }) {
  const count = (title: string, of: (one: NonNullable<Endpoint['counters']>) => number, bad = false) => ({
    title,
    number: true,
    by: ({ counters }: Endpoint) => (counters ? of(counters) : 0),
    cell: ({ counters }: Endpoint) => {
      if (counters === undefined) return '–';
      const value = numberText(of(counters), 0);
      return bad && of(counters) > 0 ? html`<${Badge} level="warn">${value}<//>` : value;
    },
  });
  const columns = [
    {
      title: words('endpoint'),
      cell: ({ name }: Endpoint) =>
        html`<strong>${name}</strong>${link.endpoints?.[name]?.away ? html` <${Badge} level="warn">${words('away')}<//>` : ''}`,
    },
    {
      title: words('class'),
      cell: ({ className, version }: Endpoint) => `${className} ${version.major}.${version.minor}`,
    },
    count(words('requests'), ({ requests }) => requests),
    count(words('failed'), ({ errors, timeouts }) => errors + timeouts, true),
    {
      ...count('', () => 0),
      title: words('bytes'),
      cell: ({ counters }: Endpoint) =>
        counters ? `${bytesText(counters.bytesIn)} / ${bytesText(counters.bytesOut)}` : '–',
    },
    count(words('events'), ({ events }) => events),
    count(words('lost'), ({ eventsLost }) => eventsLost, true),
    {
      title: words('act'),
      cell: ({ name, ep }: Endpoint) =>
        ep === 0
          ? ''
          : html`<${Sure} quiet label=${words('reset')} title=${words('resetTitle', { name })} text=${words('resetText')} done=${words('resetDone', { name })} run=${() => api.post(`/bridge/endpoints/${encodeURIComponent(name)}/reset`)} />`,
    },
  ];
  return html`<${Card} title=${words('tab-endpoints')}><${Table} label=${words('tab-endpoints')} columns=${columns} rows=${list} rowKey=${({ name }: Endpoint) => name} empty=${words('noEndpoints')} /><//>`;
}
