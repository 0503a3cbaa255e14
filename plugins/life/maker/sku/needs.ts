/** Providers and dependents of the services of a SKU. Pure. */
import { type Provider, providersOf, type ResolvedPlugin, type ResolvedSku } from './resolved.ts';

export interface Offer {
  readonly service: string;
  readonly version: string;
  /** Plugins that do not start without it. */
  readonly neededBy: readonly string[];
  /** Plugins that use it where it is there. */
  readonly usedBy: readonly string[];
}

export interface Need {
  readonly service: string;
  readonly range: string;
  /** Providers; the list may be empty. */
  readonly by: readonly string[];
}

export function offersOf({ plugins }: ResolvedSku, provides: Readonly<Record<string, string>>): readonly Offer[] {
  const asking = (member: 'requires' | 'optional', service: string) =>
    plugins.filter((one) => one[member][service] !== undefined).map(({ id }) => id);
  return Object.entries(provides).map(([service, version]) => ({
    service,
    version,
    neededBy: asking('requires', service),
    usedBy: asking('optional', service),
  }));
}

export function needsOf(resolved: ResolvedSku, wanted: Readonly<Record<string, string>>): readonly Need[] {
  const providers = providersOf(resolved);
  return Object.entries(wanted).map(([service, range]) => ({
    service,
    range,
    by: (providers.get(service) ?? []).map(({ id }: Provider) => id),
  }));
}

/** Plugins that would wait if this one were not there, and those that wait for them. */
export function waitingWithout(resolved: ResolvedSku, id: string): readonly string[] {
  const gone = new Set([id]);
  const left = (): readonly ResolvedPlugin[] => resolved.plugins.filter((one) => one.enabled && !gone.has(one.id));
  for (;;) {
    const providers = providersOf({ ...resolved, plugins: left() });
    const before = providersOf(resolved);
    const next = left().find(({ requires }) =>
      Object.keys(requires).some((service) => before.has(service) && !providers.has(service)),
    );
    if (!next) return [...gone].filter((one) => one !== id).sort();
    gone.add(next.id);
  }
}
