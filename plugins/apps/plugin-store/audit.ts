/** plugins.audit: what each guest may, what it used, and what was refused to it. */
import { CoreError, callerName, implies, maybe } from '@device-core/plugin-api';
import { rightTo } from '@device-core/plugin-api/inside/consent';
import type { Installed } from '@device-core/plugin-api/inside/installed';
import type { Grants, Refusal } from '@device-core/plugin-api/inside/services/grants';
import type { PluginUse } from '@device-core/plugin-api/inside/services/plugin-manager';
import type { JsonSchema, Operation } from '@device-core/plugin-api/services/operations';
import { claimsOf, type News, newsOf } from './claims.ts';
import type { UseHistory } from './use-history.ts';

/** Opened inside of the sandbox: the Core is not asked when they are used. */
const UNSEEN = /^network($|[.:])/;

/** The greatest risk first; services are in their own order. */
const RISKS: readonly AuditedRight['kind'][] = ['level', 'service', 'tap', 'capability', 'writes', 'reads', 'other'];

export interface AuditedRight {
  readonly kind: 'capability' | 'level' | 'reads' | 'writes' | 'service' | 'tap' | 'other';
  readonly name: string;
  readonly summary: string;
  readonly granted: boolean;
  /** Absent where the Core does not see the use. */
  readonly count?: number;
  readonly last?: number;
}

export interface AuditedPlugin {
  readonly id: string;
  readonly version: string;
  readonly isolation: string;
  readonly unit?: string;
  readonly origin: 'installed' | 'sku';
  readonly grantedAt?: number;
  readonly grantedBy?: string;
  readonly since: number;
  readonly rights: readonly AuditedRight[];
  readonly refused: readonly Pick<Refusal, 'capability' | 'hint' | 'count' | 'first' | 'ts'>[];
}

const DESCRIPTION = [
  'Rights are listed with the greatest risk first.',
  'Uses are counted by the Core, over restarts: a crash loses ten minutes of them at most.',
  '`refused` holds what is among the last refusals of the device, since the Core started.',
  'Plugins of the Core, and those that the SKU runs in its thread, have no border and are not listed.',
].join(' ');
const TIME = 'milliseconds since the Unix epoch';
const time = (description: string): JsonSchema => ({ type: 'integer', description: `${description}; ${TIME}` });
const RIGHT: JsonSchema = {
  type: 'object',
  required: ['kind', 'name', 'summary', 'granted'],
  properties: {
    kind: { enum: ['capability', 'level', 'reads', 'writes', 'service', 'tap', 'other'] },
    name: { type: 'string' },
    summary: { type: 'string', description: 'the claim in words' },
    granted: { type: 'boolean' },
    count: { type: 'integer', description: 'uses; absent where the Core does not see them: files, the network' },
    last: time('the last use'),
  },
};
const REFUSED: JsonSchema = {
  type: 'object',
  required: ['capability', 'hint', 'count', 'first', 'ts'],
  properties: {
    capability: { type: 'string', description: '`service.<id>` of a service, `operation.<name>` of a foreign name' },
    hint: { type: 'string', description: 'what would grant it' },
    count: { type: 'integer' },
    first: time('the first time'),
    ts: time('the last time'),
  },
};

interface AuditSources {
  readonly history: UseHistory;
  readonly installed: () => Installed;
  readonly grants: Grants;
  /** Units of the system, by plugin. */
  readonly units: () => Promise<Readonly<Record<string, string>>>;
}

export function auditOperation({ history, installed, grants, units }: AuditSources): Operation<never, unknown> {
  return {
    name: 'plugins.audit',
    summary: 'rights of each plugin from outside, their use, and what was refused to it',
    description: DESCRIPTION,
    access: 'The operator only.',
    params: { type: 'object' },
    result: {
      type: 'object',
      required: ['plugins'],
      properties: {
        plugins: {
          type: 'array',
          items: {
            type: 'object',
            required: ['id', 'version', 'isolation', 'origin', 'since', 'rights', 'refused'],
            properties: {
              id: { type: 'string' },
              version: { type: 'string' },
              isolation: { enum: ['inline', 'worker', 'process'] },
              unit: { type: 'string', description: 'its unit of systemd, where it runs as one' },
              origin: { enum: ['installed', 'sku'], description: 'installed on the device, or listed by the SKU' },
              grantedAt: time('the install of this version'),
              grantedBy: { type: 'string', description: 'the caller who installed it, where that is known' },
              since: time('begin of the count'),
              rights: { type: 'array', items: RIGHT },
              refused: { type: 'array', items: REFUSED },
            },
          },
        },
      },
    },
    cli: { hide: true },
    rest: { method: 'GET', path: '/plugins/audit' },
    errors: ['CALLER_DENIED'],
    async run(_params, { caller }) {
      if (caller.kind !== 'operator')
        throw new CoreError('CALLER_DENIED', {
          verb: 'see what plugins used',
          reason: `${callerName(caller)} is not the operator`,
        });
      const [guests, refusals, unitOf] = await Promise.all([history.guests(), grants.refusals(), units()]);
      const plugins = guests.map(({ plugin: id, isolation, manifest, granted, since, uses }): AuditedPlugin => {
        const line = installed().plugins[id];
        const { installedAt: grantedAt, installedBy: grantedBy } = line ?? {};
        const rights = newsOf(claimsOf(manifest, isolation), undefined)
          .map((one) => rightOf(one, uses, granted))
          .toSorted((a, b) => RISKS.indexOf(a.kind) - RISKS.indexOf(b.kind));
        const refused = refusals
          .filter(({ caller: { kind, id: other } }) => kind === 'plugin' && other === id)
          .map(({ capability, hint, count, first, ts }) => ({ capability, hint, count, first, ts }));
        return {
          id,
          version: manifest.version,
          isolation,
          ...maybe({ unit: unitOf[id] }),
          origin: granted ? 'installed' : 'sku',
          ...maybe({ grantedAt, grantedBy }),
          since,
          rights,
          refused,
        };
      });
      return { plugins };
    },
  };
}

function rightOf(
  { does, capability, claim }: News,
  uses: readonly PluginUse[],
  granted: readonly string[] | undefined,
): AuditedRight {
  const { kind, name, summary }: Pick<AuditedRight, 'kind' | 'name' | 'summary'> = claim
    ? { ...claim, summary: does }
    : { kind: 'capability', name: capability!, summary: rightTo(capability!).summary };
  const right = { kind, name, summary, granted: kind !== 'service' || granted?.includes(name) !== false };
  const mine = uses.filter((use) => isUseOf(use, right));
  const seen = kind === 'service' || kind === 'tap' || (kind === 'capability' && !UNSEEN.test(name));
  if (mine.length === 0) return { ...right, ...maybe({ count: seen ? 0 : undefined }) };
  const count = mine.reduce((sum, use) => sum + use.count, 0);
  return { ...right, count, last: Math.max(...mine.map(({ last }) => last)) };
}

function isUseOf(use: PluginUse, { kind, name }: Pick<AuditedRight, 'kind' | 'name'>): boolean {
  if (kind === 'capability') return use.kind === 'capability' && implies(name, use.name);
  return use.name === name && use.kind === (kind === 'tap' ? 'hook' : kind);
}
