/** The registry as a service: checks on the way in, calls on the way out, news for those who watch. */
import type {
  Capabilities,
  CoreError,
  FunctionInfo,
  FunctionRegistration,
  FunctionSpecification,
  Functions,
  Logger,
} from '@device-core/plugin-api';
import { type Calls, checkPermissions } from './calls.ts';
import { type Registered, readSpecification } from './entry.ts';
import type { Presence } from './presence.ts';
import type { Registry } from './registry.ts';

export interface ServiceOptions {
  readonly registry: Registry;
  readonly presence: Presence;
  readonly calls: Calls;
  readonly capabilities: Capabilities;
  /** Function id -> session that registered it. */
  readonly sessions: Map<string, string>;
  /** Policy: why a function may not be registered. */
  readonly refusal: (registration: FunctionRegistration) => Promise<CoreError | undefined>;
  readonly log: Logger;
}

export function functionService(options: ServiceOptions): Functions {
  const { registry, presence, calls, capabilities, sessions, refusal, log } = options;
  const listeners = new Set<() => void>();
  const changed = () => {
    for (const listener of listeners) {
      try {
        listener();
      } catch (error) {
        log.error({ err: error }, 'a listener of the function registry failed');
      }
    }
  };
  const infoOf = ({ app, entry, id }: Registered): FunctionInfo => ({
    ...entry,
    app,
    id,
    available: presence.has(app),
  });
  return {
    async register(specification: FunctionSpecification, session?: string) {
      const entries = readSpecification(specification);
      for (const entry of entries) checkPermissions(capabilities, entry);
      for (const { app, entry } of entries) {
        const refused = await refusal({ app, entry });
        if (refused) throw refused;
      }
      const news = registry.add(specification.app, entries);
      for (const { id } of entries) {
        if (session === undefined) sessions.delete(id);
        else sessions.set(id, session);
      }
      if (news) changed();
      return entries.map(infoOf);
    },
    async unregister(app, name, version) {
      const gone = registry
        .list({ app, name })
        .filter(({ entry }) => version === undefined || entry.version === version);
      const removed = registry.remove(app, name, version);
      for (const { id } of gone) sessions.delete(id);
      if (removed > 0) changed();
      return removed;
    },
    list: async (filter = {}) => registry.list(filter).map(infoOf),
    describe: async (name, { app, version } = {}) =>
      infoOf(registry.resolve(app ?? registry.owner(name), name, version)),
    call: (request) => calls.call(request),
    onChange(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
}

/** The registry as specifications, one an app: what register() takes. */
export function specificationsOf(registry: Registry): readonly FunctionSpecification[] {
  const byApp = Map.groupBy(registry.list(), ({ app }) => app);
  return [...byApp].map(([app, entries]) => ({ app, functions: entries.map(({ entry }) => entry) }));
}
