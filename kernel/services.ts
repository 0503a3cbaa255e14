import { types } from 'node:util';
import { CoreError, FOR_USER, type ServiceUser } from '@device-core/plugin-api';
import { satisfies } from '@device-core/plugin-api/inside/versions';
import type { PluginScope } from './scope.ts';
import { viewFor } from './usage/usage.ts';

interface Provided {
  readonly id: string;
  readonly version: string;
  readonly plugin: string;
  /** Reference that users hold: every method checks `gate` first. */
  readonly reference: object;
  readonly gate: { open: boolean };
  /** Makes the reference of one user, if the provider tells its users apart. */
  readonly view: ((user: ServiceUser) => object) | undefined;
}

interface Watcher {
  readonly id: string;
  readonly range: string;
  readonly scope: PluginScope;
  readonly user: ServiceUser;
  readonly use: (service: never, scope: PluginScope) => unknown;
  part?: PluginScope | undefined;
}

/** Which service is there, in which version of its contract, and who waits for it. */
export class ServiceRegistry {
  readonly #provided = new Map<string, Provided>();
  readonly #watchers = new Set<Watcher>();
  /** Runs of use() that are not over. */
  readonly #offers = new Set<Promise<void>>();

  /** The provider of a service in any version. */
  provider(id: string): { readonly plugin: string; readonly version: string } | undefined {
    return this.#provided.get(id);
  }

  /** The reference of a service that matches the range: that of the user, where its provider tells users apart. */
  find(id: string, range: string, user?: ServiceUser): object | undefined {
    const provided = this.#provided.get(id);
    if (!provided || !satisfies(provided.version, range)) return undefined;
    return user && provided.view ? provided.view(user) : provided.reference;
  }

  /** Makes all services of one plugin visible, then calls the watchers. Throws SERVICE_ALREADY_PROVIDED. */
  add(
    plugin: string,
    services: readonly { readonly id: string; readonly version: string; readonly impl: object }[],
  ): void {
    for (const { id } of services) {
      const other = this.#provided.get(id);
      if (other) throw new CoreError('SERVICE_ALREADY_PROVIDED', { service: id, plugin: other.plugin });
    }
    for (const { id, version, impl } of services) {
      const gate = { open: true };
      const view =
        FOR_USER in impl ? (user: ServiceUser) => revocable(viewFor(impl, user), gate, id, plugin) : undefined;
      this.#provided.set(id, { id, version, plugin, reference: revocable(impl, gate, id, plugin), gate, view });
    }
    for (const watcher of this.#watchers) if (!watcher.part) void this.#offer(watcher);
  }

  /** Withdraws a service: it is hidden at once, the parts of its watchers end, then every reference is void. */
  async withdraw(id: string, ms: number): Promise<void> {
    const provided = this.#provided.get(id);
    if (!provided) return;
    this.#provided.delete(id);
    const parts = [...this.#watchers].filter((watcher) => watcher.id === id);
    await Promise.all(
      parts.map(async (watcher) => {
        const part = watcher.part;
        watcher.part = undefined;
        await part?.end(ms);
      }),
    );
    provided.gate.open = false;
  }

  /** Runs `use` now and each time the service appears, until the scope ends. Resolves when the first run is over. */
  watch(watcher: Watcher): Promise<void> {
    this.#watchers.add(watcher);
    watcher.scope.defer(`watch ${watcher.id}`, () => void this.#watchers.delete(watcher));
    return this.#offer(watcher);
  }

  /** Resolves when everybody who was told of a service has done with it what they do first. */
  async settled(): Promise<void> {
    await Promise.all(this.#offers);
  }

  #offer(watcher: Watcher): Promise<void> {
    const offer = this.#use(watcher).finally(() => this.#offers.delete(offer));
    this.#offers.add(offer);
    return offer;
  }

  async #use(watcher: Watcher): Promise<void> {
    const service = this.find(watcher.id, watcher.range, watcher.user);
    if (!service || watcher.scope.signal.aborted) return;
    const part = watcher.scope.child(`when ${watcher.id}`);
    watcher.part = part;
    await part.attempt(`when ${watcher.id}`, () => watcher.use(service as never, part));
  }
}

/**
 * An object with the methods of a service that stop working when the gate shuts. The methods are wrapped once per start
 * of a provider, so that a call costs one check and one call more, which the compiler inlines.
 */
function revocable(impl: object, gate: { readonly open: boolean }, service: string, plugin: string): object {
  const reference: Record<PropertyKey, unknown> = {};
  const check = () => {
    if (!gate.open) throw new CoreError('SERVICE_REVOKED', { service, plugin });
  };
  if (types.isProxy(impl)) return revocableProxy(impl, check);
  for (let owner = impl; owner && owner !== Object.prototype; owner = Object.getPrototypeOf(owner)) {
    for (const key of Reflect.ownKeys(owner)) {
      if (key === 'constructor' || key === FOR_USER || Object.hasOwn(reference, key)) continue;
      const { value } = Object.getOwnPropertyDescriptor(owner, key) ?? {};
      if (typeof value === 'function') {
        const method = value as (...args: unknown[]) => unknown;
        reference[key] = (...args: unknown[]) => {
          if (!gate.open) check();
          return method.apply(impl, args);
        };
      } else {
        const get = () => {
          check();
          return Reflect.get(impl, key);
        };
        Object.defineProperty(reference, key, { enumerable: true, get });
      }
    }
  }
  return Object.freeze(reference);
}

/** A proxy answers for members that it does not list, and so does what stands for it. */
function revocableProxy(impl: object, check: () => void): object {
  return new Proxy(impl, {
    get(target, key) {
      const member: unknown = Reflect.get(target, key);
      if (typeof member !== 'function') return member;
      return (...args: unknown[]) => {
        check();
        return Reflect.apply(member, target, args);
      };
    },
  });
}
