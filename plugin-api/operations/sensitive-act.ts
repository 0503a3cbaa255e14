/** What a page wants to do and a person confirms: in words, and as a text that is the same for these params alone. Pure. */
import type { Sensitive, SensitiveAct } from '../index.ts';

/** Characters of a param that are shown. */
const SHOWN = 54;
/** What would end the line, turn its direction or not be seen. */
const UNSEEN = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** Undefined where these params make it harmless. */
export function actOf(operation: string, { act, unless }: Sensitive, params: unknown): SensitiveAct | undefined {
  const given = Object(params) as Readonly<Record<string, unknown>>;
  const harmless = Object.entries(unless ?? {});
  if (harmless.length > 0 && harmless.every(([name, value]) => sorted(given[name]) === sorted(value))) return undefined;
  const names: Record<string, string> = {};
  // A part in brackets is left out where its param is.
  const sentence = act.replaceAll(/\[([^\]{]*\{(\w+)\}[^\]]*)\]/g, (_, part: string, name: string) =>
    given[name] === undefined ? '' : part,
  );
  const what = sentence.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    names[name] = shown(given[name]);
    return names[name];
  });
  return { operation, what, names, exact: `${operation} ${sorted(params)}` };
}

function shown(value: unknown): string {
  const text = (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).replaceAll(UNSEEN, ' ');
  return text.length > SHOWN ? `${text.slice(0, SHOWN)}…` : text;
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
