/** Operations with a good request each, as data of the compatibility suite: the requests of the REST pages, asked by the suite. */

import { type Asked, type Place, REQUESTS } from './examples/requests.ts';
import type { Input } from './input.ts';

export const SUITE = '../examples/cts/operations.json';
const APP = 'org.device-core.cts';

/** Requests that mean the suite itself, where those of the pages mean the demo apps. */
const OWN: Readonly<Record<string, Pick<Asked, 'path' | 'body' | 'fails'>>> = {
  'functions.call': { path: '/functions/call', body: { name: 'cts.echo', inputs: { text: 'Tea' } } },
  'functions.describe': { path: '/functions/cts.echo' },
  'apps.diff': { path: '/apps/diff', body: { source: '/absent' } },
  'timers.set': { path: '/timers', body: { seconds: 5 } },
};

/** Members of earlier answers stand as `${operation.member}` in a request; the suite puts them in. */
const place: Place = {
  said: (operation) => new Proxy({}, { get: (_, member) => '${'.concat(operation, '.', String(member), '}') }),
  guest: () => '/absent',
};

interface Row {
  readonly name: string;
  readonly capability?: string;
  readonly path?: string;
  readonly body?: unknown;
  /** Status that answers the request on any device. */
  readonly fails?: number;
}

/** In the order of the requests, which build on each other. */
export function suiteFile({ operations }: Input): string {
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  const rows = Object.entries(REQUESTS).flatMap(([name, asked]): readonly Row[] => {
    const operation = byName.get(name);
    if (operation?.rest === undefined) return [];
    const { path, body, fails } = { ...asked, ...OWN[name] };
    const made = bodyOf(body);
    const request = made === undefined ? {} : { path: own(path), ...own(made) };
    return [
      {
        name,
        ...(operation.capability === undefined ? {} : { capability: operation.capability }),
        ...request,
        ...(fails === undefined ? {} : { fails }),
      },
    ];
  });
  return `[\n${rows.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;
}

/** Undefined where it is made of more than the answers of a device. */
function bodyOf(body: Asked['body']): { readonly body?: unknown } | undefined {
  if (typeof body !== 'function') return body === undefined ? {} : { body };
  try {
    return { body: body(place) };
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

const own = <T>(value: T): T =>
  JSON.parse(
    JSON.stringify(value)
      .replaceAll(/com\.example\.(?:agenda|flash-reader)/g, APP)
      .replaceAll('agenda.count', 'cts.count'),
  ) as T;
