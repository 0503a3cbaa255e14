import { readFileSync } from 'node:fs';
import type { PluginManifest, ServiceRefs } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { manifestProblems } from '@device-core/plugin-api/manifest-check';
import { Ajv } from 'ajv';
import { parse } from 'yaml';

/** A manifest given as it is, or read from a YAML file. */
export function readManifest(manifest: PluginManifest | string): PluginManifest {
  return typeof manifest === 'string' ? (parse(readFileSync(manifest, 'utf8')) as PluginManifest) : manifest;
}

/**
 * What does not agree between a manifest and the plugin behind it, in words; empty when all is well. Compares `requires` both ways, the
 * contract versions with the ranges by their major number; then everything manifestProblems() asks.
 */
export function checkManifest(
  manifest: PluginManifest | string,
  plugin: { readonly requires?: ServiceRefs },
): readonly string[] {
  const { id, requires = {} } = readManifest(manifest);
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
  problems.push(
    ...manifestProblems(readManifest(manifest)).map(({ path, message }) => `${path.join('.')}: ${message}`),
  );
  return problems;
}

/** The configuration with the defaults of the manifest's schema filled in. Throws PARAMS_INVALID. */
export function resolveConfig(manifest: PluginManifest, config: object): object {
  const filled = structuredClone(config);
  if (!manifest.config) return filled;
  const ajv = new Ajv({ useDefaults: true, allErrors: true, strict: false });
  if (ajv.validate({ ...manifest.config }, filled)) return filled;
  throw new CoreError('PARAMS_INVALID', { where: `the configuration of ${manifest.id}`, reason: ajv.errorsText() });
}
