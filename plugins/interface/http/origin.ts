/** Which hosts and pages may speak to the Core over TCP: a page in a browser must not reach it by DNS rebinding or CSRF (decisions D1). */
import type { IncomingMessage } from 'node:http';
import { CoreError } from '@device-core/plugin-api';

const NAMES = ['localhost', '127.0.0.1', '[::1]'] as const;
const SHOWN = 80;

export class OriginCheck {
  readonly #hosts: ReadonlySet<string>;
  readonly #origins: ReadonlySet<string>;

  constructor(port: number) {
    const hosts = NAMES.map((name) => `${name}:${port}`);
    this.#hosts = new Set(hosts);
    this.#origins = new Set(hosts.map((host) => `http://${host}`));
  }

  /** The refusal, if any. */
  refusal({ headers, rawHeaders, url = '/' }: IncomingMessage): CoreError | undefined {
    const { host, origin } = headers;
    if (host === undefined || !this.#hosts.has(host.toLowerCase())) return denied('host', host ?? '');
    if (isRepeated(rawHeaders)) return denied('host', 'two of them');
    // A request line may name a host, too, and would be the one that counts (RFC 9112, 3.2.2).
    const named = url.startsWith('/') ? undefined : /^[a-z][a-z0-9+.-]*:\/\/([^/?#]*)/i.exec(url)?.[1];
    if (named !== undefined && !this.#hosts.has(named.toLowerCase())) return denied('host', named);
    if (origin !== undefined && !this.#origins.has(origin.toLowerCase())) return denied('origin', origin);
    return undefined;
  }
}

/** Node keeps the first host of several. */
function isRepeated(rawHeaders: readonly string[]): boolean {
  let seen = false;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.length !== 4 || name.toLowerCase() !== 'host') continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

function denied(header: string, value: string): CoreError {
  return new CoreError('ORIGIN_DENIED', { header, value: value.slice(0, SHOWN) });
}
