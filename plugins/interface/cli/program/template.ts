/** Templates of views: `{a.b}`, `{a|b}` for the first that is there, `{a:ago}` for one that is formatted. */
import { cell, duration, timeOf } from '@device-core/plugin-api/program';
import { summary } from './summary.ts';

const FORMATS: Readonly<Record<string, (value: unknown) => string>> = {
  /** An app that cannot be used never came into a state: its time is 0. */
  ago: (value) => (Number(value) > 0 ? duration(Date.now() - Number(value)) : '-'),
  time: (value) => timeOf(Number(value)),
  /** Local, to the second. */
  when: (value) => {
    const two = (part: number) => String(part).padStart(2, '0');
    const at = new Date(Number(value));
    const day = [at.getFullYear(), at.getMonth() + 1, at.getDate()].map(two).join('-');
    return Number(value) > 0 ? `${day} ${timeOf(Number(value)).slice(0, 8)}` : '-';
  },
  date: (value) => new Date(Number(value)).toISOString(),
  ms: (value) => `${Math.round(Number(value))} ms`,
  json: (value) => (typeof value === 'string' ? value : JSON.stringify(value)),
  count: (value) => String(Array.isArray(value) ? value.length : Object.keys(Object(value)).length),
  /** Only asks whether it is there. */
  if: () => '',
};

const FIELD = /\{([^{}:]+)(?::([a-z]+))?\}/g;

/** Undefined where a member is missing. */
export function fill(template: string, scope: unknown): string | undefined {
  let whole = true;
  const text = template.replace(FIELD, (_, paths: string, format?: string) => {
    const value = first(paths, scope);
    if (value === undefined) whole = false;
    return value === undefined ? '' : cell(format ? (FORMATS[format]?.(value) ?? value) : summary(value));
  });
  return whole ? text : undefined;
}

/** The value itself where the template is one member without format: a number stays one, and stands at the right. */
export function evaluate(template: string, scope: unknown): unknown {
  const [, paths, format] = /^\{([^{}:]+)(?::([a-z]+))?\}$/.exec(template) ?? [];
  if (paths !== undefined && format === undefined) return first(paths, scope);
  // Empty fields of a longer cell are left out.
  return template.replace(FIELD, (field) => fill(field, scope) ?? '').trim();
}

function first(paths: string, scope: unknown): unknown {
  for (const path of paths.split('|')) {
    const value = member(scope, path.split('.'));
    if (!isEmpty(value)) return value;
  }
  return undefined;
}

function member(value: unknown, [name, ...rest]: readonly string[]): unknown {
  if (name === undefined) return value;
  if (Array.isArray(value)) return value.map((item) => member(item, [name, ...rest])).filter((item) => !isEmpty(item));
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? member((value as Record<string, unknown>)[name], rest)
    : undefined;
}

function isEmpty(value: unknown): boolean {
  return value === undefined || (Array.isArray(value) && value.length === 0);
}
