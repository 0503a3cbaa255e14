import { html } from 'htm/preact';
import { useMemo, useState } from 'preact/hooks';
import { link, type PageProps } from '../../core/route.ts';
import { sheet } from '../../parts/ask.ts';
import { Choice, TextField } from '../../parts/field.ts';
import { Answer, Card, Empty, Head } from '../../parts/frame.ts';
import { useNarrow } from '../../parts/narrow.ts';
import { plain } from '../../parts/plain.ts';
import { LongList } from '../../parts/table.ts';
import { grouped, type Kind, type Listed } from './catalog.ts';
import { type Callables, useCallables } from './data.ts';
import { FunctionView } from './function-view.ts';
import { OperationView } from './operation-view.ts';
import { StreamView } from './stream-view.ts';
import { words } from './text.ts';

sheet('pages/functions/functions.css');

/**
 * `#/functions`, `#/functions/op/config.set`, `#/functions/fn/com.example.agenda/agenda.add/1.0.0`,
 * `#/functions/stream/display.frames`.
 */
export function Page({ title, rest }: PageProps) {
  const callables = useCallables();
  const narrow = useNarrow();
  const chosen = rest.length > 0;
  return html`<${Head} title=${title} lead=${words('lead')} /><${Answer} of=${callables}>${(data: Callables) => html`<div class="functions">${(!narrow || !chosen) && html`<${List} rows=${data.rows} at=${rest.join('/')} />`}${(!narrow || chosen) && html`<div class="stack">${narrow && html`<p><a class="button quiet" href=${link('functions')}>← ${words('back')}</a></p>`}<${Chosen} key=${rest.join('/')} data=${data} rest=${rest} /></div>`}</div>`}<//>`;
}

function List({ rows, at }: { rows: readonly Listed[]; at: string }) {
  const [search, setSearch] = useState('');
  const [kind, setKind] = useState<Kind>('all');
  const shown = useMemo(() => grouped(rows, search, kind), [rows, search, kind]);
  const count = shown.filter((one) => !('heading' in one)).length;
  const kinds = (['all', 'functions', 'operations', 'streams'] as const).map((one) => [one, words(one)] as const);
  const row = (one: (typeof shown)[number]) =>
    'heading' in one
      ? html`<p class="callable-group"><bdi>${plain(one.heading, 120)}</bdi> <span class="note">${one.count}</span></p>`
      : html`<a class="callable" href=${link('functions', one.href)} aria-current=${one.href.join('/') === at ? 'page' : undefined}><strong><bdi>${plain(one.name, 140)}</bdi></strong><span><bdi>${plain(one.note, 160)}</bdi></span></a>`;
  return html`<${Card} label=${words('list')}><${TextField} type="search" quiet label=${words('search')} placeholder=${words('searchHint')} value=${search} onInput=${setSearch} /><${Choice} label=${words('kinds')} value=${kind} options=${kinds} onChange=${setKind} />${shown.length === 0 ? html`<${Empty} icon="functions" title=${words('none')} />` : html`<${LongList} label=${words('list')} items=${shown} height=${52} itemKey=${(one: (typeof shown)[number]) => ('heading' in one ? `# ${one.heading}` : one.key)} row=${row} />`}<p class="note" role="status">${words('found', { n: count })}</p><//>`;
}

function Chosen({ data, rest }: { data: Callables; rest: readonly string[] }) {
  const [what, ...name] = rest;
  if (what === undefined)
    return html`<${Card} label=${words('choose')}><${Empty} icon="functions" title=${words('choose')} /><//>`;
  if (what === 'op') {
    const operation = data.operations.find((one) => one.name === name[0]);
    if (operation) return html`<${OperationView} operation=${operation} programs=${data.programs} />`;
  } else if (what === 'stream') {
    const stream = data.streams.find((one) => one.name === name[0]);
    if (stream) return html`<${StreamView} stream=${stream} />`;
  } else {
    const [app, called, version] = name;
    const same = data.functions.filter((one) => one.name === called);
    // The newest version comes first.
    const one = same.find((each) => each.app === app && (version === undefined || each.version === version));
    if (one) return html`<${FunctionView} of=${one} same=${same} />`;
  }
  return html`<${Card} label=${words('gone', { name: '' })}><${Empty} icon="functions" title=${words('gone', { name: plain(name.join(' '), 120) })} /><//>`;
}
