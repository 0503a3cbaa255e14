import type { PluginHost, PluginManifest, ServiceRef } from '@device-core/plugin-api';
import { CoreError, HOOKS, type HookCaller, type HookId } from '@device-core/plugin-api';
import { deepFreeze } from '../../boot/freeze.ts';
import { PluginScope } from '../../scope.ts';
import type { Peer } from '../remote/index.ts';
import { GuestBus } from './bus.ts';
import { CapabilityMirror } from './capabilities.ts';
import { type DebugCredit, grant, guestLog } from './log.ts';
import type { GuestStart, HostRoot } from './protocol.ts';

/** The PluginHost of a plugin in a worker or process: the host's own at the other end, and mirrors of what is asked for synchronously. */
export class GuestHost {
  readonly host: PluginHost;
  readonly scope: PluginScope;
  readonly bus: GuestBus;
  readonly capabilities: CapabilityMirror;
  /** First runs of when(): part of the start. */
  readonly whens: Promise<unknown>[] = [];
  readonly provided = new Set<string>();
  readonly debug: DebugCredit = {};
  readonly #peer: Peer;
  readonly #manifest: PluginManifest;

  constructor(peer: Peer, { manifest, config, debug }: GuestStart) {
    const { id } = manifest;
    const log = guestLog(() => peer, grant(this.debug, debug));
    this.#peer = peer;
    this.#manifest = manifest;
    this.scope = new PluginScope(id, log);
    this.bus = new GuestBus(peer, this.scope, manifest);
    this.capabilities = new CapabilityMirror((...refusal) => {
      if (!peer.isFull) peer.notify('refused', ...refusal); // the host keeps but the last of them
    });
    this.host = Object.freeze<PluginHost>({
      id,
      scope: this.scope,
      clock: this.scope.clock,
      config: deepFreeze(config),
      log,
      capabilities: this.capabilities,
      bus: this.bus,
      provide: (ref, implementation) => this.#provide(ref, implementation),
      when: (ref, use) => this.#when(ref, use as never),
      tap: (hook, fn, order) => this.#tap(hook, fn as never, order?.stage),
      hook: (hook) => this.#hook(hook),
    });
  }

  #declared(section: Readonly<Record<string, string>> | undefined, ref: ServiceRef<unknown>): void {
    if (section?.[ref.id] === undefined)
      throw new CoreError('SERVICE_UNDECLARED', { plugin: this.#manifest.id, service: ref.id });
  }

  #provide(ref: ServiceRef<unknown>, implementation: object): void {
    this.#declared(this.#manifest.provides, ref);
    const plugin = this.#manifest.id;
    if (this.provided.has(ref.id)) throw new CoreError('SERVICE_ALREADY_PROVIDED', { service: ref.id, plugin });
    this.provided.add(ref.id);
    this.#peer.offer('provide', ref.id, implementation);
  }

  #when(ref: ServiceRef<unknown>, use: (service: object, scope: PluginScope) => unknown): void {
    this.#declared(this.#manifest.optional, ref);
    // Its place in the order of the end is here, whenever the service appears: what is acquired from now on may lean on it.
    const place = this.scope.child(`watch ${ref.id}`);
    const appear = async (service: object): Promise<AsyncDisposable> => {
      const part = place.child(`when ${ref.id}`);
      await part.attempt(`when ${ref.id}`, () => use(service, part));
      return { [Symbol.asyncDispose]: () => part[Symbol.asyncDispose]() };
    };
    this.whens.push(this.#peer.offer('when', ref.id, appear));
  }

  #tap(hook: HookId, fn: (...args: unknown[]) => unknown, stage: number | undefined): void {
    const { id, taps } = this.#manifest;
    if (!taps?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
    const why = HOOKS[hook].kind.startsWith('Sync') ? 'at once' : hook === 'plugin.load' ? 'with code' : undefined;
    if (why !== undefined) {
      const reason = `hook ${hook} is answered ${why}, which nobody can outside of the Core's own thread`;
      throw new CoreError('ISOLATION_UNSUPPORTED', { plugin: id, isolation: 'worker or process', reason });
    }
    this.#peer.offer('tap', hook, fn, stage);
  }

  #hook<K extends HookId>(hook: K): HookCaller<K> {
    const { id, hooks } = this.#manifest;
    if (!hooks?.includes(hook)) throw new CoreError('HOOK_UNDECLARED', { plugin: id, hook });
    let used = false;
    const remote = this.#peer.offer<ReturnType<HostRoot['hook']>>('hook', hook, (now: boolean) => {
      used = now;
    });
    this.whens.push(remote);
    const caller = {
      isUsed: () => used,
      promise: async (...args: unknown[]) => (await remote).promise(...args),
      unanswered: async () => (await remote).unanswered(),
    };
    return Object.freeze(caller) as unknown as HookCaller<K>;
  }
}
