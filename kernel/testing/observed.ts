/** Notes of a plugin's use of services and resources in a test; plugin-check finds unused claims by them. */
import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { appendFileSync } from 'node:fs';
import type { Caller, PluginDefinition, PluginHost, Resolved, ServiceRefs } from '@device-core/plugin-api';

/** Environment variable that names the file of the notes; without it nothing is noted. */
export const OBSERVED_VARIABLE = 'DEVICE_CORE_OBSERVED';
/** Environment variable with the folder of the plugin's code. */
export const OBSERVED_CODE_VARIABLE = 'DEVICE_CORE_OBSERVED_CODE';

/**
 * `method`: a method of a service, `spi.transfer`. `resource`: the plugin or its test used the resource of a capability.
 * `calls`: the plugin called an operation in its own name, which may need any capability.
 */
export type ObservedKind =
  | 'service'
  | 'method'
  | 'optional'
  | 'tap'
  | 'hook'
  | 'publish'
  | 'capability'
  | 'resource'
  | 'calls';

export interface Observation {
  readonly plugin: string;
  readonly kind: ObservedKind;
  readonly name: string;
}

type Note = (kind: ObservedKind, name: string) => void;

/** Resources of the operating system, and the capability for each. */
const RESOURCES: Readonly<Record<string, string>> = {
  TCPCONNECTWRAP: 'network.outbound',
  UDPSENDWRAP: 'network.outbound',
  GETADDRINFOREQWRAP: 'network.outbound',
  TCPSERVERWRAP: 'network.listen',
};

/** The setup() of a plugin with what it is given, with notes of its use if the environment names a file for them. */
export function observed<R extends ServiceRefs, C>(
  plugin: PluginDefinition<R, C>,
  host: PluginHost<C>,
  services: Resolved<R>,
): () => ReturnType<PluginDefinition<R, C>['setup']> {
  const file = process.env[OBSERVED_VARIABLE];
  if (file === undefined) return () => plugin.setup(host, services);
  const note = noteInto(file, host.id);
  const within = watchResources(note, process.env[OBSERVED_CODE_VARIABLE]);
  const watched = Object.entries(services).map(([name, service]) => {
    return [name, watchedService(service as object, plugin.requires?.[name]?.id ?? name, note)];
  });
  return () => within(() => plugin.setup(watchedHost(host, note), Object.fromEntries(watched)));
}

/** Returns a function that runs another one so that all it begins counts as the plugin's doing. */
function watchResources(note: Note, folder: string | undefined): <T>(fn: () => T) => T {
  const begun = new AsyncLocalStorage<true>();
  const hook = createHook({
    init(_id, type) {
      const capability = RESOURCES[type];
      if (capability === undefined) return;
      note('resource', capability);
      if (begun.getStore() || (folder !== undefined && calledFrom(folder))) note('capability', capability);
    },
  });
  hook.enable();
  return (fn) => begun.run(true, fn);
}

/** Does code of the plugin stand on the stack, which is neither its test nor its fakes? */
function calledFrom(folder: string): boolean {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const frames = new Error('where').stack?.split('\n') ?? [];
  Error.stackTraceLimit = limit;
  return frames.some((frame) => frame.includes(`${folder}/`) && !/node_modules|\.test\.|\/fakes\./.test(frame));
}

/** Each thing once: a plugin that publishes a thousand events writes one line. */
function noteInto(file: string, plugin: string): Note {
  const seen = new Set<string>();
  return (kind, name) => {
    const line = JSON.stringify({ plugin, kind, name } satisfies Observation);
    if (seen.has(line)) return;
    seen.add(line);
    appendFileSync(file, `${line}\n`);
  };
}

function watchedHost<C>(host: PluginHost<C>, note: Note): PluginHost<C> {
  const own = (caller: Caller) => caller.kind === 'plugin' && caller.id === host.id;
  const { bus, capabilities } = host;
  return {
    ...host,
    bus: {
      publish(topic, payload, priority) {
        note('publish', topic);
        bus.publish(topic, payload, priority);
      },
      subscribe: (filter, fn, options) => bus.subscribe(filter, fn, options),
    },
    capabilities: {
      require(caller, capability) {
        if (own(caller)) note('capability', capability);
        capabilities.require(caller, capability);
      },
      holds(caller, capability) {
        if (own(caller)) note('capability', capability);
        return capabilities.holds(caller, capability);
      },
      requireAny(caller, family) {
        if (own(caller)) note('capability', family);
        capabilities.requireAny(caller, family);
      },
    },
    when(ref, use) {
      note('optional', ref.id);
      host.when(ref, use);
    },
    tap(hook, fn, order) {
      note('tap', hook);
      host.tap(hook, fn, order);
    },
    hook(id) {
      note('hook', id);
      return host.hook(id);
    },
  };
}

/** A proxy of nothing: a reference to a service is frozen, and a proxy of it could not answer with anything else. */
function watchedService(service: object, id: string, note: Note): object {
  return new Proxy(Object.create(null) as object, {
    has: (_target, key) => key in service,
    get(_target, key) {
      const member: unknown = Reflect.get(service, key);
      if (typeof member !== 'function') return member;
      return (...values: unknown[]) => {
        note('service', id);
        note('method', `${id}.${String(key)}`);
        if (id === 'operations' && values.some(byPlugin)) note('calls', String(key));
        return Reflect.apply(member, service, values);
      };
    },
  });
}

function byPlugin(value: unknown): boolean {
  return (value as { readonly caller?: Partial<Caller> } | null | undefined)?.caller?.kind === 'plugin';
}
