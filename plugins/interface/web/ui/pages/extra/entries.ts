import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { said, type Words } from '../../core/text.ts';
import { operations } from '../../parts/offered.ts';
import type { PageOf } from '../../view/shapes.ts';

/** Pages that plugins bring. */
export async function entries(): Promise<readonly Entry[]> {
  const { pages } = await api.get<{ readonly pages: readonly PageOf[] }>('/plugins/pages');
  const entry = (plugin: string, id: string, title: Words, words: readonly string[]): Entry => ({
    kind: 'page',
    title: said(title),
    note: plugin,
    icon: 'right',
    href: link('extra', [plugin, id]),
    words: [id, ...words],
  });
  const inManifests = pages.map(({ plugin, id, title, panels }) =>
    entry(
      plugin,
      id,
      title,
      panels.map((panel) => said(panel.title)),
    ),
  );
  const besideOperations = (operations.peek() ?? []).flatMap(({ plugin, name, page }) =>
    plugin !== undefined && page?.title !== undefined ? [entry(plugin, name, page.title, [])] : [],
  );
  return [...inManifests, ...besideOperations];
}
