import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { PluginManifest } from '@device-core/plugin-api';
import { manifestInTree, treeAliases, treeManifests } from '@device-core/plugin-api/inside/tree';
import type { Program } from '@device-core/plugin-api/program';
import type { OperationInfo, StreamInfo } from '@device-core/plugin-api/services/operations';
import { parse } from 'yaml';
import type { ProgramPlace } from '../../../plugins/interface/cli/program/programs.ts';

/** What the pages are made of. */
export interface Input {
  readonly operations: readonly OperationInfo[];
  readonly streams: readonly StreamInfo[];
  readonly manifests: readonly PluginManifest[];
  /** Names of metrics. */
  readonly metrics: readonly string[];
  /** Programs of devicectl that the tree declares, and their modules by command. */
  readonly programs: {
    readonly places: readonly ProgramPlace[];
    readonly modules: ReadonlyMap<string, Program>;
  };
}

const TREE = fileURLToPath(new URL('../../../', import.meta.url));

const manifestIn = (file: string) => parse(readFileSync(file, 'utf8')) as PluginManifest;

/** Manifests of every plugin of the tree, by id. */
export function readManifests(): readonly PluginManifest[] {
  return [...treeManifests(TREE).values()].map(manifestIn);
}

/** Other names of plugins in lines of SKUs, with their summaries. */
export function readAliases(): ReadonlyMap<string, string> {
  return new Map([...treeAliases(TREE).keys()].map((id) => [id, manifestIn(manifestInTree(TREE, id)!).summary]));
}
