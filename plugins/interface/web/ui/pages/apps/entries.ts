import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { clean } from '../../parts/said.ts';
import type { AppStatus } from './shapes.ts';
import { text } from './text.ts';

/** Each app by its name and its title, and what one does with apps. */
export async function entries(): Promise<readonly Entry[]> {
  const { apps } = await api.get<{ readonly apps: readonly AppStatus[] }>('/apps');
  const install: Entry = {
    kind: 'page',
    title: text('install'),
    note: text('installLead'),
    icon: 'upload',
    href: link('apps', ['install']),
  };
  return [
    install,
    ...apps.map(
      ({ id, title, state, denied }): Entry => ({
        kind: 'app',
        title: clean(title || id),
        note: `${clean(id)}, ${text(state)}`,
        icon: 'apps',
        href: link('apps', [id]),
        words: denied.map(({ capability }) => capability),
      }),
    ),
  ];
}
