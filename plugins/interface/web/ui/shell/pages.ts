/** The pages as their folders register them: the server writes each `pages/<id>/page.json` into the start page. */
import type { FunctionComponent } from 'preact';
import type { PageProps } from '../core/route.ts';
import type { Entries } from '../core/search.ts';
import { pagesText } from '../core/text.ts';
import type { IconName } from '../parts/icon.ts';
import { words } from './text.ts';

export interface PageEntry {
  /** The folder below `pages`, the first part of the address, and the key of the title. */
  readonly id: Parameters<typeof words>[0];
  readonly section: 'device' | 'build' | 'admin';
  readonly icon: IconName;
  /** Its place in the menu. */
  readonly place: number;
  /** The page is in the menu where the table of operations has this REST path. */
  readonly needs?: string;
  /** Only links lead to it. */
  readonly hidden?: true;
  /** The page is the view of this operation, without a page.ts of its own. */
  readonly view?: string;
  /** `entries.ts` says what the search finds on it. */
  readonly entries?: true;
}

export const PAGES: readonly PageEntry[] = JSON.parse(document.getElementById('pages')!.textContent!);
export const titleOf = ({ id }: PageEntry): string => words(id);
/** Files of a page are fetched when it is opened. */
export const load = ({ id, view }: PageEntry): Promise<{ readonly Page: FunctionComponent<PageProps> }> =>
  withText(
    id,
    view === undefined
      ? import(`../pages/${id}/page.ts`)
      : import('../view/page.ts').then(({ pageOf }) => ({ Page: pageOf(id, view) })),
  );
export const entriesOf = ({ id }: PageEntry): Promise<{ readonly entries: Entries }> =>
  withText(id, import(`../pages/${id}/entries.ts`));

/** Strings of the start page are there from the beginning. */
async function withText<T>(id: string, module: Promise<T>): Promise<T> {
  const [loaded] = await Promise.all([module, id === 'overview' ? undefined : pagesText()]);
  return loaded;
}
