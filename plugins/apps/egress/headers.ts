/** Headers that are for the next one on the way, and no further (RFC 9110, 7.6.1). Pure. */
const HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-connection', 'proxy-authenticate', 'proxy-authorization', 'te', 'trailer'],
  ...['transfer-encoding', 'upgrade', 'host'],
]);

/** Name after value, as they came, without those for this hop; nothing of it can say where the request goes. */
export function passedOn(raw: readonly string[]): string[] {
  const named = new Set(
    pairs(raw).flatMap(([name, value]) =>
      name.toLowerCase() === 'connection' ? value.split(',').map((one) => one.trim().toLowerCase()) : [],
    ),
  );
  return pairs(raw).flatMap(([name, value]) => {
    const lower = name.toLowerCase();
    // Its length is never another's business: without it the body would be another.
    const hop = HOP.has(lower) || (named.has(lower) && lower !== 'content-length');
    return hop ? [] : [name, value];
  });
}

function pairs(raw: readonly string[]): readonly (readonly [name: string, value: string])[] {
  return raw.flatMap((name, at) => (at % 2 === 0 ? [[name, raw[at + 1] ?? ''] as const] : []));
}
