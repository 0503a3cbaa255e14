import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../../core/api.ts';
import { go, link, type PageProps } from '../../core/route.ts';
import { sheet, useAsk, useEvents } from '../../parts/ask.ts';
import { Button, LinkButton } from '../../parts/button.ts';
import { TextField, ToggleField } from '../../parts/field.ts';
import { Answer, Badge, Card, Empty, Head } from '../../parts/frame.ts';
import { Table } from '../../parts/table.ts';
import { identity, type Kind, type Section, type Setting, type Settings } from './model.ts';
import { SettingRow } from './setting.ts';
import { words } from './text.ts';

sheet('pages/settings/settings.css');

const KINDS = ['device', 'app', 'plugin'] as const;
const isKind = (kind: string): kind is Kind => KINDS.some((one) => one === kind);

export function Page({ title, rest, query }: PageProps) {
  const [kind, id] = rest;
  if (kind === undefined || id === undefined) return html`<${All} title=${title} query=${query} />`;
  return isKind(kind)
    ? html`<${One} key=${`${kind}/${id}`} kind=${kind} id=${id} chosen=${query.get('key') ?? undefined} />`
    : html`<${Head} title=${words('noSection')} /><${Empty} icon="search" title=${words('noSectionCalled', { name: rest.join('/') })}><${LinkButton} href=${link('settings')} icon="settings">${words('back')}<//><//>`;
}

/** Settings, page by page, and anew when one changed. */
function useSettings(query: Readonly<Record<string, unknown>> | undefined) {
  const asked = useAsk<Settings>(query && '/config-descriptions', query);
  const [more, setMore] = useState<
    { readonly of: Settings; readonly keys: readonly Setting[]; readonly next?: string | undefined } | undefined
  >(undefined);
  useEvents(['config.changed', 'plugin.changed', 'plugin.state'], asked.reload, 400);
  const first = asked.data;
  const mine = more !== undefined && more.of === first ? more : undefined;
  const next = mine ? mine.next : first?.next;
  return {
    ...asked,
    data: first && { keys: [...first.keys, ...(mine?.keys ?? [])], next },
    async further() {
      if (first === undefined || next === undefined) return;
      const answer = await api.get<Settings>('/config-descriptions', { ...query, after: next });
      setMore({ of: first, keys: [...(mine?.keys ?? []), ...answer.keys], next: answer.next });
    },
  };
}

function All({ title, query }: Pick<PageProps, 'title' | 'query'>) {
  const wanted = query.get('q') ?? '';
  const only = query.get('changed') === '1';
  const [typed, setTyped] = useState(wanted);
  useEffect(() => {
    if (typed === wanted) return;
    const timer = setTimeout(
      () => go('settings', [], { ...(typed && { q: typed }), ...(only && { changed: '1' }) }),
      250,
    );
    return () => clearTimeout(timer);
  }, [typed]);
  const searching = wanted.trim() !== '';
  const found = useSettings(
    searching ? { search: wanted.slice(0, 100), overridesOnly: only, limit: 100 } : { overridesOnly: true },
  );
  const sections = useAsk<{ sections: readonly Section[] }>('/config-sections');
  useEvents(['config.changed', 'plugin.changed'], sections.reload, 400);
  useEffect(() => setTyped(wanted), [wanted]);
  const toggle = (on: boolean) => go('settings', [], { ...(typed && { q: typed }), ...(on && { changed: '1' }) });
  return html`<${Head} title=${title} lead=${words('lead')} /><${Card} label=${words('search')}><div class="settings-find"><${TextField} type="search" label=${words('search')} value=${typed} onInput=${setTyped} /><${ToggleField} label=${words('onlyChanged')} value=${only} onChange=${toggle} /></div><//><${Answer} of=${found}>${(data: Settings) => (searching ? html`<${Found} data=${data} more=${found.further} reload=${found.reload} />` : html`<${Changed} data=${data} more=${found.further} reload=${found.reload} />`)}<//>${!searching && html`<${Answer} of=${sections}>${({ sections: all }: { sections: readonly Section[] }) => KINDS.map((kind) => html`<${Sections} key=${kind} kind=${kind} sections=${all.filter((one) => one.kind === kind && (!only || one.overrides > 0))} />`)}<//>`}`;
}

interface ListProps {
  readonly data: Settings;
  readonly more: () => Promise<void>;
  readonly reload: () => void;
}

