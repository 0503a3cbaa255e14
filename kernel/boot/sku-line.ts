/** Details of a plugin's line in a SKU. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { ErrorCode, Isolation, PluginManifest, SkuPlugin } from '@device-core/plugin-api';
import type { SkuPlace } from '@device-core/plugin-api/inside/sku-family';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import { HEAP_MB } from '../isolation/entry-data.ts';
import type { PluginEntry, Problem } from '../resolved.ts';

/** Reports a problem of a line or a manifest. A plugin that was installed stops itself at the most, never the Core. */
export type Report = (
  wouldStop: Problem['stops'],
  place: SkuPlace,
  path: YamlPath,
  code: ErrorCode,
  message: string,
  plugin?: string,
) => Problem;

/** From the least isolation to the most. */
export const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

/** The manifest itself, or the one in the folder. */
export function manifestOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, 'plugin.yaml') : path;
}

/** Reason why a plugin cannot run at a level; undefined if it can. */
export function isolationProblem(manifest: PluginManifest, level: Isolation): string | undefined {
  const { isolation: floor = 'inline', refuses } = manifest;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(floor)) return `its manifest asks for ${floor} at least`;
  return level === 'inline' ? undefined : refuses?.[level];
}

/** Name of the worker that a plugin shares. A plugin of the tree may ask for it in its manifest; for others the SKU has to name it. */
export function shareOf(line: SkuPlugin, manifest: PluginManifest, level: Isolation): string | undefined {
  const { share = line.path === undefined ? manifest.share : undefined } = line;
  return level === 'worker' && share ? share : undefined;
}

/** Adds up the heaps of the plugins that share a worker; a change of the sum restarts them all. */
export function withHeaps(entries: readonly PluginEntry[]): readonly PluginEntry[] {
  const heaps = new Map<string, number>();
  for (const { share, budget, enabled } of entries) {
    if (!share || !enabled) continue;
    heaps.set(share.name, (heaps.get(share.name) ?? 0) + (budget?.heapMB ?? HEAP_MB));
  }
  return entries.map((entry) => {
    const { share } = entry;
    return share ? { ...entry, share: { ...share, heapMB: heaps.get(share.name) ?? HEAP_MB } } : entry;
  });
}

/** Sets a member of a configuration, at any depth. */
export function setMember(
  target: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
  append: boolean,
): void {
  const [key = '', ...rest] = path;
  const old = target[key];
  if (rest.length === 0) target[key] = append ? [...(Array.isArray(old) ? old : []), value] : value;
  else {
    target[key] = typeof old === 'object' && old !== null ? old : {};
    setMember(target[key] as Record<string, unknown>, rest, value, append);
  }
}
