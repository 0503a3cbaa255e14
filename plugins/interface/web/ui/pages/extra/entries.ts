import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { said } from '../../core/text.ts';
import type { PageOf } from './shapes.ts';

/** Pages that plugins bring. */
export async function entries(): Promise<readonly Entry[]> {
  const { pages } = await api.get<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  return pages.map(({ plugin, id, title, panels }) => ({
    kind: 'page',
    title: said(title),
    note: plugin,
    icon: 'right',
    href: link('extra', [plugin, id]),
    words: [id, ...panels.map((panel) => said(panel.title))],
  }));
}
