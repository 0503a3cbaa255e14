/**
 * Keys that an app's manifest describes (decisions D11). The schema describes an object with keys as members; a member may be a full
 * dotted key or an object with `properties`. Each value is checked by itself: `required` has no meaning, because any key may be unset.
 */
import { CoreError, reasonOf } from '@device-core/plugin-api';
import { packageLater } from '@device-core/plugin-api/inside/lazy-package';
import { propertiesOf } from '@device-core/plugin-api/inside/schema-reader';
import { TimeLimit } from '@device-core/plugin-api/inside/time-limit';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv';
import { freezeCopy, keyFault, valueFault } from './keys.ts';

const ajvPackage = packageLater<typeof import('ajv')>('ajv', import.meta.url);

type Found = { readonly pointer: string; readonly schema: unknown } | 'unknown' | 'free';

const SCHEMA_ID = 'app';
/**
 * Limit of processor time. An honest schema takes below a millisecond, and some tens for its compilation; a slow board
 * takes ten times that.
 */
const LIMIT_MS = 250;

/** Description of the keys of an app. */
export interface AppKeys {
  readonly schema?: JsonSchema | undefined;
  readonly defaults: ReadonlyMap<string, unknown>;
  /** Reason why a value is refused; undefined if it fits. */
  fault(key: string, value: unknown): string | undefined;
  /** JSON pointer of the member of the value that `fault` is about; '' for the value as a whole. */
  place(key: string, value: unknown): string;
}

/** For a description that cannot be used: no value can be checked, so none is taken, and the defaults stay in force. */
export function refusingKeys(defaults: object | undefined, reason: string): AppKeys {
  const flat = new Map<string, unknown>();
  flatten(defaults ?? {}, '', flat, () => false);
  for (const [key, value] of flat) {
    if (keyFault(key) ?? valueFault(value)) flat.delete(key);
    else flat.set(key, freezeCopy(value));
  }
  return { defaults: flat, fault: () => `the schema of the app cannot be applied: ${reason}`, place: () => '' };
}

export class AppSchema implements AppKeys {
  readonly defaults: ReadonlyMap<string, unknown>;
  readonly schema: JsonSchema | undefined;
  /** Owner of the schema, in messages. */
  readonly #of: string;
  #ajv: Ajv | undefined;
  readonly #validators = new Map<string, ValidateFunction>();
  readonly #limit = new TimeLimit(LIMIT_MS);

  /** Throws PARAMS_INVALID for a schema that does not compile and for defaults that do not fit it. */
  constructor(app: string, described: { readonly schema?: JsonSchema; readonly defaults?: object }, of = 'the app') {
    this.#of = of;
    const fail = (reason: string): never => {
      throw new CoreError('PARAMS_INVALID', { where: `the config section of ${app}`, reason });
    };
    this.schema = described.schema;
    const defaults = new Map<string, unknown>();
    try {
      if (described.schema) {
        const { schema } = described;
        // The package is loaded outside of the limit: an interrupted load would leave it half loaded for good.
        ajvPackage();
        this.#limit.run(() => this.#compiler(schema).getSchema(SCHEMA_ID), this.#undo);
      }
      flatten(described.defaults ?? {}, '', defaults, (key) => this.#isObjectValue(key));
    } catch (error) {
      fail(reasonOf(error));
    }
    for (const [key, value] of defaults) {
      const reason = keyFault(key) ?? valueFault(value) ?? this.fault(key, value);
      if (reason) fail(`default of ${key}: ${reason}`);
      defaults.set(key, freezeCopy(value));
    }
    this.defaults = defaults;
  }

  /** Why the app's schema refuses a value; names the member. Undefined where it fits. */
  fault(key: string, value: unknown): string | undefined {
    const schema = this.schema;
    if (!schema) return undefined;
    try {
      return this.#limit.run(() => this.#fault(schema, key, value), this.#undo);
    } catch (error) {
      return `the schema of ${this.#of} cannot be applied: ${reasonOf(error)}`;
    }
  }

  place(key: string, value: unknown): string {
    const { schema } = this;
    if (!schema) return '';
    try {
      const error = this.#limit.run(() => this.#error(schema, key, value), this.#undo);
      return typeof error === 'object' ? error.instancePath : '';
    } catch {
      // It takes too long or cannot be applied: fault() says so.
      return '';
    }
  }

  /** A compiler that was interrupted is not to be used again: it takes what it had begun for finished. */
  readonly #undo = (): void => {
    this.#ajv = undefined;
    this.#validators.clear();
  };

