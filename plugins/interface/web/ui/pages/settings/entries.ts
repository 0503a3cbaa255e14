/** Every setting by name, and the question how one is undone. */
import { api } from '../../core/api.ts';
import { link } from '../../core/route.ts';
import type { Entry } from '../../core/search.ts';
import { type Setting, type Settings, titleOf, valueText } from './model.ts';
import { words } from './text.ts';

/** Pages of 500; who has more settings finds the rest on the page itself. */
const PAGES = 4;

export async function entries(): Promise<readonly Entry[]> {
  const found: Entry[] = [
    {
      kind: 'question',
      title: words('undoQuestion'),
      note: words('undoNote'),
      href: link('settings'),
      icon: 'undo',
      words: [
        'undo this setting',
        'reset revert restore default back changed override',
        'rückgängig zurücksetzen zurück',
        'annuler rétablir défaut',
      ],
    },
  ];
  let after: string | undefined;
  for (let page = 0; page < PAGES; page++) {
    const { keys, next } = await api.get<Settings>('/config-descriptions', { limit: 500, after });
    found.push(...keys.map(entryOf));
    if (next === undefined) break;
    after = next;
  }
  return found;
}

function entryOf(setting: Setting): Entry {
  const { section, key, schema } = setting;
  const value = setting.secret || setting.value === undefined ? '' : `: ${valueText(setting.value)}`;
  return {
    kind: 'setting',
    title: titleOf(setting),
    note: `${key}${value}`,
    href: link('settings', [section.kind, section.id], { key }),
    icon: 'settings',
    words: [section.id, ...(typeof schema.description === 'string' ? [schema.description] : [])],
  };
}
