import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';

interface Document {
  readonly channels: Readonly<Record<string, { readonly address: string; readonly summary?: string }>>;
}

/** Every topic of the device: it leads to the events of it, as they come. */
export async function entries(): Promise<readonly Entry[]> {
  const { channels } = await api.get<Document>('/asyncapi.json');
  return Object.values(channels)
    .filter(({ address }) => !address.includes('{'))
    .map(({ address, summary = '' }) => ({
      kind: 'event',
      title: address,
      note: summary,
      icon: 'events',
      href: link('events', [], { filter: address }),
    }));
}
