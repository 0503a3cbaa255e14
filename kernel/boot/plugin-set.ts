import { CoreError, didYouMean, type PluginManifest } from '@device-core/plugin-api';
import type { SkuFamily, SkuPlace } from '@device-core/plugin-api/inside/sku-family';
import { treeAliases } from '@device-core/plugin-api/inside/tree';
import { satisfies } from '@device-core/plugin-api/inside/versions';
import { graphNode, KERNEL_SERVICES, type PluginEntry, type Problem } from '../resolved.ts';
import { cyclesOf, providersOf } from './conflicts.ts';
import { readManifest, shown } from './manifests.ts';
import type { Report } from './sku-line.ts';

export interface PluginSetOptions {
  readonly root: string;
  /** Manifests of the tree, by plugin. */
  readonly tree: ReadonlyMap<string, string>;
  readonly removed: SkuFamily['removed'];
  /** Plugins that the operator switched off. */
  readonly disabled: readonly string[];
  /** Configuration in the line of each plugin. */
  readonly given: ReadonlyMap<string, Readonly<Record<string, unknown>>>;
  readonly report: Report;
  /** Place of the line of a plugin. */
  readonly line: (id: string) => SkuPlace;
  /** True for a plugin that was installed on the device. */
  readonly installed: (id: string) => boolean;
}

/** Plugins of one SKU against each other: services that two provide or none does, circles, and names that none offers. */
export class PluginSet {
  readonly #options: PluginSetOptions;

  constructor(options: PluginSetOptions) {
    this.#options = options;
  }

  providers(entries: readonly PluginEntry[]): void {
    const { installed, report, line } = this.#options;
    const nodes = entries.map(graphNode);
    for (const [service, ids] of providersOf(nodes)) {
      const own = ids.toSorted((a, b) => Number(installed(a)) - Number(installed(b)));
      const [first, ...others] = service in KERNEL_SERVICES ? ['the kernel', ...own] : own;
      for (const id of others) {
        const message = `plugin ${id} provides ${service}, and so does ${first}`;
        report('core', line(id), ['plugins', id], 'SERVICE_ALREADY_PROVIDED', message, id);
      }
    }
    for (const path of cyclesOf(nodes)) {
      const { code, message } = new CoreError('DEPENDENCY_CYCLE', { path: path.join(' -> ') });
      const id = path.find((one) => installed(one)) ?? path[0]!;
      report('core', line(id), ['plugins', id], code, message, id);
    }
  }

  /** Asked on the way to a complaint only: it reads every manifest of the tree. */
  #whoProvides(service: string, range: string): string {
    const { root, tree, removed: lines } = this.#options;
    const ids = [...tree].flatMap(([id, file]) => {
      const version = readManifest<PluginManifest>(file, 'plugin', () => undefined)?.value.provides?.[service];
      return version !== undefined && satisfies(version, range) ? [id] : [];
    });
    const removed = [...treeAliases(root)].filter(([, { plugin }]) => ids.includes(plugin)).map(([alias]) => alias);
    for (const id of [...ids, ...removed]) {
      const { file, line } = lines.get(id)?.() ?? {};
      if (file !== undefined) return `plugin ${id} provides it, and ${shown(file)}:${line} removes it`;
    }
    const offers = ids.map((id) => `"${id}: ^1.0.0"`).join(' or ');
    return `no plugin of this SKU provides it${offers ? `; the line ${offers} would` : ''}`;
  }

  /** Names that settings of the SKU take from other plugins, against those that its plugins offer. */
  names(entries: readonly PluginEntry[]): void {
    const { given, report, line } = this.#options;
    for (const { id, manifest } of entries)
      for (const [path, { kind, service }] of Object.entries(manifest.refers ?? {})) {
        const keys = path.split('.');
        const named = keys.reduce<unknown>((at, key) => Object(at)[key], given.get(id));
        const offers = new Set(entries.flatMap((entry) => offersOf(entry, kind, service)));
        if (!Array.isArray(named) || offers.has('*')) continue;
        for (const [index, name] of named.entries()) {
          if (offers.has(name)) continue;
          const there = offers.size > 0 ? `it has ${[...offers].join(', ')}` : 'it has none';
          const message = `configuration ${id}.${path} names the ${kind} ${name}, and no plugin of this SKU offers it: ${there}${didYouMean(String(name), offers)}`;
          // The others of the list are used: a device that runs goes on.
          report('nothing', line(id), ['plugins', id, 'config', ...keys, index], 'SKU_INVALID', message, id);
        }
      }
  }

  /** Reports services that are missing. Returns the problems that the operator meant: the provider was switched off. */
  services(entries: readonly PluginEntry[], all: readonly PluginEntry[]): readonly Problem[] {
    const { disabled, report, line } = this.#options;
    const meant: Problem[] = [];
    const offers = entries.flatMap(({ id, manifest }) =>
      Object.entries(manifest.provides ?? {}).map(([service, version]) => ({ service, version, by: `plugin ${id}` })),
    );
    for (const [service, version] of Object.entries(KERNEL_SERVICES))
      offers.push({ service, version, by: 'the kernel' });
    for (const { id, manifest } of entries) {
      for (const [service, range] of Object.entries(manifest.requires ?? {})) {
        const offer = offers.find((one) => one.service === service);
        if (offer && satisfies(offer.version, range)) continue;
        const off = all.find((one) => disabled.includes(one.id) && one.manifest.provides?.[service]);
        const absent = off ? `plugin ${off.id} provides it, and is switched off` : this.#whoProvides(service, range);
        const reason = offer ? `${offer.by} provides ${offer.version}` : absent;
        const { code, message } = new CoreError('SERVICE_MISSING', { service, range, reason });
        const problem = report('nothing', line(id), ['plugins', id], code, `plugin ${id}: ${message}`, id);
        if (off && !offer) meant.push(problem);
      }
    }
    return meant;
  }
}

/** A plugin from outside of the tree may say nothing of what it brings. */
function offersOf({ tree, manifest }: PluginEntry, kind: string, service: string): readonly string[] {
  if (manifest.offers) return manifest.offers[kind] ?? [];
  return !tree && manifest.requires?.[service] !== undefined ? ['*'] : [];
}
