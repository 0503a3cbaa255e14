/** apps.available, apps.fetch, plugins.available, plugins.fetch: what the repository offers beside images. Installing is for the stores. */

import { CoreError, type CoreErrorCode, callerName, maybe } from '@device-core/plugin-api';
import type { PackageNoun } from '@device-core/plugin-api/inside/packages';
import type { ChangeData, ChangeMaker } from '@device-core/plugin-api/inside/services/changes';
import { exactly, STATE_ERRORS } from '@device-core/plugin-api/operation-kit';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import type { Packages, Wanted } from './packages.ts';
import type { Parts } from './parts.ts';
import type { OfferedPackage } from './repository.ts';

const LOOK_MS = 180_000;
/** Longest list; packages beyond it are counted. */
const MOST_LISTED = 256;
const TEXT: JsonSchema = { type: 'string' };
const BYTES: JsonSchema = { type: 'integer', minimum: 0 };
const VERSION: JsonSchema = {
  type: 'string',
  minLength: 1,
  maxLength: 64,
  description: 'the newest release if absent',
};
const OFFER: JsonSchema = {
  type: 'object',
  required: ['id', 'version', 'title', 'bytes', 'publishedAt'],
  properties: {
    id: TEXT,
    version: TEXT,
    title: TEXT,
    bytes: BYTES,
    publishedAt: { type: 'integer', description: 'milliseconds since the Unix epoch' },
  },
};
const LOOKS: readonly CoreErrorCode[] = [
  ...(['FETCH_REFUSED', 'REPOSITORY_FAILED', 'REPOSITORY_UNTRUSTED', 'SLOTS_UNAVAILABLE', ...STATE_ERRORS] as const),
];
/** One after the other: what is fetched shares a folder and a network. */
const SUBJECT = 'packages';
/** As the channels are called; their module is loaded by the first call. */
const PLURALS = { app: 'apps', plugin: 'plugins' } as const satisfies Record<PackageNoun, string>;
const NOUNS = ['app', 'plugin'] as const;
const CAPABILITIES = { app: 'system.apps', plugin: 'system.plugins' } as const;

interface Fetch extends Wanted {
  readonly anyway?: boolean;
}

/** Recorded data of a change. */
interface Data extends ChangeData {
  readonly offer: OfferedPackage;
  readonly anyway: boolean;
}

type Row = Operation<never, unknown>;

/** `packages` is loaded by the first call that needs it. */
export function packageOperations(parts: Parts, packages: () => Promise<Packages>): readonly Row[] {
  return NOUNS.flatMap((noun) => [availableOf(noun, packages), fetchOf(noun, parts, packages)]);
}

function availableOf(noun: PackageNoun, packages: () => Promise<Packages>): Row {
  const plural = PLURALS[noun];
  return {
    name: `${plural}.available`,
    summary: `${plural} that the repository offers to this device`,
    description: 'Of each the newest release that runs here. Each call looks into the repository.',
    params: exactly({}),
    result: {
      type: 'object',
      required: ['packages', 'more'],
      properties: {
        packages: { type: 'array', maxItems: MOST_LISTED, items: OFFER },
        more: { ...BYTES, description: 'how many there are beyond those' },
      },
    },
    capability: CAPABILITIES[noun],
    cli: {
      columns: ['id', 'version', 'title', 'bytes', ['PUBLISHED', '{publishedAt:date}']],
      empty: `the repository offers no ${plural} to this device`,
      hide: ['more'],
    },
    rest: { method: 'GET', path: `/${plural}/available` },
    errors: LOOKS,
    timeoutMs: LOOK_MS,
    async run(_: object, call) {
      const all = await (await packages()).available(noun, call);
      const listed = all.slice(0, MOST_LISTED).map(({ id, version, title, bytes, publishedAt }) => ({
        id,
        version,
        title,
        bytes,
        publishedAt: publishedAt * 1000,
      }));
      return { packages: listed, more: all.length - listed.length };
    },
  };
}

function fetchOf(noun: PackageNoun, parts: Parts, packages: () => Promise<Packages>): Row {
  const plural = PLURALS[noun];
  const fetch: Operation<Fetch, unknown> = {
    name: `${plural}.fetch`,
    summary: `fetch the package of ${noun === 'app' ? 'an app' : 'a plugin'} from the repository`,
    description: `It is looked for before the answer. The rest is a change, whose result has the source for ${plural}.install. It lies there for an hour.`,
    params: {
      ...exactly({ id: TEXT }),
      properties: {
        id: { type: 'string', minLength: 1, maxLength: 100 },
        version: VERSION,
        anyway: { type: 'boolean', description: 'also on a network that costs money' },
      },
    },
    result: {
      type: 'object',
      properties: {
        change: { type: 'string', description: 'id of the change; changes.get tells how far it is' },
        source: { type: 'string', description: 'of the change: absolute path on the device' },
        id: TEXT,
        version: TEXT,
        bytes: BYTES,
      },
    },
    capability: CAPABILITIES[noun],
    cli: { hide: true },
    rest: { method: 'POST', path: `/${plural}/fetch`, status: 202 },
    errors: [...LOOKS, 'PACKAGE_NOT_FOUND', 'PLATFORM_UNSUPPORTED', 'BUSY', 'UNAVAILABLE'],
    timeoutMs: LOOK_MS,
    async run({ id, version, anyway = false }, call) {
      const them = await packages();
      const offer = await them.find(noun, { id, ...maybe({ version }) }, call);
      await them.allow(offer, anyway);
      const { changes } = parts.services;
      if (!changes)
        throw new CoreError('UNAVAILABLE', {
          what: `${plural}.fetch`,
          reason: 'service changes is missing: enable plugin changes in the SKU',
        });
      const data: Data = { offer, anyway };
      const summary = `fetch ${noun} ${id} ${offer.version}`;
      const by = callerName(call.caller);
      return { change: await changes.begin({ kind: `${plural}.fetch`, subject: SUBJECT, summary, data, by }) };
    },
  };
  return fetch as Row;
}

/** Makers of the changes. Before the only step is done, no effect is visible. */
export function packageMakers(packages: () => Promise<Packages>): readonly ChangeMaker[] {
  return NOUNS.map((noun) => ({
    kind: `${PLURALS[noun]}.fetch`,
    capability: CAPABILITIES[noun],
    steps: [{ name: 'fetch', summary: 'fetching' }],
    commit: 'fetch',
    async perform(_step, data, change) {
      const { offer, anyway } = data as Data;
      return { result: await (await packages()).fetch(offer, anyway, change) };
    },
    undo: async (_step, _data, change) => (await packages()).leave(change),
  }));
}
