/** Address of the reader: `#/apps/com.example?tab=grants` is page `apps`, the rest `['com.example']`, and a query. */
import { signal } from '@preact/signals';
import { link } from './link.ts';

export { link };

export interface Route {
  readonly page: string;
  readonly rest: readonly string[];
  readonly query: URLSearchParams;
}

/** Props of a page: its title, and the rest of its address, `['com.example']` of `#/apps/com.example`. */
export interface PageProps extends Pick<Route, 'rest' | 'query'> {
  readonly title: string;
}

export const START = 'overview';

function read(): Route {
  // The code of `devicectl web` stands where pages stand; `sign-in.ts` takes it away.
  if (location.hash.startsWith('#code=')) return { page: START, rest: [], query: new URLSearchParams() };
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  const [page = '', ...rest] = path
    .split('/')
    .filter((one) => one !== '')
    .map(decoded);
  return { page: page || START, rest, query: new URLSearchParams(query) };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // Half an escape: as it stands.
    return text;
  }
}

export const route = signal<Route>(read());
addEventListener('hashchange', () => {
  route.value = read();
});

export function go(page: string, rest: readonly string[] = [], query: Readonly<Record<string, string>> = {}): void {
  location.hash = link(page, rest, query);
}
