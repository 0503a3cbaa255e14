import type { Caller, CapabilityId } from '@device-core/plugin-api';
import { CapabilityChecker } from '../../capabilities.ts';

type Refused = (kind: 'require' | 'requireAny', caller: Caller, capability: CapabilityId, wanted?: string) => void;

/** Mirror of the host's checker, with a copy of the grants that the host updates. The host remembers the refusals. */
export class CapabilityMirror extends CapabilityChecker {
  readonly #refused: Refused;

  constructor(refused: Refused) {
    super();
    this.#refused = refused;
  }

  override require(caller: Caller, capability: CapabilityId): void {
    if (!this.holds(caller, capability)) this.#refused('require', caller, capability);
    super.require(caller, capability);
  }

  override requireAny(caller: Caller, family: CapabilityId, wanted?: string): void {
    try {
      super.requireAny(caller, family, wanted);
    } catch (error) {
      this.#refused('requireAny', caller, family, wanted);
      throw error;
    }
  }

  granted(caller: Caller, capabilities: readonly string[] | undefined): void {
    void (capabilities ? this.set(caller, capabilities) : this.clear(caller)); // the host has looked at them
  }
}
