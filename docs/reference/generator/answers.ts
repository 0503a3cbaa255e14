/** Types of the answers that the page asks for, from the table of operations: a page names one as `Answers['boot.status']`. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { choicesOf, itemsOf, membersOf } from '@device-core/plugin-api/inside/schema-reader';
import type { JsonSchema } from '@device-core/plugin-api/services/operations';
import type { Input } from './input.ts';

const UI = fileURLToPath(new URL('../../../plugins/interface/web/ui/', import.meta.url));
export const ANSWERS = '../../plugins/interface/web/ui/core/answers.ts';

/** The operations that files of the page name, each with the type of its result. */
export function answersFile({ operations }: Input): string {
  const named = new Set(
    globSync('**/*.ts', { cwd: UI })
      .map((file) => readFileSync(join(UI, file), 'utf8'))
      .flatMap((source) => [...source.matchAll(/Answers\['([^']+)'\]/g)].map(([, name = '']) => name)),
  );
  const types = new Map(operations.map(({ name, result }) => [name, result]));
  const members = [...named].sort().map((name) => {
    const schema = types.get(name);
    if (schema === undefined) throw new Error(`the page names the answer of ${name}, which is no operation`);
    return `  readonly '${name}': ${typeOf(schema, '  ')};\n`;
  });
  return `// Made from the table of operations by "npm run docs".\nexport interface Answers {\n${members.join('')}}\n`;
}

/** A schema as a type of TypeScript; a schema that says nothing is `unknown`. */
export function typeOf(schema: JsonSchema, indent = ''): string {
  const values = choicesOf(schema);
  if (values) return union(values.map((value) => JSON.stringify(value)));
  const choices = (schema.anyOf ?? schema.oneOf) as readonly JsonSchema[] | undefined;
  if (choices !== undefined) return union(choices.map((one) => typeOf(one, indent)));
  if (Array.isArray(schema.type)) return union(schema.type.map((type) => typeOf({ ...schema, type }, indent)));
  switch (schema.type) {
    case 'object':
      return objectOf(schema, indent);
    case 'array': {
      const item = typeOf(itemsOf(schema), indent);
      return `readonly ${item.includes(' | ') && !item.startsWith('{') ? `(${item})` : item}[]`;
    }
    case 'integer':
      return 'number';
    case 'number':
    case 'string':
    case 'boolean':
    case 'null':
      return schema.type;
    default:
      return 'unknown';
  }
}

function objectOf(schema: JsonSchema, indent: string): string {
  const members = membersOf(schema);
  if (members.length === 0) {
    const values = typeof schema.additionalProperties === 'object' ? (schema.additionalProperties as JsonSchema) : {};
    return `Readonly<Record<string, ${typeOf(values, indent)}>>`;
  }
  const parts = members.map(({ name, schema: member, required }) => {
    const key = /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
    return `readonly ${key}${required ? '' : '?'}: ${typeOf(member, `${indent}  `)}`;
  });
  const line = `{ ${parts.join('; ')} }`;
  if (line.length < 120 && !line.includes('\n')) return line;
  return `{\n${parts.map((part) => `${indent}  ${part};\n`).join('')}${indent}}`;
}

const union = (types: readonly string[]): string => [...new Set(types)].join(' | ');
