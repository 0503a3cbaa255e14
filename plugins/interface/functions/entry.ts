/** One function entry of a specification, checked and made ready for calls. */
import { CoreError, describeCapability, suggestCapability } from '@device-core/plugin-api';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import { isVersion } from '@device-core/plugin-api/inside/versions';
import type { FunctionEntry, FunctionSpecification } from '@device-core/plugin-api/services/functions';
import { compileMembers, type MembersCheck, parseType, TYPE_NAMES } from './types.ts';

export const DEFAULT_TIMEOUT_MS = 5_000;
const MIN_TIMEOUT_MS = 50;
export const MAX_TIMEOUT_MS = 60_000;

const NAME = /^[a-z][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/;
/** A member named `__proto__` would be lost where objects are copied. */
const MEMBER = /^(?!__proto__$)[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const MAX_NAME_LENGTH = 128;
const MAX_MEMBERS = 32;
const MAX_PERMISSIONS = 32;
const MAX_TEXTS = 64;
const MAX_ENTRY_BYTES = 16 * 1024;

/**
 * Methods that the Core itself sends on an app socket; a stock JSON-RPC library could not tell a function of that
 * name from them.
 */
const RESERVED = new Set(['event', 'cancel', 'stop', 'ping', 'config.changed']);

const KNOWN = new Set([
  'name',
  'version',
  'inputs',
  'returns',
  'permissions',
  'timeout_ms',
  'idempotent',
  'description',
  'utterances',
  'examples',
]);

/** An entry with everything that a call needs worked out once. */
export interface Registered {
  readonly app: string;
  readonly entry: FunctionEntry;
  /** `<app>/<name>@<version>` */
  readonly id: string;
  readonly timeoutMs: number;
  readonly permissions: readonly string[];
  readonly idempotent: boolean;
  readonly checkInputs: MembersCheck;
  /** Absent where the entry declares no `returns`: any object fits then. */
  readonly checkResult: MembersCheck | undefined;
  /** Equal for equal specifications, whatever the order of members. */
  readonly fingerprint: string;
}

/** Throws FUNCTION_INVALID, CAPABILITY_UNKNOWN. */
export function readEntry(app: string, given: unknown): Registered {
  const entry = given as FunctionEntry;
  const name = typeof entry?.name === 'string' ? entry.name.slice(0, MAX_NAME_LENGTH) : '(without a name)';
  const reason = fault(given);
  if (reason) throw new CoreError('FUNCTION_INVALID', { name, reason });
  for (const permission of entry.permissions ?? []) {
    if (describeCapability(permission)) continue;
    const near = suggestCapability(permission);
    throw new CoreError('CAPABILITY_UNKNOWN', {
      capability: permission,
      suggestion: near ? `; is ${near} meant?` : '',
    });
  }
  return {
    app,
    entry,
    id: `${app}/${entry.name}@${entry.version}`,
    timeoutMs: entry.timeout_ms ?? DEFAULT_TIMEOUT_MS,
    permissions: entry.permissions ?? [],
    idempotent: entry.idempotent ?? false,
    checkInputs: compileMembers(entry.inputs ?? {}),
    checkResult: entry.returns && compileMembers(entry.returns),
    fingerprint: canonical(entry),
  };
}

/** Throws FUNCTION_INVALID: two entries of one request with the same name and version. */
export function readSpecification(specification: FunctionSpecification): readonly Registered[] {
  const entries = specification.functions.map((entry) => readEntry(specification.app, entry));
  const seen = new Set<string>();
  for (const { id, entry } of entries) {
    if (seen.has(id))
      throw new CoreError('FUNCTION_INVALID', { name: entry.name, reason: `version ${entry.version} is there twice` });
    seen.add(id);
  }
  return entries;
}

function fault(given: unknown): string | undefined {
  if (!isObject(given)) return 'it is not an object';
  const unknown = Object.keys(given).find((member) => !KNOWN.has(member) && !member.startsWith('x-'));
  if (unknown !== undefined) return `member "${unknown.slice(0, 80)}" is not known`;
  const bytes = Buffer.byteLength(JSON.stringify(given));
  if (bytes > MAX_ENTRY_BYTES) return `it has ${bytes} bytes, at most ${MAX_ENTRY_BYTES} are allowed`;
  return (
    nameFault(given.name) ??
    versionFault(given.version) ??
    membersFault('inputs', given.inputs) ??
    membersFault('returns', given.returns) ??
    listFault('permissions', given.permissions, MAX_PERMISSIONS) ??
    listFault('utterances', given.utterances, MAX_TEXTS) ??
    timeoutFault(given.timeout_ms) ??
    kindFault('idempotent', given.idempotent, 'boolean') ??
    kindFault('description', given.description, 'string') ??
    (given.examples === undefined || Array.isArray(given.examples) ? undefined : 'examples must be an array')
  );
}

function nameFault(name: unknown): string | undefined {
  if (typeof name !== 'string' || name.length > MAX_NAME_LENGTH || !NAME.test(name)) {
    return `name must match ${NAME.source} and have at most ${MAX_NAME_LENGTH} characters`;
  }
  return RESERVED.has(name) || name.startsWith('rpc.') ? 'the Core itself uses this name on the app socket' : undefined;
}

/** The specification knows releases only. */
const RELEASE = /^\d+\.\d+\.\d+$/;

function versionFault(version: unknown): string | undefined {
  return typeof version === 'string' && RELEASE.test(version) && isVersion(version)
    ? undefined
    : 'version must be major.minor.patch, without a pre-release or build part';
}

function membersFault(where: string, types: unknown): string | undefined {
  if (types === undefined) return undefined;
  if (!isObject(types)) return `${where} must be a map of name to type`;
  const entries = Object.entries(types);
  if (entries.length > MAX_MEMBERS) return `${where} has ${entries.length} members, at most ${MAX_MEMBERS} are allowed`;
  for (const [name, type] of entries) {
    if (!MEMBER.test(name)) return `${where} has a member "${name.slice(0, 80)}" that is not a name`;
    if (typeof type === 'string' && parseType(type)) continue;
    return `type ${JSON.stringify(type)?.slice(0, 80)} of ${where}.${name} is not one of ${TYPE_NAMES.join(', ')}, each with an optional "?"`;
  }
  return undefined;
}

function listFault(where: string, list: unknown, limit: number): string | undefined {
  if (list === undefined) return undefined;
  if (!Array.isArray(list) || list.some((text) => typeof text !== 'string'))
    return `${where} must be an array of strings`;
  return list.length > limit ? `${where} has ${list.length} members, at most ${limit} are allowed` : undefined;
}

function timeoutFault(timeout: unknown): string | undefined {
  if (timeout === undefined) return undefined;
  const fits =
    Number.isInteger(timeout) && (timeout as number) >= MIN_TIMEOUT_MS && (timeout as number) <= MAX_TIMEOUT_MS;
  return fits ? undefined : `timeout_ms must be an integer from ${MIN_TIMEOUT_MS} to ${MAX_TIMEOUT_MS}`;
}

function kindFault(where: string, value: unknown, kind: 'boolean' | 'string'): string | undefined {
  return value === undefined || typeof value === kind ? undefined : `${where} must be a ${kind}`;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, inner) =>
    isObject(inner) ? Object.fromEntries(Object.entries(inner).toSorted(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}
