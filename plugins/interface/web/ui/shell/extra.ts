import { html } from 'htm/preact';
import { link, route } from '../core/route.ts';
import { said, type Words } from '../core/text.ts';
import { useAsk } from '../parts/ask.ts';
import { Icon } from '../parts/icon.ts';

interface PageOf {
  readonly plugin: string;
  readonly id: string;
  readonly title: Words;
}

/** Pages that plugins bring, in the menu: each says whose it is. */
export function Extra() {
  const { data } = useAsk<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  const { page, rest } = route.value;
  const here = page === 'extra' ? rest.join('/') : undefined;
  return (data?.pages ?? []).map(
    ({ plugin, id, title }) =>
      html`<li key=${`${plugin}/${id}`}><a href=${link('extra', [plugin, id])} title=${plugin} aria-current=${here === `${plugin}/${id}` ? 'page' : undefined}><${Icon} name="more" />${said(title)}</a></li>`,
  );
}
