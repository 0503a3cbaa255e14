/** Status for operators: the state of the update, its changes, and the running image. */
import { maybe } from '@device-core/plugin-api';
import type { SlotsStatus } from '@device-core/plugin-api/inside/services/slots';
import type { Updater } from './updater.ts';

export async function statusOf(updater: Updater): Promise<object> {
  const { journal, config, leases, services } = updater.parts;
  const slots = await updater.facts.slots().catch(() => undefined); // nobody provides them, or the helper is silent: said as `none`
  const bytes = await updater.facts.toFetch();
  const { since, wanted, rule, order, hold, checkedAt } = journal.record;
  const apps = (await services.apps?.list().catch(() => [])) ?? []; // apps that are restarting restart anyway
  return {
    ...journal.told,
    since,
    channel: config.channel,
    automatic: config.automatic,
    leases: leases.list(),
    ...maybe({ rule, order, hold, retry: journal.retry, checkedAt }),
    ...(config.url !== undefined && { repository: withoutSecrets(config.url) }),
    running: runningOf(slots),
    ...(wanted && {
      update: {
        version: wanted.version,
        image: wanted.image,
        severity: wanted.severity,
        kind: wanted.kind,
        source: wanted.source,
        since: wanted.since,
        claims: wanted.asks.claims,
        forms: wanted.asks.forms,
        ...maybe({ channel: wanted.channel, notes: wanted.notes, bytes }),
        restarts: ['the Core', ...apps.filter(({ state }) => state === 'running').map(({ id }) => id)],
        wayBack: wanted.asks.forms.every(({ way }) => way === 'both'),
        ...(wanted.asks.digest !== undefined && {
          digest: wanted.asks.digest,
          accepted: wanted.accepted === wanted.asks.digest,
        }),
      },
    }),
  };
}

function runningOf(slots: SlotsStatus | undefined): object {
  if (!slots) return { provider: 'none' };
  const running = slots.slots.find(({ booted }) => booted);
  const other = slots.slots.find(({ booted }) => !booted);
  return {
    provider: slots.provider,
    ...(running && { slot: running.name }),
    ...(running?.version !== undefined && { version: running.version }),
    ...(other && { other: [other.state, other.version].filter((part) => part !== undefined).join(' ') }),
  };
}

export function withoutSecrets(url: string): string {
  try {
    const { origin, pathname } = new URL(url);
    return `${origin}${pathname}`;
  } catch {
    return 'an address that cannot be read';
  }
}