  #compiler(schema: JsonSchema): Ajv {
    if (this.#ajv) return this.#ajv;
    const { Ajv: Compiler } = ajvPackage();
    const ajv = new Compiler({ strict: false, validateFormats: false, allErrors: false, logger: false });
    ajv.addSchema({ ...schema, $id: SCHEMA_ID });
    this.#ajv = ajv;
    return ajv;
  }

  #fault(schema: JsonSchema, key: string, value: unknown): string | undefined {
    const error = this.#error(schema, key, value);
    if (error === 'unknown') return `${key} is not a key that the schema of ${this.#of} knows`;
    return error && explain(key, error, this.#of);
  }

  #error(schema: JsonSchema, key: string, value: unknown): ErrorObject | 'unknown' | undefined {
    const found = find(schema, key, '#');
    if (found === 'free') return undefined;
    if (found === 'unknown') return 'unknown';
    let validate = this.#validators.get(found.pointer);
    if (!validate) {
      validate = this.#compiler(schema).compile({ $ref: `${SCHEMA_ID}${found.pointer}` });
      this.#validators.set(found.pointer, validate);
    }
    return validate(value) ? undefined : validate.errors?.[0];
  }

  #isObjectValue(key: string): boolean {
    const schemaOfApp = this.schema;
    const found = schemaOfApp ? this.#limit.run(() => find(schemaOfApp, key, '#')) : 'free';
    if (typeof found === 'string') return false;
    const schema = found.schema as { type?: unknown; properties?: unknown };
    return schema?.type === 'object' && schema.properties === undefined;
  }
}

/** A default that is a map is nesting, unless the schema says that the key holds an object without known members. */
function flatten(map: object, prefix: string, into: Map<string, unknown>, isObject: (key: string) => boolean): void {
  for (const [name, value] of Object.entries(map)) {
    const key = `${prefix}${name}`;
    const isMap = typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0;
    if (isMap && !isObject(key)) flatten(value, `${key}.`, into, isObject);
    else if (value !== null && value !== undefined) into.set(key, value);
  }
}

function find(schema: JsonSchema, key: string, pointer: string): Found {
  const properties = propertiesOf(schema);
  if (Object.hasOwn(properties, key))
    return { pointer: `${pointer}/properties/${pointerOf(key)}`, schema: properties[key] };
  for (let dot = key.lastIndexOf('.'); dot > 0; dot = key.lastIndexOf('.', dot - 1)) {
    const head = key.slice(0, dot);
    const inner = Object.hasOwn(properties, head) ? properties[head] : undefined;
    if (typeof inner !== 'object') continue;
    return find(inner, key.slice(dot + 1), `${pointer}/properties/${pointerOf(head)}`);
  }
  const patterns = (schema.patternProperties ?? {}) as Readonly<Record<string, unknown>>;
  for (const [pattern, inner] of Object.entries(patterns)) {
    if (new RegExp(pattern, 'u').test(key))
      return { pointer: `${pointer}/patternProperties/${pointerOf(pattern)}`, schema: inner };
  }
  const { additionalProperties: rest } = schema;
  if (rest === false) return 'unknown';
  return typeof rest === 'object' ? { pointer: `${pointer}/additionalProperties`, schema: rest } : 'free';
}

function pointerOf(name: string): string {
  return encodeURIComponent(name.replaceAll('~', '~0').replaceAll('/', '~1'));
}

function explain(key: string, error: ErrorObject, of: string): string {
  const member = `${key}${error.instancePath.replaceAll('/', '.')}`;
  const extra = error.params && 'additionalProperty' in error.params ? ` ("${error.params.additionalProperty}")` : '';
  const allowed =
    error.params && 'allowedValues' in error.params ? `: ${JSON.stringify(error.params.allowedValues)}` : '';
  return `${member} ${error.message ?? `does not fit the schema of ${of}`}${extra}${allowed}`;
}
