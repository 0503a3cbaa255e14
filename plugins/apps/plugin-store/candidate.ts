/** A package that was unpacked, read and checked as far as it can be by itself. None of its code is run. */
import { readFile, stat } from 'node:fs/promises';
import { join, posix } from 'node:path';
import {
  API_VERSION,
  CoreError,
  type ErrorCode,
  type PluginManifest,
  reasonOf,
  unknownCapability,
} from '@device-core/plugin-api';
import { manifestProblems, SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import { PLUGIN_PACKAGE, type Tree, type TreeLimits } from '@device-core/plugin-api/inside/packages';
import { TimeLimit } from '@device-core/plugin-api/inside/time-limit';
import { parseYaml, schemaProblems, type YamlPath } from '@device-core/plugin-api/inside/yaml';
import { Ajv, type ValidateFunction } from 'ajv';
import { readPackage } from '../shared/package-store/staging.ts';

const MANIFEST = PLUGIN_PACKAGE.manifest;
const MAX_MANIFEST = 256 * 1024;
const SCHEMA = new URL('../../../manifests/schema/plugin.json', import.meta.url);

/** For schemas that are used once: the schema of schemas and the optimiser cost more than they bring. */
const QUICK = {
  strict: false,
  validateSchema: false,
  meta: false,
  code: { optimize: false },
  keywords: SCHEMA_WORDS,
};

/** Validator of manifests: compiled at the first package. */
let validator: ValidateFunction | undefined;

/** Milliseconds that the schema of a package may take. */
const LIMIT_MS = 250;

export interface Candidate {
  readonly folder: string;
  readonly manifest: PluginManifest;
  readonly tree: Tree;
}

/** Throws PACKAGE_INVALID, MANIFEST_INVALID (with the line), API_VERSION_MISMATCH, CAPABILITY_UNKNOWN. */
export async function readCandidate(folder: string, source: string, limits: TreeLimits): Promise<Candidate> {
  const tree = await readPackage(PLUGIN_PACKAGE, folder, source, limits);
  const manifest = await readManifest(join(folder, MANIFEST));
  const main = posix.normalize(manifest.main);
  if (!tree.files.has(main))
    throw new CoreError('MANIFEST_INVALID', { file: MANIFEST, reason: `main: ${manifest.main} is not in the package` });
  return { folder, manifest, tree };
}

async function readManifest(file: string): Promise<PluginManifest> {
  const { size } = await stat(file);
  if (size > MAX_MANIFEST)
    throw new CoreError('MANIFEST_INVALID', { file: MANIFEST, reason: `it has more than ${MAX_MANIFEST} bytes` });
  const { value, errors, line } = parseYaml(await readFile(file, 'utf8'));
  const refuse = (at: number, reason: string) =>
    new CoreError('MANIFEST_INVALID', { file: `${MANIFEST}:${at}`, reason });
  if (errors[0]) throw refuse(errors[0].line, errors[0].message);
  validator ??= new Ajv(QUICK).compile(JSON.parse(await readFile(SCHEMA, 'utf8')));
  const validate = validator;
  if (!validate(value)) {
    const [problem] = schemaProblems(validate.errors);
    const { path = [] as YamlPath, reason = 'does not fit the schema' } = problem ?? {};
    throw refuse(line(path), `${path.join('.') || 'the file'} ${reason}`);
  }
  const manifest = value as PluginManifest;
  const [problem] = manifestProblems(manifest);
  if (problem) throw asError(manifest, problem.code, problem.path) ?? refuse(line(problem.path), problem.message);
  return manifest;
}

/** Codes that tell a program what is wrong keep their details. */
function asError(manifest: PluginManifest, code: ErrorCode, path: YamlPath): CoreError | undefined {
  if (code === 'API_VERSION_MISMATCH')
    return new CoreError(code, { plugin: manifest.id, range: manifest.api, version: API_VERSION });
  const capability = manifest.capabilities?.[Number(path[1])];
  return code === 'CAPABILITY_UNKNOWN' && capability !== undefined ? unknownCapability(capability) : undefined;
}

/** The configuration of a plugin, without the defaults that the Core fills in. Throws PARAMS_INVALID. */
export function checkConfig(manifest: PluginManifest, config: Readonly<Record<string, unknown>>): void {
  const refuse = (where: string, reason: string) => new CoreError('PARAMS_INVALID', { where, reason });
  try {
    const schema = { ...(manifest.config ?? { type: 'object', additionalProperties: false }) };
    const faults = new TimeLimit(LIMIT_MS).run(() => {
      const ajv = new Ajv({ ...QUICK, useDefaults: true });
      return ajv.validate(schema, structuredClone(config)) ? undefined : ajv.errors;
    });
    if (faults === undefined) return;
    const [problem] = schemaProblems(faults);
    throw refuse(`config.${problem?.path.join('.') ?? ''}`.replace(/\.$/, ''), problem?.reason ?? 'it does not fit');
  } catch (error) {
    if (error instanceof CoreError) throw error;
    throw refuse('config', `the schema in the manifest cannot be applied: ${reasonOf(error)}`);
  }
}
