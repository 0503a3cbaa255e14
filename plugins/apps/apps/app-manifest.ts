import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { CoreError, describeCapability, nearest, reasonOf, suggestCapability } from '@device-core/plugin-api';
import { type SkuOfApps, skuComplaints } from '@device-core/plugin-api/inside/app-spec';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { SCHEMA_WORDS } from '@device-core/plugin-api/inside/manifest-check';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';
import type { AppManifest } from '@device-core/plugin-api/services/apps';
import type { ErrorObject, ValidateFunction } from 'ajv';
import { manifestComplaints } from './manifest-rules.ts';

const semver = packageLater<typeof import('semver')>('semver', import.meta.url);
const ajv = packageLater<typeof import('ajv')>('ajv', import.meta.url);
const MAX_BYTES = 256 * 1024;
const SCHEMA = new URL('../../../manifests/schema/app.json', import.meta.url);

const SIGNATURE = 'is no member of app manifests any more: the signature of a package is its file app.sig';

type Path = readonly (string | number)[];

/** Reads and checks app.yaml. Every complaint names the file and the line. */
export class AppManifestReader {
  readonly #schema: object;
  readonly #coreVersion: string;
  readonly #sku: SkuOfApps | undefined;
  /** One for all readers of a process, as all read one schema: compiling takes longer than an app does to start. */
  static #compiled: ValidateFunction<AppManifest> | undefined;

  private constructor(schema: object, coreVersion: string, sku: SkuOfApps | undefined) {
    this.#schema = schema;
    this.#coreVersion = coreVersion;
    this.#sku = sku;
  }

  /** Compiled for the first app: a device without apps does not wait for it. */
  get #validate(): ValidateFunction<AppManifest> {
    const { Ajv } = ajv();
    const options = { allowUnionTypes: true, verbose: true, allErrors: true, keywords: SCHEMA_WORDS };
    AppManifestReader.#compiled ??= new Ajv(options).compile<AppManifest>(this.#schema);
    return AppManifestReader.#compiled;
  }

  /** With a SKU, manifests are also held against what this device has. */
  static async load(coreVersion: string, sku?: SkuOfApps): Promise<AppManifestReader> {
    const schema = JSON.parse(await readFile(SCHEMA, 'utf8'));
    return new AppManifestReader(schema, coreVersion, sku);
  }

  /** Throws MANIFEST_INVALID and CAPABILITY_UNKNOWN. `name` is what a complaint calls the file. */
  async read(file: string, name = file): Promise<{ readonly manifest: AppManifest; readonly text: string }> {
    const text = await readText(file, name);
    const manifest = this.check(text, name);
    await checkIcon(manifest, file, name);
    return { manifest, text };
  }

  /** Throws as read() does; `file` is what the complaint names. */
  check(text: string, file: string): AppManifest {
    const { value: manifest, errors, line } = parseYaml(text);
    const [broken] = errors;
    if (broken) throw new CoreError('MANIFEST_INVALID', { file: `${file}:${broken.line}`, reason: broken.message });
    const where = (path: Path) => `${file}:${line(path)}`;
    const refuse = (path: Path, reason: string): never => {
      throw new CoreError('MANIFEST_INVALID', { file: where(path), reason });
    };

    if (!this.#validate(manifest)) {
      const { errors: all = [] } = this.#validate;
      // A typo is a member too many and one that is missing: the first says where.
      const error = all?.find(({ keyword }) => keyword === 'additionalProperties') ?? all?.[0];
      if (!error) return refuse([], 'it does not fit the schema');
      return refuse(pathOf(error), `${shown(pathOf(error)) || 'the manifest'} ${explain(error)}`);
    }
    const [complaint] = manifestComplaints(manifest);
    if (complaint) refuse(complaint.path, complaint.reason);
    for (const [index, { id }] of manifest.capabilities.entries()) {
      if (describeCapability(id)) continue;
      const near = suggestCapability(id);
      const place = where(['capabilities', index, 'id']);
      const suggestion = ` (${place})${near ? `; did you mean ${near}?` : ''}`;
      throw new CoreError('CAPABILITY_UNKNOWN', { capability: id, suggestion, file: place });
    }
    const [beyond] = this.#sku ? skuComplaints(manifest, this.#sku) : [];
    if (beyond) refuse(beyond.path, beyond.reason);
    const { version } = manifest.runtime ?? {};
    if (version !== undefined && semver().validRange(version) === null)
      refuse(['runtime', 'version'], `${version} is no range of versions`);
    if (manifest.minCore && semver().gt(manifest.minCore, this.#coreVersion))
      refuse(['minCore'], `it needs Core ${manifest.minCore} or newer, this is ${this.#coreVersion}`);
    return manifest;
  }
}

async function readText(file: string, name: string): Promise<string> {
  try {
    const { size } = await stat(file);
    if (size > MAX_BYTES) throw new Error(`it has ${size} bytes, at most ${MAX_BYTES} are read`);
    return await readFile(file, 'utf8');
  } catch (thrown) {
    const absent = (thrown as NodeJS.ErrnoException).code === 'ENOENT';
    const reason = absent ? 'the file is not there' : `cannot read it: ${reasonOf(thrown)}`;
    throw new CoreError('MANIFEST_INVALID', { file: name, reason: reason.replaceAll(file, name) });
  }
}

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const MAX_ICON = 64 * 1024;

async function checkIcon({ icon }: AppManifest, file: string, name: string): Promise<void> {
  if (icon === undefined) return;
  const path = join(dirname(file), icon);
  const refuse = (reason: string): never => {
    throw new CoreError('MANIFEST_INVALID', { file: name, reason: `icon ${icon}: ${reason.replaceAll(path, icon)}` });
  };
  const { size } = await stat(path).catch((thrown) => refuse(reasonOf(thrown)));
  if (size > MAX_ICON) refuse(`it has ${size} bytes, at most ${MAX_ICON} are taken`);
  const bytes = await readFile(path).catch((thrown) => refuse(reasonOf(thrown)));
  if (!bytes.subarray(0, PNG.length).equals(PNG)) refuse('it is no PNG');
}

/** Path of the fault: for an unknown or badly named member, the path of that member. */
function pathOf(error: ErrorObject): Path {
  const path = error.instancePath
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part));
  const extra = error.params.additionalProperty ?? error.propertyName;
  return typeof extra === 'string' ? [...path, extra] : path;
}

/** Escapes control characters: the text comes from others and must stay in its line. */
function shown(path: Path): string {
  return path.join('.').replace(/\p{Cc}/gu, (char) => JSON.stringify(char).slice(1, -1));
}

function explain(error: ErrorObject): string {
  if (error.keyword === 'additionalProperties') {
    if (error.instancePath === '' && error.params.additionalProperty === 'signature') return SIGNATURE;
    const members = Object.keys((error.parentSchema?.properties ?? {}) as object);
    const meant = nearest(String(error.params.additionalProperty), members);
    const hint = meant === undefined ? 'members of your own begin with "x-"' : `did you mean ${meant}?`;
    return `is not a member of app manifests; ${hint}`;
  }
  if (error.keyword === 'enum') return `must be one of ${error.params.allowedValues.join(', ')}`;
  if (error.keyword === 'const') return `must be ${JSON.stringify(error.params.allowedValue)}`;
  // A pattern says little to whoever does not read it; the schema says it in words.
  const description: unknown = error.keyword === 'pattern' ? error.parentSchema?.description : undefined;
  if (typeof description === 'string') return `${error.message} (${description})`;
  return error.message ?? `breaks the rule ${error.keyword}`;
}
