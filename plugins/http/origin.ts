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
  refusal({ headers }: IncomingMessage): CoreError | undefined {
    const { host, origin } = headers;
    if (host === undefined || !this.#hosts.has(host.toLowerCase())) return denied('host', host ?? '');
    if (origin !== undefined && !this.#origins.has(origin.toLowerCase())) return denied('origin', origin);
    return undefined;
  }
}

function denied(header: string, value: string): CoreError {
  return new CoreError('ORIGIN_DENIED', { header, value: value.slice(0, SHOWN) });
}
