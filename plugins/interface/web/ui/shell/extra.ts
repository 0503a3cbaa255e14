import { html } from 'htm/preact';
import { useEffect } from 'preact/hooks';
import { link, route } from '../core/route.ts';
import { said, type Words } from '../core/text.ts';
import { useAsk } from '../parts/ask.ts';
import { Icon } from '../parts/icon.ts';
import { operations, pluginsChanged } from '../parts/offered.ts';

interface PageOf {
  readonly plugin: string;
  readonly id: string;
  readonly title: Words;
}

/** Pages that plugins bring, in the menu: each says whose it is. */
export function Extra() {
  const { data, reload } = useAsk<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  const changes = pluginsChanged.value;
  useEffect(() => {
    if (changes !== undefined) reload(changes);
  }, [changes]);
  const { page, rest } = route.value;
  const here = page === 'extra' ? rest.slice(0, 2).join('/') : undefined;
  const beside = (operations.value ?? []).flatMap(({ plugin, name, page: view }) =>
    plugin !== undefined && view?.title !== undefined ? [{ plugin, id: name, title: view.title }] : [],
  );
  return [...(data?.pages ?? []), ...beside].map(
    ({ plugin, id, title }) =>
      html`<li key=${`${plugin}/${id}`}><a href=${link('extra', [plugin, id])} title=${plugin} aria-current=${here === `${plugin}/${id}` ? 'page' : undefined}><${Icon} name="sheet" />${said(title)}</a></li>`,
  );
}
