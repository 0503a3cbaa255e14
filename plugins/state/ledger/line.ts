/** Lines of a list of departures, one JSON object each. Pure. */
import type { DepartureLine, DepartureSum } from '@device-core/plugin-api/inside/services/ledger';

/** A departure, what is known of its bytes by now, or what was forgotten, summed up. */
export type Line =
  | { readonly kind: 'departure'; readonly line: Omit<DepartureLine, 'part'> }
  | { readonly kind: 'bytes'; readonly id: string; readonly bytes: number }
  | { readonly kind: 'sum'; readonly sum: DepartureSum };

/**
 * `other`: of another form, as a newer Core may have written it. `place` is its number in the file, of which older
 * lines without id get one.
 */
export function parseLine(text: string, place: number): Line | 'other' | 'broken' {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Counted by the caller.
    return 'broken';
  }
  if (typeof value !== 'object' || value === null) return 'broken';
  const members = value as Readonly<Record<string, unknown>>;
  if (isText(members.id) && isNumber(members.at) && ['for', 'to', 'what'].every((name) => isText(members[name])))
    return { kind: 'departure', line: members as unknown as Omit<DepartureLine, 'part'> };
  if (isText(members.of) && isNumber(members.bytes)) return { kind: 'bytes', id: members.of, bytes: members.bytes };
  const sum = members.sum as Partial<DepartureSum> | undefined;
  if (isText(sum?.for) && isText(sum.to) && isNumber(sum.count) && isNumber(sum.bytes))
    return { kind: 'sum', sum: sum as DepartureSum };
  return fromVoice(members, place) ?? 'other';
}

/** As the plugin `voice` wrote them before there was a ledger for all. */
function fromVoice(members: Readonly<Record<string, unknown>>, place: number): Line | undefined {
  const { at, turn, to, what, bytes, rule } = members;
  if (!isNumber(at) || !isText(turn) || !isNumber(bytes)) return undefined;
  const line = { id: `voice-${place}`, at, for: 'voice', to: String(to), what: String(what), bytes };
  return { kind: 'departure', line: { ...line, details: { turn, rule: String(rule) } } };
}

export const departureText = (line: Omit<DepartureLine, 'part'>): string => `${JSON.stringify(line)}\n`;
export const bytesText = (of: string, bytes: number): string => `${JSON.stringify({ of, bytes })}\n`;
export const sumText = (sum: DepartureSum): string => `${JSON.stringify({ sum })}\n`;

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
