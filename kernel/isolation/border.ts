/** The border of guests. It denies by the table of plugin-api and by what was granted, never by what a plugin says (docs/adr/0177). */
import { type Clock, CoreError } from '@device-core/plugin-api';
import {
  ACTORS,
  type Actor,
  contractOf,
  FOR_APPS,
  type Given,
  handed,
  NEVER,
  sayingOf,
} from '@device-core/plugin-api/inside/contracts';
import type { CapabilityChecker } from '../capabilities.ts';
import type { PluginEntry } from '../resolved.ts';
import type { ServiceRegistry } from '../services.ts';
import type { UsageBoard } from '../usage/usage.ts';
import { type Tally, UseBook } from '../usage/uses.ts';

/**
 * A plugin that does not come with the Core: one that was installed on the device, and one of the SKU from outside of
 * the tree behind a wall. A line `isolation: inline` of a SKU makes a plugin a part of the Core, by the word of the
 * OEM.
 */
export function isGuest({ tree, granted, isolation }: PluginEntry): boolean {
  return !tree && (granted !== undefined || isolation !== 'inline');
}

/** Why a guest may not have a service, and the manifest line that would grant it, where one would. */
interface Denial {
  readonly reason: string;
  readonly hint: string;
}

/** Undefined where it may use the service. */
export function useDenied(entry: PluginEntry, service: string, outside: () => boolean): Denial | undefined {
  if (!isGuest(entry)) return undefined;
  const contract = contractOf(service);
  if (!contract) {
    // Contracts of authors are between guests; what plugins of the Core say among themselves is not in plugin-api.
    return outside()
      ? undefined
      : { reason: 'it is no contract of plugin-api, and a plugin of the Core provides it', hint: NEVER.hint };
  }
  const { access, version, does = '' } = contract;
  if (access === 'open') return undefined;
  if (access === 'tree') return { reason: NEVER.tree, hint: NEVER.hint };
  const { manifest, granted } = entry;
  const hint = `requires: { ${service}: ^${version} }`;
  if (manifest.requires?.[service] === undefined && manifest.optional?.[service] === undefined)
    return { reason: `a plugin that has it ${does}, and its manifest does not claim it`, hint };
  if (granted && !granted.includes(service))
    return {
      reason: `a plugin that has it ${does}, and that was not granted when it was installed`,
      hint: `${hint}, and the consent at devicectl plugin install`,
    };
  return undefined;
}

/** Undefined where it may provide the service. A driver that an OEM puts into the SKU may stand for one of the Core. */
export function provideDenied(entry: PluginEntry, service: string): Denial | undefined {
  if (!isGuest(entry) || entry.granted === undefined || !contractOf(service)) return undefined;
  return {
    reason: NEVER.provide,
    hint: `plugins: { ${entry.id}: { version: ${entry.manifest.version}, path: ... } } in the SKU`,
  };
}

interface Surroundings {
  readonly capabilities: CapabilityChecker;
  readonly services: ServiceRegistry;
  readonly watch: { readonly usage: UsageBoard };
  readonly clock: Pick<Clock, 'now'>;
}

/** The border of one start of a guest. */
export class Border {
  readonly #entry: PluginEntry;
  readonly #capabilities: CapabilityChecker;
  readonly #outside: (service: string) => boolean;
  readonly #uses: UseBook;
  readonly #now: () => number;

  /** `outside`: a plugin from outside of the tree provides the service. */
  constructor(
    entry: PluginEntry,
    capabilities: CapabilityChecker,
    outside: (service: string) => boolean,
    uses = new UseBook(),
    now = Date.now,
  ) {
    this.#entry = entry;
    this.#capabilities = capabilities;
    this.#outside = outside;
    this.#uses = uses;
    this.#now = now;
  }

  static of(entry: PluginEntry, { capabilities, services, watch: { usage }, clock }: Surroundings): Border {
    const outside = (service: string) => {
      const provider = services.provider(service)?.plugin;
      return provider === undefined || usage.find(provider)?.outside === true;
    };
    return new Border(entry, capabilities, outside, usage.of(entry.id).uses, () => clock.now());
  }

  /** Throws SERVICE_DENIED, and counts it. */
  use(service: string): void {
    const denial = useDenied(this.#entry, service, () => this.#outside(service));
    if (denial) throw this.#denied(service, denial);
  }

  /** Throws SERVICE_DENIED, and counts it. */
  provide(service: string): void {
    const denial = provideDenied(this.#entry, service);
    if (denial) throw this.#denied(service, denial);
  }

  /** The tap, with its runs counted. */
  tapped<A extends readonly unknown[], R>(hook: string, fn: (...args: A) => R): (...args: A) => R {
    return isGuest(this.#entry) ? this.#uses.counted(this.#uses.of('hook', hook), this.#now, fn) : fn;
  }

  /**
   * The service as its user may have it: a guest gets the members that the contract declares, each of which knows who
   * acts and counts, and what its answer may be. Made once for each use, so that a call looks nothing up.
   */
  view(service: string, reference: object): object {
    const contract = contractOf(service);
    if (!isGuest(this.#entry) || !contract) return reference;
    const { [service]: actors = {} } = ACTORS;
    const { [service]: withheld = [] } = FOR_APPS;
    const view: Record<string, unknown> = {};
    const tally = this.#uses.of('service', service);
    for (const name of contract.members) {
      if (withheld.includes(name)) view[name] = () => this.#withhold(service, name);
      else if (name in reference)
        view[name] = this.#member(reference, name, tally, actors[name], contract.gives?.[name]);
    }
    return Object.freeze(view);
  }

  /** The view of a service that is there now: its provider is known by now. Throws SERVICE_DENIED. */
  entered(service: string, reference: object): object {
    this.use(service);
    return this.view(service, reference);
  }

  #member(reference: object, name: string, tally: Tally, actor?: Actor, given?: Given): unknown {
    const member: unknown = Reflect.get(reference, name);
    if (typeof member !== 'function') return member;
    const said = actor && sayingOf(actor, this.#entry.id);
    return (...args: unknown[]) => {
      tally.count++;
      tally.last = this.#now();
      said?.(args);
      return handed(Reflect.apply(member, reference, args), given);
    };
  }

  #withhold(service: string, member: string): never {
    const reason = `${member} acts for an app, which the Core alone does`;
    throw this.#denied(`${service}.${member}`, { reason, hint: NEVER.hint });
  }

  #denied(service: string, { reason, hint }: Denial): CoreError {
    const { id: plugin } = this.#entry;
    void this.#capabilities.refused(
      { kind: 'plugin', id: plugin },
      { capability: `service.${service}`, hint, class: 'oem' },
    );
    return new CoreError('SERVICE_DENIED', { plugin, service, reason, hint });
  }
}
