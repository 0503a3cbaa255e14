import type { Capabilities } from '@device-core/plugin-api';
import {
  type Caller,
  type CapabilityId,
  CoreError,
  callerName,
  classOf,
  grantHint,
  implies,
  touches,
} from '@device-core/plugin-api';

const ANSWERS = 512;

type Refused = (kind: 'require' | 'requireAny', caller: Caller, capability: CapabilityId, wanted?: string) => void;

/** What the host's checker would say, from a copy of the grants that the host keeps up to date. The host remembers the refusals. */
export class CapabilityMirror implements Capabilities {
  readonly #held = new Map<string, readonly string[]>();
  readonly #answers = new Map<string, boolean>();
  readonly #refused: Refused;

  constructor(refused: Refused) {
    this.#refused = refused;
  }

  set(caller: string, capabilities: readonly string[] | undefined): void {
    if (capabilities) this.#held.set(caller, capabilities);
    else this.#held.delete(caller);
    this.#answers.clear();
  }

  holds(caller: Caller, capability: CapabilityId): boolean {
    if (caller.kind === 'operator') return true;
    const name = callerName(caller);
    const key = `${name} ${capability}`;
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    const answer = this.#grants(caller, name).some((grant) => implies(grant, capability));
    if (this.#answers.size >= ANSWERS) this.#answers.clear();
    this.#answers.set(key, answer);
    return answer;
  }

  require(caller: Caller, capability: CapabilityId): void {
    if (!this.holds(caller, capability)) this.#refuse('require', caller, capability);
  }

  requireAny(caller: Caller, family: CapabilityId, wanted: string = family): void {
    if (caller.kind === 'operator') return;
    if (this.#grants(caller, callerName(caller)).some((grant) => touches(grant, family))) return;
    this.#refuse('requireAny', caller, family, wanted);
  }

  #grants(caller: Caller, name: string): readonly string[] {
    return caller.kind === 'anonymous' ? [] : (this.#held.get(name) ?? []);
  }

  #refuse(kind: 'require' | 'requireAny', caller: Caller, asked: CapabilityId, capability: string = asked): never {
    this.#refused(kind, caller, asked, capability);
    const hint = grantHint(caller, capability);
    const level = classOf(capability) ?? 'oem';
    throw new CoreError('CAPABILITY_DENIED', { caller: callerName(caller), capability, hint, class: level });
  }
}
