/** Type strings of function specifications (decisions D10): `string int number bool object array bytes any`, each with an optional `?`. */
import { decodeBase64 } from '@device-core/plugin-api';

const CHECKS = {
  string: (value: unknown) => typeof value === 'string',
  int: (value: unknown) => Number.isSafeInteger(value),
  number: (value: unknown) => typeof value === 'number' && Number.isFinite(value),
  bool: (value: unknown) => typeof value === 'boolean',
  object: (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value),
  array: (value: unknown) => Array.isArray(value),
  /** Bytes travel as base64 (RFC 4648 with padding). */
  bytes: (value: unknown) => typeof value === 'string' && decodeBase64(value) !== undefined,
  any: (value: unknown) => value !== undefined,
} as const satisfies Record<string, (value: unknown) => boolean>;

export type TypeName = keyof typeof CHECKS;
export const TYPE_NAMES = Object.keys(CHECKS) as readonly TypeName[];

const SHOWN: Partial<Record<TypeName, string>> = {
  int: 'an int (a whole number up to 2^53)',
  bytes: 'bytes (base64 with padding)',
};

export interface ParsedType {
  readonly name: TypeName;
  readonly optional: boolean;
}

/** Undefined for a text that is not a type string. */
export function parseType(text: string): ParsedType | undefined {
  const optional = text.endsWith('?');
  const name = optional ? text.slice(0, -1) : text;
  return Object.hasOwn(CHECKS, name) ? { name: name as TypeName, optional } : undefined;
}

/** Why a set of named values does not fit; undefined where it does. */
export type MembersCheck = (members: Readonly<Record<string, unknown>>) => string | undefined;

/** Compiles a map of member name to type string, each of which must be one. */
export function compileMembers(types: Readonly<Record<string, string>>): MembersCheck {
  const known = new Map(Object.entries(types).map(([name, text]) => [name, parseType(text)!]));
  const members = [...known].map(([name, { name: type, optional }]) => ({ name, type, optional, fits: CHECKS[type] }));
  return (given) => {
    for (const name of Object.keys(given)) {
      if (!known.has(name)) return `"${name.slice(0, 80)}" is not declared`;
    }
    for (const { name, type, optional, fits } of members) {
      const value = Object.hasOwn(given, name) ? given[name] : undefined;
      if (value === undefined && optional) continue;
      if (value === undefined) return `"${name}" is missing`;
      if (!fits(value)) return `"${name}" must be ${SHOWN[type] ?? type}, not ${kindOf(value)}`;
    }
    return undefined;
  };
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'an array';
  return typeof value === 'number' ? String(value) : typeof value;
}
