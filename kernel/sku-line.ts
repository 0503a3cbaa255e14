/** What a line of a SKU says, in detail. */
import { statSync } from 'node:fs';
import { join } from 'node:path';

/** The manifest itself, or the one in the folder. */
export function manifestOf(path: string): string {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ? join(path, 'plugin.yaml') : path;
}

/** Sets a member of a configuration, at any depth. */
export function setMember(
  target: Record<string, unknown>,
  path: readonly string[],
  value: unknown,
  append: boolean,
): void {
  const [key = '', ...rest] = path;
  const old = target[key];
  if (rest.length === 0) target[key] = append ? [...(Array.isArray(old) ? old : []), value] : value;
  else {
    target[key] = typeof old === 'object' && old !== null ? old : {};
    setMember(target[key] as Record<string, unknown>, rest, value, append);
  }
}
