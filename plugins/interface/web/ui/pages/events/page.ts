import { html } from 'htm/preact';
import { link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk } from '../../parts/ask.ts';
import { Tabs } from '../../parts/dialog.ts';
import { Head } from '../../parts/frame.ts';
import { Live } from './live.ts';
import { Now } from './now.ts';
import { Publish } from './publish.ts';
import { words } from './text.ts';
import { useFeed } from './use-feed.ts';

sheet('pages/events/events.css');

interface Document {
  readonly channels: Readonly<Record<string, { readonly address: string; readonly 'x-retained'?: boolean }>>;
}

const EVERYTHING: readonly string[] = ['**'];

/** `#/events?filter=system.**,app.state`, `#/events/now`, `#/events/publish`. What came is kept while one looks at another view of it. */
export function Page({ title, rest, query }: PageProps) {
  const [view = 'live'] = rest;
  const asked = (query.get('filter') ?? '').split(',').filter((one) => one !== '');
  const filters = asked.length === 0 ? EVERYTHING : asked;
  const fed = useFeed(filters);
  const document = useAsk<Document>('/asyncapi.json');
  const channels = Object.values(document.data?.channels ?? {});
  const topics = channels.map(({ address }) => address).filter((topic) => !topic.includes('{'));
  const kept = channels.filter((one) => one['x-retained']).map(({ address }) => address);
  const held: Readonly<Record<string, string>> = asked.length === 0 ? {} : { filter: asked.join(',') };
  const tabs = [
    [link('events', [], held), words('live'), view === 'live'],
    [link('events', ['now'], held), words('now'), view === 'now'],
    [link('events', ['publish'], held), words('publish'), view === 'publish'],
  ] as const;
  return html`<${Head} title=${title} lead=${words('lead')} /><${Tabs} label=${words('views')} tabs=${tabs} />${view === 'now' ? html`<${Now} topics=${document.data && kept} />` : view === 'publish' ? html`<${Publish} key=${query.toString()} query=${query} topics=${topics} />` : html`<${Live} fed=${fed} filters=${filters} topics=${topics} />`}`;
}
