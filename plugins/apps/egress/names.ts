import { Resolver } from 'node:dns/promises';
import { CoreError, type Scope } from '@device-core/plugin-api';
import { isOwn, isPublic } from './addresses.ts';

export interface NamesOptions {
  readonly scope: Scope;
  /** Names that are not looked up, and their addresses, which may lie inside. */
  readonly hosts: Readonly<Record<string, readonly string[]>>;
  /** Names that may lead inside; `*`: all. */
  readonly allowPrivate: readonly string[];
  /** `<address>[:<port>]` of name servers; those of the system if there is none. */
  readonly servers: readonly string[];
  readonly resolveMs: number;
  /** Look-ups of one app at a time: one whose servers are silent keeps no other waiting. */
  readonly lookUps: number;
}

/** Most addresses of one name that are checked; only MOST_TRIED of them are tried. */
const MOST_LOOKED_AT = 256;
const MOST_TRIED = 4;
const TRIES = 2;

/**
 * Looks names up, and keeps what leads inside. It asks the servers by itself: the system's own look-up holds a thread
 * that files need, too, for as long as a server is silent.
 */
export class Names {
  readonly #options: NamesOptions;
  readonly #busy = new Map<string, number>();

  constructor(options: NamesOptions) {
    this.#options = options;
  }

  /** Addresses to be tried one after the other, at least one. Throws EGRESS_DENIED, UNAVAILABLE, TIMEOUT, BUSY, CANCELLED. */
  async addresses(app: string, host: string, signal: AbortSignal): Promise<readonly string[]> {
    const { hosts, allowPrivate } = this.#options;
    const named = Object.hasOwn(hosts, host) ? hosts[host] : undefined;
    if (named) return named.slice(0, MOST_TRIED);
    const found = (await this.#lookUp(app, host, signal)).slice(0, MOST_LOOKED_AT);
    const allowed = allowPrivate.includes('*') || allowPrivate.includes(host);
    const outside = allowed ? found : found.filter((address) => isPublic(address) && !isOwn(address));
    if (outside.length > 0) return outside.slice(0, MOST_TRIED);
    const reason = `its name leads to ${found.slice(0, 3).join(', ')}, which is not outside of the house`;
    const hint = `plugins: { egress: { config: { allowPrivate: ["${host}"] } } } in the SKU`;
    throw new CoreError('EGRESS_DENIED', { app, host, reason, hint });
  }

  async #lookUp(app: string, host: string, signal: AbortSignal): Promise<readonly string[]> {
    const { scope, resolveMs, lookUps, servers } = this.#options;
    const busy = this.#busy.get(app) ?? 0;
    if (busy >= lookUps) throw new CoreError('BUSY', { what: 'a look-up of a name', limit: lookUps });
    this.#busy.set(app, busy + 1);
    const resolver = new Resolver({ timeout: Math.ceil(resolveMs / TRIES), tries: TRIES });
    try {
      if (servers.length > 0) resolver.setServers(servers);
      const both = () => Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
      const [four, six] = await scope.within(`the look-up of ${host}`, resolveMs, both, { signal });
      const found = [four, six].flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
      if (found.length > 0) return found;
      const [first] = [four, six].flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
      const code = (first as NodeJS.ErrnoException | undefined)?.code ?? 'it has no address';
      throw new CoreError('UNAVAILABLE', { what: host, reason: `its name cannot be looked up: ${code}` });
    } finally {
      const left = (this.#busy.get(app) ?? 1) - 1;
      if (left > 0) this.#busy.set(app, left);
      else this.#busy.delete(app);
      resolver.cancel();
    }
  }
}
