/** A value in one line: lists with commas, objects as `name value`, what lies deeper as the number of its entries. */
export function summary(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.every(isScalar) ? value.map(String).join(', ') : inner(value);
  if (typeof value !== 'object' || value === null) return String(value);
  return Object.entries(value)
    .filter(([, one]) => !isNothing(one))
    .map(([name, one]) => `${name} ${inner(one)}`)
    .join(', ');
}

function inner(value: unknown): string {
  if (typeof value !== 'object' || value === null) return summary(value);
  if (Array.isArray(value) && value.every(isScalar)) return `[${summary(value)}]`;
  const count = Object.keys(value).length;
  return count === 1 ? '1 entry' : `${count} entries`;
}

export function isScalar(value: unknown): boolean {
  return typeof value !== 'object' || value === null;
}

/** Nothing to show: not there, or an empty list or object. */
export function isNothing(value: unknown): boolean {
  return value === undefined || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}
