/** Feature flags, declared by the SKU or by the manifest of a plugin, with the same checks everywhere. Pure. */

import { maybe } from '../kits/maybe.ts';
import { nearest } from '../kits/nearest.ts';
import { CoreError } from './errors.ts';

export const FLAG_TYPES = ['boolean', 'integer', 'number', 'string'] as const;

export interface FlagDeclaration {
  readonly type: (typeof FLAG_TYPES)[number];
  /** Value without an override. */
  readonly default: boolean | number | string;
  /** One line for the operator. */
  readonly description: string;
  readonly enum?: readonly (number | string)[];
  readonly minimum?: number;
  readonly maximum?: number;
  /** Characters of a text; default and at most 1,024. */
  readonly maxLength?: number;
}

/** Flags of the whole device; what one SKU or one plugin declares is bound by its schema. */
export const MOST_FLAGS = 256;
export const LONGEST_TEXT = 1024;
const LONGEST_NAME = 64;
/** One segment of a key of the configuration: a file of YAML can hold every flag beside every other. */
const NAME = /^[A-Za-z][A-Za-z0-9_-]*$/;

export interface FlagFault {
  /** The member of the declaration; empty for the name. */
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Why a text cannot be the name of a flag. */
export function flagNameFault(name: string): string | undefined {
  if (name.length > LONGEST_NAME) return `its name has ${name.length} characters, at most ${LONGEST_NAME} are allowed`;
  return NAME.test(name) ? undefined : 'its name is a letter, then letters, digits, "_" and "-"';
}

/** Fault of a declaration beyond the schema of manifests; undefined for a sound one. */
export function flagFault(name: string, declared: FlagDeclaration): FlagFault | undefined {
  const named = flagNameFault(name);
  if (named) return { path: [], message: `flag "${shown(name)}": ${named}` };
  const fault = faultOf(declared);
  return fault && { path: fault.path, message: `flag ${name}: ${[...fault.path, fault.reason].join(' ')}` };
}

function faultOf(declared: FlagDeclaration): (Pick<FlagFault, 'path'> & { readonly reason: string }) | undefined {
  const { type, enum: allowed, minimum, maximum, maxLength } = declared;
  const isNumber = type === 'integer' || type === 'number';
  for (const member of ['minimum', 'maximum'] as const)
    if (declared[member] !== undefined && !isNumber) return { path: [member], reason: `is not for a ${type}` };
  if (maxLength !== undefined && type !== 'string') return { path: ['maxLength'], reason: `is not for a ${type}` };
  if (minimum !== undefined && maximum !== undefined && minimum > maximum)
    return { path: ['maximum'], reason: 'is below the minimum' };
  for (const [index, value] of (allowed ?? []).entries()) {
    const reason = misfit({ ...declared, enum: undefined }, value);
    if (reason) return { path: ['enum', index], reason };
  }
  const reason = misfit(declared, declared.default);
  return reason === undefined ? undefined : { path: ['default'], reason };
}

type Bounds = Pick<FlagDeclaration, 'type' | 'minimum' | 'maximum' | 'maxLength'> & {
  readonly enum?: FlagDeclaration['enum'] | undefined;
};

function misfit({ type, enum: allowed, minimum, maximum, maxLength }: Bounds, value: unknown): string | undefined {
  const right = type === 'integer' ? Number.isInteger(value) : typeof value === type;
  if (!right || (typeof value === 'number' && !Number.isFinite(value))) return `must be ${type}`;
  if (allowed && !allowed.includes(value as string | number)) return `must be one of ${allowed.join(', ')}`;
  if (typeof value === 'number') {
    if (minimum !== undefined && value < minimum) return `must be >= ${minimum}`;
    if (maximum !== undefined && value > maximum) return `must be <= ${maximum}`;
  }
  const longest = maxLength ?? LONGEST_TEXT;
  if (typeof value === 'string' && value.length > longest) return `must NOT have more than ${longest} characters`;
  return undefined;
}

/** JSON Schema of its values. */
export function flagSchema({ type, default: value, description, ...bounds }: FlagDeclaration): object {
  const { enum: allowed, minimum, maximum, maxLength = LONGEST_TEXT } = bounds;
  return {
    type,
    default: value,
    description,
    ...maybe({ enum: allowed, minimum, maximum }),
    ...(type === 'string' && { maxLength }),
  };
}

/** With the nearest name that there is. */
export function unknownFlag(name: string, names: Iterable<string>): CoreError {
  const near = flagNameFault(name) === undefined ? nearest(name, names) : undefined;
  return new CoreError('FLAG_UNKNOWN', { flag: shown(name), suggestion: near ? `; did you mean ${near}?` : '' });
}

/** Invalid names are shown short: they may hold anything. */
function shown(name: string): string {
  const short = name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME)}...` : name;
  return JSON.stringify(short).slice(1, -1); // control characters escaped; the quotes are of the message
}
