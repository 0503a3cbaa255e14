/** The registry as a service: checks on the way in, calls on the way out, news for those who watch. */
import { type Capabilities, type CoreError, type Logger, toCoreError } from '@device-core/plugin-api';
import type {
  FunctionInfo,
  FunctionRegistration,
  FunctionSpecification,
  Functions,
} from '@device-core/plugin-api/services/functions';
import { type Calls, checkPermissions } from './calls.ts';
import { type Registered, readEntry, readSpecification } from './entry.ts';
import { explain, LeftOutFunctions, lacks } from './left-out.ts';
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
  const waiting = new LeftOutFunctions(capabilities);
  const accept = async (entry: Registered) => {
    checkPermissions(capabilities, entry);
    const refused = await refusal(entry);
    if (refused) throw refused;
    return registry.add(entry.app, [entry]);
  };
  /** Registers waiting functions whose capability is there now. */
  const settle = async () => {
    for (const { app, entry } of waiting.granted()) {
      waiting.remove(app, entry.name, entry.version);
      await offer(app, entry);
      changed();
    }
  };
  /** The function, where it was taken. */
  const offer = async (app: string, given: unknown): Promise<Registered | undefined> => {
    let entry: Registered | undefined;
    try {
      entry = readEntry(app, given);
      await accept(entry);
      return entry;
    } catch (thrown) {
      waiting.add(app, given, toCoreError(thrown, `registering a function of ${app}`));
      return undefined;
    }
  };
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
    async offer({ app, functions }: FunctionSpecification) {
      const told = new Set(waiting.list(app).map(explain));
      waiting.remove(app);
      const before = registry.count(app);
      const offered: Registered[] = [];
      for (const given of functions) {
        const entry = await offer(app, given);
        if (entry) offered.push(entry);
      }
      const leftOut = waiting.list(app);
      for (const one of leftOut)
        if (!told.has(explain(one)))
          log.warn({ app, code: one.code }, `function ${one.name} of ${app} is left out: ${explain(one)}`);
      if (registry.count(app) !== before || leftOut.length > 0) changed();
      return { registered: offered.map(infoOf), leftOut };
    },
    async leftOut({ app } = {}) {
      await settle();
      const lost = registry.list({ app }).flatMap((one) => lacks(capabilities, one) ?? []);
      return [...waiting.list(app), ...lost];
    },
    async unregister(app, name, version) {
      waiting.remove(app, name, version);
      const gone = registry
        .list({ app, name })
        .filter(({ entry }) => version === undefined || entry.version === version);
      const removed = registry.remove(app, name, version);
      for (const { id } of gone) sessions.delete(id);
      if (removed > 0) changed();
      return removed;
    },
    async list(filter = {}) {
      await settle();
      return registry.list(filter).map(infoOf);
    },
    async describe(name, { app, version } = {}) {
      await settle();
      try {
        return infoOf(registry.resolve(app ?? registry.owner(name), name, version));
      } catch (thrown) {
        throw waiting.explained(thrown, name, app);
      }
    },
    async call(request) {
      if (waiting.size > 0) await settle();
      try {
        return await calls.call(request);
      } catch (thrown) {
        throw waiting.explained(thrown, request.name, request.app);
      }
    },
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
