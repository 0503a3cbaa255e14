import {
  type Caller,
  type Capabilities,
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
import type { Grants, Refusal } from '@device-core/plugin-api/inside/services/grants';
import type { UseBook } from './usage/uses.ts';

const REFUSALS = 256;
/** Those of one caller: who tries many names pushes out no other caller. */
const OF_ONE = 64;
/** Answers kept per caller; capability scopes come from requests, so there must be an end. */
const ANSWERS = 512;

/**
 * A checker of capabilities that tells who holds what: each holder at once, then each change; undefined when a caller
 * holds nothing any more.
 */
export interface GrantSource {
  watch(listener: (caller: Caller, capabilities: readonly string[] | undefined) => void): Disposable;
}

interface Holder {
  readonly grants: readonly string[];
  readonly answers: Map<string, boolean>;
}

/** Table of grants: (caller, capability) -> yes, or a refusal that names the grant that is missing (decisions D2). */
export class CapabilityChecker implements Capabilities, Grants, GrantSource {
  readonly #holders = { app: new Map<string, Holder>(), plugin: new Map<string, Holder>() };
  readonly #refusals: Refusal[] = [];
  readonly #watchers = new Set<Parameters<GrantSource['watch']>[0]>();
  readonly #book: (plugin: string) => UseBook | undefined;

  /** `book`: uses of a plugin, where they are counted. */
  constructor(book: (plugin: string) => UseBook | undefined = () => undefined) {
    this.#book = book;
  }

  holds(caller: Caller, capability: CapabilityId): boolean {
    if (caller.kind === 'operator') return true;
    const holder = this.#holder(caller);
    if (!holder) return false;
    const known = holder.answers.get(capability);
    if (known !== undefined) return known;
    const answer = holder.grants.some((grant) => implies(grant, capability));
    if (holder.answers.size >= ANSWERS) holder.answers.clear();
    holder.answers.set(capability, answer);
    return answer;
  }

  require(caller: Caller, capability: CapabilityId): void {
    if (!this.holds(caller, capability)) this.#refuse(caller, capability);
    if (caller.kind === 'plugin') this.#book(caller.id)?.used('capability', capability);
  }

  requireAny(caller: Caller, family: CapabilityId, wanted: string = family): void {
    if (caller.kind === 'operator') return;
    if (!this.#holder(caller)?.grants.some((grant) => touches(grant, family))) this.#refuse(caller, wanted);
    if (caller.kind === 'plugin') this.#book(caller.id)?.used('capability', wanted);
  }

  async set(caller: Caller, capabilities: readonly string[]): Promise<void> {
    const unknown = capabilities.find((capability) => !describeCapability(capability));
    if (unknown !== undefined) throw unknownCapability(unknown);
    const verb = `grant to ${callerName(caller)}`;
    if (caller.kind !== 'app' && caller.kind !== 'plugin')
      throw new CoreError('CALLER_DENIED', { verb, reason: 'only apps and plugins hold grants' });
    const grants = [...new Set(capabilities)];
    this.#holders[caller.kind].set(caller.id, { grants, answers: new Map() });
    for (const watcher of this.#watchers) watcher(caller, grants);
  }

  async clear(caller: Caller): Promise<void> {
    if (caller.kind !== 'app' && caller.kind !== 'plugin') return;
    this.#holders[caller.kind].delete(caller.id);
    for (const watcher of this.#watchers) watcher(caller, undefined);
  }

  watch(listener: Parameters<GrantSource['watch']>[0]): Disposable {
    for (const kind of ['app', 'plugin'] as const)
      for (const [id, { grants }] of this.#holders[kind]) listener({ kind, id }, grants);
    this.#watchers.add(listener);
    return { [Symbol.dispose]: () => void this.#watchers.delete(listener) };
  }

  async of(caller: Caller): Promise<readonly string[]> {
    return this.#holder(caller)?.grants ?? [];
  }

  async used(caller: Caller): Promise<readonly string[]> {
    return [...(this.#holder(caller)?.answers ?? [])].filter(([, held]) => held).map(([capability]) => capability);
  }

  async refusals(): Promise<readonly Refusal[]> {
    return this.#refusals.toReversed();
  }

  #holder(caller: Caller): Holder | undefined {
    return caller.kind === 'app' || caller.kind === 'plugin' ? this.#holders[caller.kind].get(caller.id) : undefined;
  }

  #refuse(caller: Caller, capability: string): never {
    const refused = { capability, hint: grantHint(caller, capability), class: classOf(capability) ?? 'oem' };
    void this.refused(caller, refused);
    throw new CoreError('CAPABILITY_DENIED', { caller: callerName(caller), ...refused });
  }

  async refused(caller: Caller, refused: Pick<Refusal, 'capability' | 'hint' | 'class'>): Promise<void> {
    const name = callerName(caller);
    const { capability } = refused;
    const last = this.#refusals.at(-1);
    // The same request, refused before its params were read.
    if (last?.caller === caller && last.capability.endsWith('>')) this.#refusals.pop();
    const at = this.#refusals.findIndex((one) => one.capability === capability && callerName(one.caller) === name);
    const { first = Date.now(), count = 0 } = this.#refusals.splice(at, at < 0 ? 0 : 1)[0] ?? {};
    this.#refusals.push({ ts: Date.now(), first, count: count + 1, caller, ...refused });
    const mine = this.#refusals.filter((one) => callerName(one.caller) === name);
    if (mine.length > OF_ONE) this.#refusals.splice(this.#refusals.indexOf(mine[0]!), 1);
    if (this.#refusals.length > REFUSALS) this.#refusals.shift();
  }
}
