/** How secrets are called, and what may be one. Pure. */

import { type Caller, CoreError, callerName, LONGEST_SECRET } from '@device-core/plugin-api';
import { LONGEST_SECRET_NAME as LONGEST_NAME, SECRET_NAME } from '@device-core/plugin-api/contract/secret';

export { LONGEST_SECRET_NAME as LONGEST_NAME, SECRET_NAME } from '@device-core/plugin-api/contract/secret';
/** Pattern of a secret's scope. */
export const SECRET_SCOPE = '^(core|shared|plugin\\.[a-z][a-z0-9-]*|app\\.[a-z][a-z0-9-]*(\\.[a-z0-9][a-z0-9-]*)+)$';
export const LONGEST_SCOPE = 160;
/** Scope of the operator's secrets, for every configuration that names them. */
export const SHARED = 'shared';
/** Shorter texts stand in lines of a log for other reasons: they cannot be taken out of it. */
export const SHORTEST_HIDDEN = 8;

const NAME = new RegExp(SECRET_NAME);
const SCOPE = new RegExp(SECRET_SCOPE);

/** `<scope>/<name>`, under which a vault keeps it. */
export type SecretKey = `${string}/${string}`;

export const keyOf = (scope: string, name: string): SecretKey => `${scope}/${name}`;

export function partsOf(key: string): { readonly scope: string; readonly name: string } {
  const at = key.indexOf('/');
  return { scope: key.slice(0, at), name: key.slice(at + 1) };
}

export function isKey(key: string): key is SecretKey {
  const { scope, name } = partsOf(key);
  return isScope(scope) && isName(name);
}

export const isName = (name: unknown): name is string =>
  typeof name === 'string' && name.length <= LONGEST_NAME && NAME.test(name);

export const isScope = (scope: unknown): scope is string =>
  typeof scope === 'string' && scope.length <= LONGEST_SCOPE && SCOPE.test(scope);

/** Throws PARAMS_INVALID. The error repeats no input: a caller may have passed the text as the name. */
export function checkName(name: unknown): asserts name is string {
  if (!isName(name))
    throw refused('name', `a secret is called as ${SECRET_NAME} says, in at most ${LONGEST_NAME} characters`);
}

/** Throws PARAMS_INVALID. */
export function checkScope(scope: unknown): asserts scope is string {
  if (!isScope(scope)) throw refused('scope', 'it is one of core, shared, plugin.<id> and app.<id>');
}

/** Throws PARAMS_INVALID. The text itself is never said. */
export function checkText(text: unknown, scope: string): asserts text is string {
  if (typeof text !== 'string') throw refused('secretText', 'a secret is a text');
  if (text === '') throw refused('secretText', 'it is empty');
  // Text outside Unicode would come back as another one.
  if (!text.isWellFormed()) throw refused('secretText', 'it is no text of Unicode');
  if (Buffer.byteLength(text) > LONGEST_SECRET) throw refused('secretText', `it has more than ${LONGEST_SECRET} bytes`);
  if (scope === SHARED && text.length < SHORTEST_HIDDEN)
    throw refused('secretText', `a shared secret has ${SHORTEST_HIDDEN} characters or more: ${SHORT}`);
}

const SHORT = 'a shorter one cannot be hidden in logs';

/** Warning about a text that was taken. */
export function warningOf(text: string, isName: boolean): string | undefined {
  if (isName) return 'it is a part of the name of an app, a plugin, a capability or an error: it is not hidden in logs';
  return text.length < SHORTEST_HIDDEN ? `it has fewer than ${SHORTEST_HIDDEN} characters: ${SHORT}` : undefined;
}

/** The command that sets it. */
export function commandFor(scope: string, name: string): string {
  return `devicectl secret set ${name}${scope === SHARED ? '' : ` --scope ${scope}`}`;
}

export function notFound(scope: string, name: string): CoreError {
  const hint = commandFor(scope, name);
  return new CoreError('SECRET_NOT_FOUND', {
    name: shownName(scope, name),
    hint,
    suggestion: `; set it with "${hint}"`,
  });
}

/** Error for a deletion of a missing secret. */
export function nothingToDelete(scope: string, name: string): CoreError {
  return new CoreError('SECRET_NOT_FOUND', { name: shownName(scope, name) });
}

const shownName = (scope: string, name: string): string => (scope === SHARED ? name : keyOf(scope, name));

export const ownScope = (caller: Caller): string => callerName(caller);

function refused(where: string, reason: string): CoreError {
  return new CoreError('PARAMS_INVALID', { where, reason });
}
