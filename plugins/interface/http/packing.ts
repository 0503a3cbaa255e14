/** Long JSON answers are packed with gzip for clients that accept it (RFC 9110, 12.5.3): pages in a browser, whose line may be slow. */
import type { IncomingMessage } from 'node:http';

/** A shorter answer fits into a few packets anyway. */
const FROM_BYTES = 8 * 1024;
/** Half of what the default level costs, for an eighth more bytes. */
const LEVEL = 3;
/** Answers that are packed in other threads now; beyond that they go out as they are. */
const MOST_AT_ONCE = 4;

/** Packed copies of documents that are made once and asked for often. */
const packed = new WeakMap<Buffer, Promise<Buffer>>();
let underWay = 0;

export const isLong = (bytes: number): boolean => bytes >= FROM_BYTES;

/** Undefined where the client wants it as it is, or too many are being packed. */
export function pack(body: string | Buffer, { method, headers }: IncomingMessage): Promise<Buffer> | undefined {
  const accepted = headers['accept-encoding'];
  if (accepted === undefined || method === 'HEAD' || !acceptsGzip(String(accepted))) return undefined;
  const known = typeof body === 'string' ? undefined : packed.get(body);
  if (known) return known;
  if (underWay >= MOST_AT_ONCE) return undefined;
  const made = gzip(body);
  if (typeof body !== 'string') {
    packed.set(body, made);
    made.catch(() => packed.delete(body));
  }
  return made;
}

/** Rejects only where there is no memory for it. */
function gzip(body: string | Buffer): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  underWay += 1;
  process.getBuiltinModule('node:zlib').gzip(body, { level: LEVEL }, (error, bytes) => {
    underWay -= 1;
    if (error) reject(error);
    else resolve(bytes);
  });
  return promise;
}

/** `gzip`, `x-gzip` or else `*`, unless its weight is 0. */
export function acceptsGzip(header: string): boolean {
  let any = false;
  for (const one of header.toLowerCase().split(',')) {
    const [coding = '', ...params] = one.split(';').map((part) => part.trim());
    const isRefused = params.some((param) => /^q=0(?:\.0*)?$/.test(param));
    if (coding === 'gzip' || coding === 'x-gzip') return !isRefused;
    if (coding === '*') any = !isRefused;
  }
  return any;
}
