import type { HookCaller, HookId, Logger, PluginHost, Scope } from '@device-core/plugin-api';
import { CoreError, reasonOf } from '@device-core/plugin-api';
import type { WatchedHook } from '../hooks.ts';
import type { GuestUsage } from '../usage/guest-watch.ts';
import { sender } from './guest/delivery.ts';
import type { HookUse, HostRoot } from './guest/protocol.ts';
import type { Blame } from './launched.ts';

export interface HostRootOptions {
  readonly host: PluginHost;
  readonly write: (level: keyof Logger, fields: object, message: string) => void;
  readonly alive: (usage: GuestUsage) => void;
  readonly crashed: (error: Error, blame: Blame) => void;
  readonly congested: (retryAfterMs: number) => void;
  /** Resolves when the guest has ended its scope; begins to end it. */
  readonly stopped: () => Promise<void>;
}

/** The host as a guest reaches it: calls go to its PluginHost, which checks the manifest's bounds. */
export function hostRoot({ host, write, alive, crashed, congested, stopped }: HostRootOptions): HostRoot {
  const { id } = host;
  const levels = new Set<keyof Logger>(['debug', 'info', 'warn', 'error']);
  const ref = (service: string) => ({ kind: 'service' as const, id: service, version: '0.0.0' });
  const nothing = () => undefined;
  return {
    log: (level, fields, message) => write(levels.has(level) ? level : 'info', Object(fields), String(message)),
    publish(topic, payload, priority) {
      try {
        host.bus.publish(topic, payload, priority);
      } catch (error) {
        if (!(error instanceof CoreError) || error.code !== 'QUEUE_FULL') throw error;
        write('warn', { topic }, `an event was lost: ${reasonOf(error)}`);
        congested(Number(error.details.retryAfterMs));
      }
    },
    subscribe: (filter, deliver, options) =>
      host.bus.subscribe(
        filter,
        sender(deliver, (err, { topic }) => write('error', { err, topic }, 'event handler failed')),
        options,
      ),
    provide(service, implementation) {
      host.provide(ref(service), implementation);
      return { [Symbol.dispose]: nothing };
    },
    when(service, appear) {
      host.when(ref(service), async (implementation: unknown, scope: Scope) => {
        const part = await appear(implementation as object);
        scope.defer(`guest of ${service}`, async () => {
          // The guest ends what leans on the service, and then this part, in its own order.
          if (host.scope.signal.aborted) await stopped();
          else await part[Symbol.asyncDispose]();
        });
      });
      return { [Symbol.dispose]: nothing };
    },
    tap(hook, fn, stage) {
      host.tap(hook, fn as never, stage === undefined ? {} : { stage });
      return { [Symbol.dispose]: nothing };
    },
    hook(hook: HookId, use: HookUse) {
      const caller = host.hook(hook) as HookCaller<HookId> & Partial<WatchedHook>;
      const watch = caller.watch?.((used) => use(used));
      if (watch) host.scope.use(`watch of hook ${hook}`, watch);
      return {
        promise: (...args) => (caller as { promise(...all: unknown[]): Promise<unknown> }).promise(...args),
        unanswered: () => caller.unanswered(),
        [Symbol.dispose]: nothing,
      };
    },
    refused(kind, caller, capability, wanted) {
      try {
        host.capabilities[kind](caller, capability, wanted);
      } catch (error) {
        if (!(error instanceof CoreError) || error.code !== 'CAPABILITY_DENIED') throw error;
      }
    },
    alive,
    crashed: (error, sure) =>
      crashed(error instanceof Error ? error : new Error(`${id}: ${error}`), sure === false ? 'all' : 'it'),
  };
}
