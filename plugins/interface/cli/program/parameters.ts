/** Parameters of a command, by the schema of its params. Operations and programs are alike here. */
import { kebab } from '@device-core/plugin-api/inside/command-words';
import {
  isWord,
  type Kind,
  kindOf,
  membersOf,
  propertiesOf,
  requiredOf,
} from '@device-core/plugin-api/inside/schema-reader';
import type { CliView, JsonSchema } from '@device-core/plugin-api/services/operations';
import { RESERVED } from './globals.ts';

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
  const properties = propertiesOf(params);
  const given = view.given ?? {};
  const hidden = Array.isArray(view.hide) ? (view.hide as readonly string[]) : [];
  const fixed = view.fixed ?? requiredOf(params).filter((name) => !(name in given) && isWord(properties[name]));
  return membersOf(params).flatMap(({ name, schema, required }): Parameter[] => {
    if (hidden.includes(name)) return [];
    const place = fixed.indexOf(name);
    return [
      {
        name,
        schema,
        kind: kindOf(schema),
        flags: (view.flags?.[name] ?? [kebab(name)]).map(free),
        required: required && !(name in given) && view.stdin !== name,
        ...(place < 0 ? {} : { place }),
      },
    ];
  });
}

/** In the order of their places. */
export function placesOf(parameters: readonly Parameter[]): readonly Parameter[] {
  return parameters.filter(({ place }) => place !== undefined).sort((a, b) => a.place! - b.place!);
}

/** A flag that devicectl does not have itself. */
function free(flag: string): string {
  return RESERVED.has(flag) ? `arg-${flag}` : flag;
}
