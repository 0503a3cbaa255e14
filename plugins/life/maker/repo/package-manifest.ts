/** Manifests of packages, held against the schemas that devices have. What a device alone can say, it says when it takes the package. */
import { readFileSync } from 'node:fs';
import { readFile, stat } from 'node:fs/promises';
import { basename, posix } from 'node:path';
import { CoreError, describeCapability, type PluginManifest, unknownCapability } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { manifestProblems, SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import type { PackageNoun } from '@device-core/plugin-api/inside/packages';
import { parseYaml, schemaProblems } from '@device-core/plugin-api/inside/yaml';
import type { ValidateFunction } from 'ajv';

const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);
const MAX_BYTES = 256 * 1024;
/** Compiled once: a repository of many packages is checked in one process. */
const validators = new Map<PackageNoun, ValidateFunction>();

export interface PackageManifest {
  readonly id: string;
  readonly version: string;
  /** For people. */
  readonly title: string;
  readonly platforms: 'any' | readonly string[];
  /** File that the package has to hold. */
  readonly main?: string;
}

interface AppPart {
  readonly id: string;
  readonly version: string;
  readonly title: string;
  readonly platform?: 'any' | readonly string[];
  readonly capabilities: readonly { readonly id: string }[];
}

type Where = (path: readonly (string | number)[]) => string;

/** Throws MANIFEST_INVALID with the line, CAPABILITY_UNKNOWN, API_VERSION_MISMATCH. */
export async function readManifest(noun: PackageNoun, file: string): Promise<PackageManifest> {
  const name = basename(file);
  const refuse = (at: string, reason: string) => new CoreError('MANIFEST_INVALID', { file: at, reason });
  const { size } = await stat(file);
  if (size > MAX_BYTES) throw refuse(name, `it has more than ${MAX_BYTES} bytes`);
  const { value, errors, line } = parseYaml(await readFile(file, 'utf8'));
  if (errors[0]) throw refuse(`${name}:${errors[0].line}`, errors[0].message);
  const where: Where = (path) => `${name}:${line(path)}`;
  const validate = validatorOf(noun);
  if (!validate(value)) {
    const [problem] = schemaProblems(validate.errors);
    const { path = [], reason = 'does not fit the schema' } = problem ?? {};
    throw refuse(where(path), `${path.join('.') || 'the file'} ${reason}`);
  }
  return noun === 'app' ? ofApp(value as AppPart) : ofPlugin(value as PluginManifest, where);
}

function validatorOf(noun: PackageNoun): ValidateFunction {
  const known = validators.get(noun);
  if (known) return known;
  const file = new URL(`../../../../manifests/schema/${noun}.json`, import.meta.url);
  const made = new (ajv().Ajv)({ strict: false, keywords: SCHEMA_WORDS }).compile(
    JSON.parse(readFileSync(file, 'utf8')),
  );
  validators.set(noun, made);
  return made;
}

function ofApp({ id, version, title, platform = 'any', capabilities }: AppPart): PackageManifest {
  for (const { id: capability } of capabilities)
    if (!describeCapability(capability)) throw unknownCapability(capability);
  return { id, version, title, platforms: platform };
}

function ofPlugin(manifest: PluginManifest, where: Where): PackageManifest {
  const [problem] = manifestProblems(manifest);
  if (problem) throw new CoreError('MANIFEST_INVALID', { file: where(problem.path), reason: problem.message });
  const { id, version, summary, main } = manifest;
  return { id, version, title: summary, platforms: 'any', main: posix.normalize(main) };
}
