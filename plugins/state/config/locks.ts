/**
 * `<etc>/locks.yaml`: keys that the OEM keeps at their default.
 * `{ locked: ['network.**', { keys: 'display.brightness', reason: 'certified so' }] }`
 */
import { CoreError } from '@device-core/plugin-api';
import { isObject } from '@device-core/plugin-api/inside/schema-reader';
import { parseYaml } from '@device-core/plugin-api/inside/yaml';

export const LOCKS_FILE = 'locks.yaml';

const PATTERN = /^(\*|[A-Za-z0-9][A-Za-z0-9_-]*)(\.(\*|[A-Za-z0-9][A-Za-z0-9_-]*))*(\.\*\*)?$|^\*\*$/;

export interface Lock {
  readonly pattern: string;
  /** The OEM's reason. */
  readonly reason?: string;
}

export interface Locks {
  /** Finds the lock of the key, if there is one. */
  find(key: string): Lock | undefined;
}

export const NO_LOCKS: Locks = { find: () => undefined };

/** `*` is one segment, a trailing `**` one or more. Throws STATE_CORRUPT. */
export function parseLocks(text: string, file: string): Locks {
  const fail = (reason: string): never => {
    throw new CoreError('STATE_CORRUPT', { file, reason });
  };
  const { value: content, errors } = parseYaml(text);
  if (errors[0]) fail(`line ${errors[0].line}: ${errors[0].message}`);
  const patterns = (content as { locked?: unknown } | null)?.locked ?? [];
  if (!Array.isArray(patterns)) fail('it must hold `locked`, a list of key patterns');
  const compiled = (patterns as unknown[]).map((entry) => {
    const { keys: pattern, reason } = isObject(entry) ? entry : { keys: entry, reason: undefined };
    if (typeof pattern !== 'string' || !PATTERN.test(pattern)) fail(`"${String(pattern)}" is not a key pattern`);
    if (reason !== undefined && typeof reason !== 'string') fail(`the reason of ${String(pattern)} is not a text`);
    const text = pattern as string;
    const source = text
      .split('.')
      .map((segment) => (segment === '**' ? '.+' : segment === '*' ? '[^.]+' : segment))
      .join('\\.');
    const lock: Lock = typeof reason === 'string' ? { pattern: text, reason } : { pattern: text };
    return { lock, expression: new RegExp(`^${source}$`) };
  });
  return { find: (key) => compiled.find(({ expression }) => expression.test(key))?.lock };
}

export function whereOf({ pattern, reason }: Lock): string {
  return `pattern ${pattern} in ${LOCKS_FILE}${reason === undefined ? '' : `: ${reason}`}`;
}

export function lockedError(key: string, lock: Lock): CoreError {
  const { pattern, reason } = lock;
  const told = { key, where: whereOf(lock), pattern };
  return new CoreError('CONFIG_LOCKED', reason === undefined ? told : { ...told, reason });
}
