import type { PluginManifest, ServiceRefs } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { manifestProblems, UNIQUE_ITEM_PROPERTIES } from '@device-core/plugin-api/inside/manifest-check';
import { schemaProblems, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import { deepFreeze } from '../boot/freeze.ts';
import { configure, misfits, readManifest as readSource } from '../boot/manifests.ts';

/** A manifest given as it is, or read from a YAML file. Throws MANIFEST_INVALID where it does not fit its schema, as the Core does. */
export function readManifest(manifest: PluginManifest | string): PluginManifest {
  if (typeof manifest !== 'string') {
    const [problem] = misfits('plugin', manifest);
    if (problem) throw invalid(manifest.id, problem.path, problem.reason);
    return manifest;
  }
  const source = readSource<PluginManifest>(manifest, 'plugin', (_place, path, _code, message) => {
    throw invalid(manifest, path, message);
  });
  return source?.value as PluginManifest;
}

/** The same, for a plugin that is to run: throws what the Core would refuse it for. */
export function manifestToRun(given: PluginManifest | string): PluginManifest {
  const manifest = readManifest(given);
  const [problem] = manifestProblems(manifest);
  if (problem) throw invalid(typeof given === 'string' ? given : manifest.id, problem.path, problem.message);
  return manifest;
}

/**
 * Disagreements between a manifest and the plugin behind it, as sentences; empty if there are none. Compares `requires` both ways and the
 * contract versions with the ranges by their major number; then runs manifestProblems().
 */
export function checkManifest(
  given: PluginManifest | string,
  plugin: { readonly requires?: ServiceRefs },
): readonly string[] {
  const manifest = readManifest(given);
  const { id, requires = {} } = manifest;
  const problems: string[] = [];
  const refs = Object.values(plugin.requires ?? {});
  for (const ref of refs) {
    const range = requires[ref.id];
    if (range === undefined) problems.push(`plugin ${id} requires ${ref.id}, its manifest does not`);
    else if (/\d+/.exec(range)?.[0] !== ref.version.split('.')[0]) {
      problems.push(`plugin ${id} is written against ${ref.id} ${ref.version}, its manifest asks for ${range}`);
    }
  }
  for (const service of Object.keys(requires)) {
    if (!refs.some((ref) => ref.id === service))
      problems.push(`the manifest of ${id} requires ${service}, the plugin does not`);
  }
  problems.push(...manifestProblems(manifest).map(({ path, message }) => `${path.join('.')}: ${message}`));
  return problems;
}

/** The configuration with the defaults of the manifest's schema filled in, frozen. Throws PARAMS_INVALID. */
export function resolveConfig(manifest: PluginManifest, config: object): object {
  const filled = structuredClone(config) as Record<string, unknown>;
  const problems = schemaProblems(configure(manifest.config, filled)).filter(
    ({ keyword }) => keyword !== UNIQUE_ITEM_PROPERTIES, // as the start of a Core: the plugin deals with it
  );
  if (problems.length === 0) return deepFreeze(filled);
  const reason = problems.map(({ path, reason: why }) => `${path.join('.') || 'it'} ${why}`).join('; ');
  throw new CoreError('PARAMS_INVALID', { where: `the configuration of ${manifest.id}`, reason });
}

function invalid(file: string, path: YamlPath, reason: string): CoreError {
  return new CoreError('MANIFEST_INVALID', { file, reason: path.length > 0 ? `${path.join('.')} ${reason}` : reason });
}
