import type { Capabilities, Grants, Refusal } from '@device-core/plugin-api';
import {
  ANONYMOUS,
  type Caller,
  type CapabilityId,
  CoreError,
  callerName,
  classOf,
  describeCapability,
  grantHint,
  implies,
  touches,
  unknownCapability,
} from '@device-core/plugin-api';
import type { GrantSource } from '../grants.ts';

/** Capability checks over the grants that a test gives, and the `grants` service that changes them. */
export class TestGrants implements Capabilities, Grants, GrantSource {
  readonly #held: Map<string, readonly string[]>;
  readonly #refusals: Refusal[] = [];
  readonly #watchers = new Set<Parameters<GrantSource['watch']>[0]>();

  constructor(held: Readonly<Record<string, readonly string[]>>) {
    this.#held = new Map(Object.entries(held));
  }

  holds(caller: Caller, capability: CapabilityId): boolean {
    return this.#some(caller, (grant) => implies(grant, capability));
  }

  require(caller: Caller, capability: CapabilityId): void {
    if (!this.holds(caller, capability)) this.#refuse(caller, capability);
  }

  requireAny(caller: Caller, family: CapabilityId, wanted: string = family): void {
    if (!this.#some(caller, (grant) => touches(grant, family))) this.#refuse(caller, wanted);
  }

  async set(caller: Caller, capabilities: readonly string[]): Promise<void> {
    for (const capability of capabilities) {
      if (describeCapability(capability)) continue;
      throw unknownCapability(capability);
    }
    this.#held.set(callerName(caller), [...capabilities]);
    for (const watcher of this.#watchers) watcher(callerName(caller), capabilities);
  }

  async clear(caller: Caller): Promise<void> {
    this.#held.delete(callerName(caller));
    for (const watcher of this.#watchers) watcher(callerName(caller), undefined);
  }

  watch(listener: Parameters<GrantSource['watch']>[0]): Disposable {
    for (const [caller, capabilities] of this.#held) listener(caller, capabilities);
    this.#watchers.add(listener);
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
  }

  async of(caller: Caller): Promise<readonly string[]> {
    return this.#held.get(callerName(caller)) ?? [];
  }

  async refusals(): Promise<readonly Refusal[]> {
    return this.#refusals.toReversed();
  }

  #some(caller: Caller, accept: (grant: string) => boolean): boolean {
    if (caller.kind === 'operator') return true;
    if (caller.kind === ANONYMOUS.kind) return false;
    return (this.#held.get(callerName(caller)) ?? []).some(accept);
  }

  #refuse(caller: Caller, capability: string): never {
    const hint = grantHint(caller, capability);
    const level = classOf(capability) ?? 'oem';
    this.#refusals.push({ ts: Date.now(), caller, capability, hint, class: level });
    throw new CoreError('CAPABILITY_DENIED', { caller: callerName(caller), capability, hint, class: level });
  }
}
