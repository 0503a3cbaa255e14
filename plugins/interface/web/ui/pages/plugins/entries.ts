import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import type { Plugin } from '../../parts/shapes.ts';

/** Every plugin by its name, what it does, and the services it gives. */
export async function entries(): Promise<readonly Entry[]> {
  const { plugins } = await api.get<{ readonly plugins: readonly Plugin[] }>('/plugins');
  return plugins.map(({ id, summary, provides = {} }) => ({
    kind: 'plugin',
    title: id,
    note: summary,
    icon: 'plugins',
    href: link('plugins', [id]),
    words: Object.keys(provides),
  }));
}
