import { redactText } from '@device-core/plugin-api/inside/redact';

/**
 * Hides the passwords of addresses in a report of a SKU. Names of members decide nothing here: a `pin` of a SKU is
 * one of the board.
 */
export function hidden<T>(told: T): T {
  if (typeof told === 'string') return redactText(told) as T;
  if (typeof told !== 'object' || told === null) return told;
  if (Array.isArray(told)) return told.map(hidden) as T;
  return Object.fromEntries(Object.entries(told).map(([key, value]) => [key, hidden(value)])) as T;
}
