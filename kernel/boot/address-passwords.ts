/** Addresses that hold a password, `https://user:word@host/`. Pure. */
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';

const ADDRESS = /[a-z][a-z0-9+.-]{0,20}:\/\/[^\s/?#@:]{0,256}:[^\s/?#@]{1,256}@/i;

/** Paths of the passwords in a value. */
export function addressPasswords(value: unknown, path: YamlPath = []): readonly YamlPath[] {
  if (typeof value === 'string') return value.includes('@') && ADDRESS.test(value) ? [path] : [];
  if (typeof value !== 'object' || value === null) return [];
  const members = Array.isArray(value) ? value.map((one, at) => [at, one] as const) : Object.entries(value);
  return members.flatMap(([name, one]) => addressPasswords(one, [...path, name]));
}
