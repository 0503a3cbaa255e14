/** Hint for a reference to a secret in place of another value, and the reverse. Pure. */
import { isSecretRef } from '@device-core/plugin-api';
import { memberAt } from '@device-core/plugin-api/inside/schema-reader';
import type { YamlPath } from '@device-core/plugin-api/inside/yaml';

type Members = Readonly<Record<string | number, unknown>>;

const memberOf = (value: unknown, name: string | number): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name) ? (value as Members)[name] : undefined;

/** Ends the sentence about a member of a configuration that its schema refuses; empty if secrets are not its subject. */
export function secretHint(schema: unknown, config: unknown, path: YamlPath): string {
  let [value, at] = [config, schema];
  for (const name of path) {
    if (isSecretRef(value)) break;
    value = memberOf(value, name);
    at = memberAt(at, [String(name)]) ?? memberOf(at, 'items');
  }
  const names = memberOf(at, 'required');
  const wanted = memberOf(at, 'type') === 'object' && Array.isArray(names) && names.includes('secret');
  if (isSecretRef(value)) return wanted ? '' : '; a reference to a secret stands there, and it takes no secret';
  return wanted ? '; it takes a reference to a secret: { secret: NAME }, and `devicectl secret set NAME` its text' : '';
}
