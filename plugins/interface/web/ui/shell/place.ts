/** The page of the address: fetched when it is first asked for, and again until it is there. */
import { html } from 'htm/preact';
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { api } from '../core/api.ts';
import { away } from '../core/live.ts';
import { link, type PageProps, START } from '../core/route.ts';
import { sheets } from '../parts/ask.ts';
import { Button, LinkButton } from '../parts/button.ts';
import { Empty, Head, Loading } from '../parts/frame.ts';
import { load, PAGES, titleOf } from './pages.ts';
import { words } from './text.ts';

const AGAIN_MS = 1_500;
let first = true;

export function Place({ page, rest, query }: { page: string } & Omit<PageProps, 'title'>) {
  const entry = PAGES.find(({ id }) => id === page);
  const [Page, setPage] = useState<FunctionComponent<PageProps> | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [turn, setTurn] = useState(0);
  const isAway = away.value;
  useEffect(() => {
    let over = false;
    const show = async () => {
      const loaded = entry && (await load(entry));
      await sheets();
      if (over || loaded === undefined) return;
      setPage(() => loaded.Page);
      setError(undefined);
    };
    show().catch((thrown: unknown) => {
      if (!over) setError(thrown);
    });
    return () => {
      over = true;
    };
  }, [turn]);
  // Its files did not come: the device may be away, or the plugin that serves them not there yet.
  useEffect(() => {
    if (error === undefined) return;
    console.warn('cannot load page', page, error);
    // The shell shows whether the device answers at all.
    void api.get('/version').catch(() => undefined);
    const timer = setTimeout(() => setTurn((now) => now + 1), AGAIN_MS);
    return () => clearTimeout(timer);
  }, [error, isAway]);
  // Reading begins at the head after a link to another page; the first page leaves the focus where the browser put it.
  useEffect(() => {
    if (Page === undefined) return;
    if (!first) document.querySelector<HTMLElement>('main h1')?.focus();
    first = false;
  }, [Page]);
  if (entry === undefined)
    return html`<${Head} title=${words('missing')} /><${Empty} icon="search" title=${words('missingPage', { name: page })}><${LinkButton} href=${link(START)}>${words('overview')}<//><//>`;
  if (Page !== undefined) return html`<${Page} title=${titleOf(entry)} rest=${rest} query=${query} />`;
  if (error === undefined) return html`<${Loading} />`;
  return html`<${Head} title=${titleOf(entry)} /><div class="waits" role="status"><${Empty} icon="info" title=${words(isAway ? 'pageLater' : 'pageFailed')}>${!isAway && html`<${Button} onClick=${() => location.reload()}>${words('reload')}<//>`}<//></div>`;
}
