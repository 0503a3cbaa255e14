/** Act of a page that a person confirms: in words, and as a text that is the same for these params alone. Pure. */

import type { Sensitive, SensitiveAct } from '../../services/operations.ts';
import { filled } from '../consent/words.ts';

/** Characters of a param in a message. */
const SHORT = 54;
/** Characters that would end the line, turn its direction or stay unseen. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Undefined where these params make it harmless. */
export function actOf(operation: string, { act, unless }: Sensitive, params: unknown): SensitiveAct | undefined {
  const given = Object(params) as Readonly<Record<string, unknown>>;
  const harmless = Object.entries(unless ?? {});
  if (harmless.length > 0 && harmless.every(([name, value]) => sorted(given[name]) === sorted(value))) return undefined;
  const names: Record<string, string> = {};
  const value = (name: string) => {
    if (given[name] === undefined) return undefined;
    names[name] = shown(given[name]);
    return names[name];
  };
  const full = filled(act, value);
  const what = filled(act, (name) => short(value(name)));
  return { operation, what, act: full, names, exact: `${operation} ${sorted(params)}` };
}

function shown(value: unknown): string {
  return (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replaceAll(UNSEEN, ' ');
}

function short(text: string | undefined): string | undefined {
  return text !== undefined && text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}

/** JSON in which the order of members does not matter. */
function sorted(value: unknown): string {
  return (
    JSON.stringify(value, (_, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? ''
  );
}
