/** An address below this page, for `href`. */
export function link(page: string, rest: readonly string[] = [], query: Readonly<Record<string, string>> = {}): string {
  const search = new URLSearchParams(query);
  const path = [page, ...rest].map(encodeURIComponent).join('/');
  return search.size === 0 ? `#/${path}` : `#/${path}?${search}`;
}
