/** Keeps secrets out of logs, whoever writes them (specification, Authentication 5). Pure. */
const SECRET = /token|password|passphrase|secret|authorization|cookie|credential|api[_-]?key|private[_-]?key/i;
const BEARER = /\b(Bearer|Basic)\s+[\w.~+/=-]{8,}/gi;

/** A value for the log: secret members hidden at any depth, errors as plain objects, an end to depth and length. */
export function redact(value: unknown, depth = 0): unknown {
  if (typeof value === 'string') return value.replace(BEARER, '$1 [redacted]');
  if (typeof value !== 'object' || value === null) return value;
  if (depth > 8) return '[deep]';
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  if (Array.isArray(value)) return value.slice(0, 100).map((one) => redact(one, depth + 1));
  const { name, message, stack, cause } = value as Partial<Error>;
  const members = value instanceof Error ? { ...value, name, message, stack, cause } : value;
  return Object.fromEntries(
    Object.entries(members).map(([key, one]) => [key, SECRET.test(key) ? '[redacted]' : redact(one, depth + 1)]),
  );
}
