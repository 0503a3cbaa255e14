/** The search: fetched, and its sources asked, when somebody opens it. A combobox with a list that is moved through from the field. */
import { html } from 'htm/preact';
import { useEffect, useId, useMemo, useRef, useState } from 'preact/hooks';
import { fetched } from '../core/api.ts';
import { link } from '../core/route.ts';
import { type Entry, type EntryKind, find, type Index, indexOf } from '../core/search.ts';
import { language } from '../core/text.ts';
import { messageOf, sheet } from '../parts/ask.ts';
import { Icon } from '../parts/icon.ts';
import { entriesOf, type PageEntry, titleOf } from './pages.ts';
import { seek } from './palette-text.ts';
import { questions } from './questions.ts';

sheet('shell/palette.css');

/** Sources that answered, and those that did not. */
interface Sources {
  readonly entries: readonly Entry[];
  readonly waiting: boolean;
  readonly failed: readonly string[];
}

export function Palette({ pages, onClose }: { pages: readonly PageEntry[]; onClose: () => void }) {
  const box = useRef<HTMLDialogElement>(null);
  const list = useRef<HTMLUListElement>(null);
  const id = useId();
  const [query, setQuery] = useState('');
  const [at, setAt] = useState(0);
  const { entries, waiting, failed } = useSources(pages);
  const index: Index = useMemo(() => indexOf(entries), [entries]);
  const shown = useMemo(
    () =>
      query.trim() === '' ? entries.filter(({ kind }) => kind === 'question' || kind === 'page') : find(index, query),
    [index, query],
  );
  const chosen = Math.min(at, Math.max(0, shown.length - 1));
  useEffect(() => {
    box.current?.showModal();
  }, []);
  useEffect(() => {
    list.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen, shown]);
  // The browser gives the focus back to where it was.
  const shut = () => box.current?.close();
  const open = (entry: Entry | undefined) => {
    if (entry === undefined) return;
    shut();
    location.hash = entry.href;
  };
  const key = (event: KeyboardEvent) => {
    const to = { ArrowDown: chosen + 1, ArrowUp: chosen - 1, PageDown: chosen + 8, PageUp: chosen - 8 }[event.key];
    if (event.key === 'Enter' && !event.isComposing) open(shown[chosen]);
    else if (to !== undefined) setAt(Math.max(0, Math.min(shown.length - 1, to)));
    else return;
    event.preventDefault();
  };
  const outside = (event: MouseEvent) => {
    if (event.target === box.current) shut();
  };
  const count = query.trim() === '' ? seek('keys') : seek('found', { n: shown.length });
  return html`<dialog ref=${box} class="palette" aria-label=${seek('search')} onClose=${onClose} onClick=${outside}><div class="palette-field"><${Icon} name="search" /><input type="search" role="combobox" aria-expanded="true" aria-controls=${`${id}-list`} aria-autocomplete="list" aria-activedescendant=${shown[chosen] ? `${id}-${chosen}` : undefined} aria-label=${seek('search')} placeholder=${seek('placeholder')} autocomplete="off" spellcheck="false" value=${query} onInput=${(
    event: Event,
  ) => {
    setQuery((event.currentTarget as HTMLInputElement).value.slice(0, 200));
    setAt(0);
  }} onKeyDown=${key} /></div><ul ref=${list} id=${`${id}-list`} role="listbox" aria-label=${seek('results')}>${shown.map((entry, place) => html`<${Option} key=${`${entry.kind} ${entry.href} ${entry.title}`} id=${`${id}-${place}`} entry=${entry} chosen=${place === chosen} onOpen=${() => open(entry)} />`)}</ul><p class="palette-foot" role="status">${waiting ? seek('looking') : shown.length === 0 ? seek('none') : count}${failed.length > 0 && html` · ${seek('missing', { what: failed.join(', ') })}`}</p></dialog>`;
}

function Option(props: { id: string; entry: Entry; chosen: boolean; onOpen: () => void }) {
  const { kind, title, note, icon } = props.entry;
  return html`<li id=${props.id} role="option" aria-selected=${props.chosen} onClick=${props.onOpen}><${Icon} name=${icon ?? ICONS[kind]} /><span class="palette-title"><span>${title}</span>${note && html`<span class="note">${note}</span>`}</span><span class="palette-kind">${seek(kind)}</span></li>`;
}

const ICONS = {
  question: 'info',
  page: 'right',
  app: 'apps',
  plugin: 'plugins',
  setting: 'settings',
  refusal: 'denials',
  function: 'functions',
  operation: 'functions',
  event: 'events',
} as const satisfies Record<EntryKind, string>;

/** Pages and questions at once; what pages offer when it comes. One that fails leaves the rest. */
function useSources(pages: readonly PageEntry[]): Sources {
  const own = useMemo(() => ownEntries(pages), [pages, language.value]);
  const [found, setFound] = useState<Sources>({ entries: [], waiting: true, failed: [] });
  useEffect(() => {
    let over = false;
    const offering = pages.filter((page) => page.entries);
    let left = offering.length;
    const add = (entries: readonly Entry[], failed?: string) => {
      left -= 1;
      if (over) return;
      setFound((now) => ({
        entries: [...now.entries, ...entries],
        waiting: left > 0,
        failed: failed === undefined ? now.failed : [...now.failed, failed],
      }));
    };
    if (left === 0) setFound({ entries: [], waiting: false, failed: [] });
    for (const page of offering)
      fetched(entriesOf(page))
        .then((module) => module.entries())
        .then(
          (entries) => add(entries),
          (thrown) => add([], `${titleOf(page)} (${messageOf(thrown)})`),
        );
    return () => {
      over = true;
    };
  }, [pages]);
  const entries = useMemo(() => [...own, ...found.entries], [own, found.entries]);
  return { ...found, entries };
}

function ownEntries(pages: readonly PageEntry[]): readonly Entry[] {
  const titles = pages
    .filter(({ hidden }) => !hidden)
    .map(
      (page): Entry => ({ kind: 'page', title: titleOf(page), href: link(page.id), words: [page.id], icon: page.icon }),
    );
  return [...questions((page) => pages.some(({ id }) => id === page)), ...titles];
}
