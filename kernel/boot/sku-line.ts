/** What a line of a SKU says, in detail. */
import { statSync } from 'node:fs';
import { join } from 'node:path';
import type { Isolation, PluginManifest } from '@device-core/plugin-api';

/** From the least isolation to the most. */
export const LEVELS: readonly Isolation[] = ['inline', 'worker', 'process'];

/** The manifest itself, or the one in the folder. */
export function manifestOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, 'plugin.yaml') : path;
}

/** Why a plugin cannot run at a level; undefined when it can. */
export function isolationProblem(manifest: PluginManifest, level: Isolation): string | undefined {
  const { isolation: floor = 'inline', refuses } = manifest;
  if (LEVELS.indexOf(level) < LEVELS.indexOf(floor)) return `its manifest asks for ${floor} at least`;
  return level === 'inline' ? undefined : refuses?.[level];
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
