/** Operations with a good request each, as data of the compatibility suite: the requests of the REST pages, asked by the suite. */

import { type Asked, type Place, REQUESTS, type Said } from './examples/requests.ts';
import type { Input } from './input.ts';

export const SUITE = '../examples/cts/operations.json';
const APP = 'org.device-core.cts';

/** Requests that mean the suite itself, where those of the pages mean the demo apps. */
const OWN: Readonly<Record<string, Pick<Asked, 'path' | 'body'>>> = {
  'apps.diff': { path: '/apps/diff', body: { source: '/absent' } },
  'functions.call': { path: '/functions/call', body: { name: 'cts.echo', inputs: { text: 'Tea' } } },
  'functions.describe': { path: '/functions/cts.echo' },
};

/** Requests that leave the device as it was: values that it told, and what the suite itself made. */
const CAREFUL: Readonly<Record<string, (said: Said) => Pick<Asked, 'path' | 'body'>>> = {
  'audio.mute': (said) => ({ path: '/audio/mute', body: { muted: said('audio.state').muted } }),
  'audio.setVolume': (said) => ({ path: '/audio/volume', body: { volume: said('audio.volume').volume } }),
  'display.brightness': (said) => ({ path: '/display/brightness', body: { level: said('display.state').brightness } }),
  'display.power': (said) => ({ path: '/display/power', body: { power: said('display.state').power } }),
  'alarms.change': (said) => ({ path: `/alarms/${said('alarms.set').id}`, body: { on: false } }),
  'alarms.cancel': (said) => ({ path: `/alarms/${said('alarms.set').id}` }),
  'timers.cancel': (said) => ({ path: `/timers/${said('timers.set').id}` }),
  'update.release': (said) => ({ path: `/update/inhibit/${said('update.inhibit').id}` }),
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

/** In the order of the requests, which build on each other; those that only read come first. */
export function suiteFile({ operations }: Input): string {
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  const rows = Object.entries(REQUESTS).flatMap(([name, asked]): readonly Row[] => {
    const operation = byName.get(name);
    if (operation?.rest === undefined) return [];
    const careful = CAREFUL[name]?.(place.said);
    const { path, body } = careful ?? OWN[name] ?? asked;
    const fails = careful === undefined ? asked.fails : undefined;
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
  const reads = ({ name }: Row) => byName.get(name)?.rest?.method === 'GET';
  const ordered = [...rows.filter(reads), ...rows.filter((row) => !reads(row))];
  return `[\n${ordered.map((row) => JSON.stringify(row)).join(',\n')}\n]\n`;
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
