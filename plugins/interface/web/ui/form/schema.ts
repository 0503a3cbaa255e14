/**
 * Maps a JSON Schema to controls. Pure: no browser here. The form never judges a value, for the Core alone does; it
 * only never makes one of another type than the schema says. A schema that is not understood is edited as JSON.
 */

import {
  choicesOf,
  isObject,
  isSecret,
  type Member,
  membersOf,
  resolved,
  type Schema,
} from '@device-core/plugin-api/inside/schema-reader';

export { isObject, isSecret, type Member, resolved, type Schema } from '@device-core/plugin-api/inside/schema-reader';

export interface Option {
  readonly value: unknown;
  readonly label: string;
}

export type Control =
  | { readonly kind: 'choice'; readonly options: readonly Option[] }
  | { readonly kind: 'switch' }
  | { readonly kind: 'text'; readonly lines: boolean; readonly secret: boolean }
  | { readonly kind: 'number'; readonly whole: boolean; readonly min?: number; readonly max?: number }
  | { readonly kind: 'list'; readonly items: Schema }
  | { readonly kind: 'group'; readonly members: readonly Member[]; readonly open: boolean }
  | { readonly kind: 'json' };

/** Groups and lists in each other; what lies deeper is edited as JSON. */
const DEPTH = 5;
/** A group of more members is no form that anybody reads. */
const MEMBERS = 100;
const LONG_TEXT = 200;

/** The control for a value by this schema. A value that does not fit the control is shown as the JSON that it is. */
export function controlOf(schema: Schema, root: Schema, value: unknown, depth = 0): Control {
  const control = byType(resolved(schema, root), root, depth);
  return value === undefined || fits(control, value) ? control : { kind: 'json' };
}

function byType(schema: Schema, root: Schema, depth: number): Control {
  const options = optionsOf(schema, root);
  if (options !== undefined) return { kind: 'choice', options };
  if ('oneOf' in schema || 'anyOf' in schema || 'allOf' in schema || 'not' in schema || 'if' in schema)
    return { kind: 'json' };
  const { type } = schema;
  if (type === 'boolean') return { kind: 'switch' };
  if (type === 'string') {
    const secret = isSecret(schema);
    const lines = !secret && (schema.format === 'multiline' || numberOf(schema.maxLength, 0) > LONG_TEXT);
    return { kind: 'text', secret, lines };
  }
  if (type === 'integer' || type === 'number') {
    const [min, max] = [schema.minimum, schema.maximum];
    return {
      kind: 'number',
      whole: type === 'integer',
      ...(typeof min === 'number' && { min }),
      ...(typeof max === 'number' && { max }),
    };
  }
  if (depth >= DEPTH) return { kind: 'json' };
  if (type === 'array' && isObject(schema.items)) return { kind: 'list', items: schema.items };
  if (type === 'object' || (type === undefined && isObject(schema.properties))) {
    const members = membersOf(schema);
    if (members.length === 0 || members.length > MEMBERS || 'patternProperties' in schema) return { kind: 'json' };
    return { kind: 'group', members, open: schema.additionalProperties !== false };
  }
  return { kind: 'json' };
}

/** `enum`, `const`, or a choice of such. */
function optionsOf(schema: Schema, root: Schema): readonly Option[] | undefined {
  const choices = choicesOf(schema);
  if (choices) return choices.map((value) => ({ value, label: labelOf(value) }));
  const branches = schema.oneOf ?? schema.anyOf;
  if (!Array.isArray(branches) || branches.length === 0) return undefined;
  const options: Option[] = [];
  for (const branch of branches) {
    const one = resolved(branch, root);
    if (!('const' in one)) return undefined;
    options.push({ value: one.const, label: typeof one.title === 'string' ? one.title : labelOf(one.const) });
  }
  return options;
}

const labelOf = (value: unknown): string => (typeof value === 'string' && value !== '' ? value : JSON.stringify(value));

/** Can this control show the value? */
export function fits(control: Control, value: unknown): boolean {
  switch (control.kind) {
    case 'choice':
      return control.options.some((option) => same(option.value, value));
    case 'switch':
      return typeof value === 'boolean';
    case 'text':
      return typeof value === 'string' && (control.lines || !/[\r\n]/.test(value));
    case 'number':
      return typeof value === 'number' && (!control.whole || Number.isInteger(value));
    case 'list':
      return Array.isArray(value);
    case 'group':
      return isObject(value);
    case 'json':
      return true;
  }
}

/** Value of a typed text. An empty field is `undefined`, "not set", unless a text must be there. */
export function typed(control: Control, text: string, required: boolean): { readonly value: unknown } | 'no value' {
  if (control.kind === 'text') return { value: text === '' && !required ? undefined : text };
  if (text.trim() === '') return { value: undefined };
  if (control.kind === 'number') {
    const value = Number(text);
    return Number.isFinite(value) && (!control.whole || Number.isInteger(value)) ? { value } : 'no value';
  }
  try {
    return { value: JSON.parse(text) };
  } catch {
    return 'no value';
  }
}

/** The text of a field that holds this value. */
export function shownAs(control: Control, value: unknown): string {
  if (value === undefined) return '';
  if (control.kind === 'text' || control.kind === 'number') return String(value);
  return JSON.stringify(value, null, 2);
}

/** With a member set, or left out where it is `undefined`; an optional group without members is left out itself. */
export function withMember(group: unknown, name: string, value: unknown, required: boolean): unknown {
  const entries = Object.entries(isObject(group) ? group : {}).filter(([other]) => other !== name);
  const at = Object.keys(isObject(group) ? group : {}).indexOf(name);
  if (value !== undefined) entries.splice(at < 0 ? entries.length : at, 0, [name, value]);
  return entries.length === 0 && !required ? undefined : Object.fromEntries(entries);
}

/** With an item set, or taken away where it is `undefined`. */
export function withItem(list: unknown, at: number, value: unknown, required: boolean): unknown {
  const items = [...(Array.isArray(list) ? list : [])];
  if (value === undefined) items.splice(at, 1);
  else items[at] = value;
  return items.length === 0 && !required ? undefined : items;
}

/** Initial value of a new item of a list. */
export function startOf(schema: Schema, root: Schema, depth = 0): unknown {
  const own = resolved(schema, root);
  if (own.default !== undefined) return structuredClone(own.default);
  const control = byType(own, root, depth);
  switch (control.kind) {
    case 'choice':
      return control.options[0]?.value;
    case 'switch':
      return false;
    case 'text':
      return '';
    case 'number':
      return Math.max(control.min ?? 0, Math.min(0, control.max ?? 0));
    case 'list':
      return [];
    case 'group': {
      const members = control.members.filter(({ required }) => required);
      return Object.fromEntries(members.map(({ name, schema: inner }) => [name, startOf(inner, root, depth + 1)]));
    }
    case 'json':
      return own.type === 'object' ? {} : own.type === 'array' ? [] : '';
  }
}

export function same(a: unknown, b: unknown): boolean {
  return a === b || JSON.stringify(a) === JSON.stringify(b);
}

const numberOf = (value: unknown, otherwise: number): number => (typeof value === 'number' ? value : otherwise);
