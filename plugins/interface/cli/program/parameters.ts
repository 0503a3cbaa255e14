/** Parameters of a command, by the schema of its params. Operations and programs are alike here. */
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';
import { RESERVED } from './globals.ts';

/** `text` are bytes that a person types as text; `json` has no type of its own. */
export type Kind =
  | 'array'
  | 'boolean'
  | 'bytes'
  | 'choice'
  | 'integer'
  | 'json'
  | 'number'
  | 'object'
  | 'string'
  | 'text';

export interface Parameter {
  readonly name: string;
  readonly kind: Kind;
  readonly schema: JsonSchema;
  readonly required: boolean;
  /** Without dashes; the first is the one that help shows. Empty: it has none. */
  readonly flags: readonly string[];
  /** It stands at a place: which one. */
  readonly place?: number;
}

export type ParameterView = Pick<CliView, 'fixed' | 'flags' | 'hide' | 'given' | 'stdin'>;

export function parametersOf(params: JsonSchema = {}, view: ParameterView = {}): readonly Parameter[] {
  const properties = (params.properties ?? {}) as Readonly<Record<string, JsonSchema>>;
  const needed = (params.required ?? []) as readonly string[];
  const given = view.given ?? {};
  const hidden = Array.isArray(view.hide) ? (view.hide as readonly string[]) : [];
  const fixed = view.fixed ?? needed.filter((name) => !(name in given) && isWord(properties[name]));
  return Object.entries(properties).flatMap(([name, schema]): Parameter[] => {
    if (hidden.includes(name)) return [];
    const place = fixed.indexOf(name);
    return [
      {
        name,
        schema,
        kind: kindOf(schema),
        flags: (view.flags?.[name] ?? [kebab(name)]).map(free),
        required: needed.includes(name) && !(name in given) && view.stdin !== name,
        ...(place < 0 ? {} : { place }),
      },
    ];
  });
}

/** In the order of their places. */
export function placesOf(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ place }) => place !== undefined).sort((a, b) => a.place! - b.place!);
}

export function kindOf(schema: JsonSchema = {}): Kind {
  if (Array.isArray(schema.enum) || 'const' in schema) return 'choice';
  const type = [schema.type].flat().find((one) => one !== 'null');
  if (type === 'string' && schema.contentEncoding === 'base64')
    return String(schema.contentMediaType ?? '').startsWith('text/') ? 'text' : 'bytes';
  return KINDS.has(type as Kind) ? (type as Kind) : 'json';
}

const KINDS: ReadonlySet<Kind> = new Set<Kind>(['array', 'boolean', 'integer', 'number', 'object', 'string']);

export function choicesOf(schema: JsonSchema): readonly unknown[] {
  return Array.isArray(schema.enum) ? schema.enum : [schema.const];
}

/** `rxLen` -> `rx-len`, `JSONInputs` -> `json-inputs`. */
export function kebab(name: string): string {
  return name
    .replace(/([a-z0-9])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, (_, a = '', b = '', c = '') => (c ? `${c}-` : `${a}-${b}`))
    .replaceAll('_', '-')
    .toLowerCase();
}

function isWord(schema: JsonSchema | undefined): boolean {
  return ['string', 'integer', 'number', 'choice'].includes(kindOf(schema));
}

/** A flag that devicectl does not have itself. */
function free(flag: string): string {
  return RESERVED.has(flag) ? `arg-${flag}` : flag;
}
