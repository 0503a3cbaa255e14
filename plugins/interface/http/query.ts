/** Members of a query string. Source: https://url.spec.whatwg.org/#application/x-www-form-urlencoded */

export type Query = Readonly<Record<string, string | string[]>>;

/** A member that comes more than once is an array. What cannot be decoded stays as it is: whoever checks the params names it. */
export function parseQuery(text: string): Query {
  const query = Object.create(null) as Record<string, string | string[]>;
  if (text === '') return query;
  for (const pair of text.split('&')) {
    if (pair === '') continue;
    const at = pair.indexOf('=');
    const name = decode(at < 0 ? pair : pair.slice(0, at));
    const value = at < 0 ? '' : decode(pair.slice(at + 1));
    const before = query[name];
    if (before === undefined) query[name] = value;
    else if (typeof before === 'string') query[name] = [before, value];
    else before.push(value);
  }
  return query;
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text;
  if (!spaced.includes('%')) return spaced;
  try {
    return decodeURIComponent(spaced);
  } catch {
    return spaced; // no encoding at all: the text as it came
  }
}
