import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { OperationInfo, PluginManifest, StreamInfo } from '@device-core/plugin-api';
import { parse } from 'yaml';
import { readSource } from './source.ts';

/** What the pages are made of. */
export interface Input {
  readonly operations: readonly OperationInfo[];
  readonly streams: readonly StreamInfo[];
  readonly manifests: readonly PluginManifest[];
}

/** Manifests of every plugin of the tree, by id. */
export function readManifests(): readonly PluginManifest[] {
  const folder = fileURLToPath(new URL('../../../manifests/plugins', import.meta.url));
  return readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map((file) => parse(readSource(`manifests/plugins/${file}`)) as PluginManifest);
}