function Changed({ data, more, reload }: ListProps) {
  const [once, setOnce] = useState<readonly Setting[]>(data.keys);
  // A setting just reset stays in its place, so that the reset can be undone.
  useEffect(() => {
    const now = new Set(data.keys.map(identity));
    setOnce((before) => [...data.keys, ...before.filter((one) => !now.has(identity(one)))]);
  }, [data]);
  const gone = once.filter((one) => !data.keys.some((other) => identity(other) === identity(one)));
  return html`<${Card} title=${words('changed')} aside=${html`<span class="note">${words('changedLead')}</span>`}>${once.length === 0 ? html`<${Empty} icon="check" title=${words('nothingChanged')} />` : html`<${List} settings=${[...data.keys, ...gone.map(withoutOverrides)]} reload=${reload} from=${true} />`}<${More} data=${data} more=${more} /><//>`;
}

/** As it is once the layers of the device and the app are gone. */
function withoutOverrides(setting: Setting): Setting {
  const below = setting.layers.filter(({ source }) => source !== 'app' && source !== 'device');
  const layers = below.map((layer, at) => ({ ...layer, wins: at === 0 }));
  const { value: _, ...rest } = setting;
  const now = layers[0];
  return { ...rest, layers, revision: 0, ...(now && { value: now.value, source: now.source }) };
}

function Found({ data, more, reload }: ListProps) {
  const title =
    data.next === undefined ? words('found', { n: data.keys.length }) : words('foundMore', { n: data.keys.length });
  return html`<${Card} title=${title}>${data.keys.length === 0 ? html`<${Empty} icon="search" title=${words('notFound')} />` : html`<${List} settings=${data.keys} reload=${reload} from=${true} />`}<${More} data=${data} more=${more} /><//>`;
}

function One({ kind, id, chosen }: { kind: Kind; id: string; chosen: string | undefined }) {
  const sections = useAsk<{ sections: readonly Section[] }>('/config-sections');
  // The device is nobody's section: its keys are asked for by what they are not.
  const settings = useSettings(kind === 'app' ? { app: id } : kind === 'plugin' ? { plugin: id } : { device: true });
  const section = sections.data?.sections.find((one) => one.kind === kind && one.id === id);
  const title = kind === 'device' ? words('device') : kind === 'app' ? (section?.title ?? id) : id;
  return html`<${Head} title=${title} lead=${kind === 'plugin' ? section?.title : kind === 'app' ? id : undefined} actions=${html`<${LinkButton} href=${link('settings')} icon="settings">${words('back')}<//>`} /><${Answer} of=${settings}>${(data: Settings) => html`<${Card} title=${words('keys')}>${data.keys.length === 0 ? html`<${Empty} title=${words('noKeys')} />` : html`<${List} settings=${data.keys} reload=${settings.reload} chosen=${chosen} />`}<${More} data=${data} more=${settings.further} /><//>`}<//>`;
}

function List(props: {
  settings: readonly Setting[];
  reload: () => void;
  chosen?: string | undefined;
  from?: boolean;
}) {
  const from = ({ section: { kind, id } }: Setting) => (kind === 'device' ? words('device') : id);
  return html`<div class="settings-list">${props.settings.map((one) => html`<${SettingRow} key=${identity(one)} setting=${one} reload=${props.reload} chosen=${props.chosen === one.key} from=${props.from ? from(one) : undefined} />`)}</div>`;
}

function More({ data, more }: Pick<ListProps, 'data' | 'more'>) {
  return data.next === undefined ? null : html`<${Button} onClick=${more}>${words('more')}<//>`;
}

function Sections({ kind, sections }: { kind: (typeof KINDS)[number]; sections: readonly Section[] }) {
  if (sections.length === 0) return null;
  const columns = [
    {
      title: words('name'),
      cell: (one: Section) => (kind === 'plugin' ? one.id : kind === 'device' ? words('device') : one.title),
      by: (one: Section) => one.title.toLowerCase(),
    },
    ...(kind === 'device'
      ? []
      : [
          {
            title: words('about'),
            cell: (one: Section) => (kind === 'plugin' ? one.title : html`<code>${one.id}</code>`),
          },
        ]),
    { title: words('keys'), number: true, cell: (one: Section) => one.keys, by: (one: Section) => one.keys },
    {
      title: words('overrides'),
      cell: (one: Section) => (one.overrides > 0 ? html`<${Badge} level="info">${one.overrides}<//>` : ''),
      by: (one: Section) => one.overrides,
    },
  ];
  return html`<${Card} title=${words(kind)}><${Table} label=${words(kind)} columns=${columns} rows=${sections} rowKey=${(one: Section) => one.id} most=${20} href=${(one: Section) => link('settings', [one.kind, one.id])} /><//>`;
}
