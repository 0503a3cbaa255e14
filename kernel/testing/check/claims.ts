import { existsSync, readFileSync } from 'node:fs';
import type { PluginManifest } from '@device-core/plugin-api';
import { implies, matchesTopic } from '@device-core/plugin-api';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';
import type { Observation, ObservedKind } from '../observed.ts';

/** Files have no trace that could be told from those of the runtime. */
const UNSEEN: ReadonlySet<string> = new Set(['storage-scoped']);

export interface Claim {
  readonly path: YamlPath;
  readonly remark: string;
}

/** Notes of the test of one plugin. */
export class Observations {
  readonly #names = new Map<ObservedKind, Set<string>>();

  constructor(file: string, plugin: string) {
    const lines = existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
    for (const line of lines.filter((text) => text !== '')) {
      const note = JSON.parse(line) as Observation;
      if (note.plugin !== plugin) continue;
      this.#names.set(note.kind, (this.#names.get(note.kind) ?? new Set()).add(note.name));
    }
  }

  names(kind: ObservedKind): readonly string[] {
    return [...(this.#names.get(kind) ?? [])].sort();
  }

  saw(kind: ObservedKind, name: string): boolean {
    return this.#names.get(kind)?.has(name) ?? false;
  }
}

/** Claims of the manifest without any observed use, each with its place in the manifest. */
export function idleClaims(manifest: PluginManifest, seen: Observations): readonly Claim[] {
  const idle: Claim[] = [];
  const judge = (used: boolean, path: YamlPath, remark: string) => void (used || idle.push({ path, remark }));
  for (const service of Object.keys(manifest.requires ?? {})) {
    const remark = `requires ${service}, and never called it`;
    judge(seen.saw('service', service), ['requires', service], remark);
  }
  for (const service of Object.keys(manifest.optional ?? {})) {
    judge(seen.saw('optional', service), ['optional', service], `never waits for ${service} by host.when()`);
  }
  for (const kind of ['taps', 'hooks'] as const) {
    for (const [index, hook] of (manifest[kind] ?? []).entries()) {
      const remark = kind === 'taps' ? `never taps ${hook}` : `never calls its hook ${hook}`;
      judge(seen.saw(kind === 'taps' ? 'tap' : 'hook', hook), [kind, index], remark);
    }
  }
  for (const [index, filter] of (manifest.publishes ?? []).entries()) {
    const topics = seen.names('publish').filter((topic) => matchesTopic(filter, topic));
    const path = ['publishes', index];
    judge(topics.length > 0, path, `never published within ${filter}`);
    const wide = filter.includes('*') && !filter.startsWith(`plugin.${manifest.id}.`);
    judge(!wide || topics.length === 0, path, `${filter} is wider than what it published: ${topics.join(', ')}`);
  }
  for (const [index, capability] of (manifest.capabilities ?? []).entries()) {
    const used = [...seen.names('capability'), ...seen.names('resource')].some(
      (one) => implies(capability, one) || implies(one, capability),
    );
    const hidden = UNSEEN.has(capability) || seen.names('calls').length > 0;
    judge(used || hidden, ['capabilities', index], `never needed ${capability}`);
  }
  return idle;
}

/** The other way round: what an operator is not told before the plugin is installed. */
export function unclaimed(manifest: PluginManifest, seen: Observations): readonly string[] {
  const held: readonly string[] = manifest.capabilities ?? [];
  return seen.names('capability').filter((wanted) => !held.some((grant) => implies(grant, wanted)));
}
