/**
 * Who may subscribe to what. Deny by default: an app may subscribe to a filter if every topic that the filter can match lies in one of the
 * configured areas, or in the namespace `app.<id>.event` of any app (its own or another's: these events are public). An area with capabilities,
 * such as what was heard (`audio.stt.**`), asks for one of them whenever the filter reaches into it, `audio.**` included. `config.changed` is in no
 * area: an app gets the changes of its own configuration as a notification of its session. Who holds `system.events` (class oem), the operator
 * and plugins see everything.
 */
import {
  type Caller,
  type Capabilities,
  type CapabilityId,
  CoreError,
  callerName,
  parseFilter,
} from '@device-core/plugin-api';
import type { Area } from './configuration.ts';
import { covers, isAppEvents, overlaps } from './filter-algebra.ts';

export class SubscriptionPolicy {
  readonly #areas: readonly (Area & { readonly segments: readonly string[] })[];
  readonly #capabilities: Capabilities;

  /** Throws FILTER_INVALID for an area that is none. */
  constructor(areas: readonly Area[], capabilities: Capabilities) {
    this.#areas = areas.map((area) => ({ ...area, segments: parseFilter(area.filter) }));
    this.#capabilities = capabilities;
  }

  /** Throws FILTER_INVALID, CAPABILITY_DENIED, CALLER_DENIED. */
  check(caller: Caller, filter: string): void {
    const segments = parseFilter(filter);
    if (caller.kind !== 'app' || this.#capabilities.holds(caller, 'system.events')) return;
    for (const area of this.#areas) {
      const wanted = area.capabilities as readonly CapabilityId[] | undefined;
      if (!wanted || !overlaps(area.segments, segments)) continue;
      if (!wanted.some((capability) => this.#capabilities.holds(caller, capability)))
        this.#capabilities.require(caller, wanted[0]!);
    }
    if (isAppEvents(segments) || this.#areas.some((area) => covers(area.segments, segments))) return;
    const open = ['app.<id>.event.**', ...this.#areas.map((area) => area.filter)].join(', ');
    throw new CoreError('CALLER_DENIED', {
      verb: `subscribe ${callerName(caller)} to ${filter}`,
      reason: `it must stay within one of ${open}`,
    });
  }
}
