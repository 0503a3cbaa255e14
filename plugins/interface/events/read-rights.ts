/**
 * Rights to read (decisions D8a). Deny by default. The operator, and holders of `system.events` (class oem), read
 * everything. An app reads
 *
 * - what lies in one of the configured areas; an area with capabilities, such as what was heard (`audio.stt.**`),
 *   asks for one of them;
 * - its own events, `app.<its id>.**`;
 * - the events of another app with `events.read:<that id>`, and the topics that its manifest opens (`events.public`).
 *
 * `config.changed` is in no area: an app gets the changes of its own configuration as a notification of its session.
 */
import {
  type Caller,
  type Capabilities,
  type CapabilityId,
  CoreError,
  callerName,
  canonicalFilter,
  type EventEnvelope,
  parseFilter,
} from '@device-core/plugin-api';
import type { Area } from './configuration.ts';
import { covers, intersection, overlaps, type Segments } from './filter-algebra.ts';
import type { PublicTopics } from './public-topics.ts';

/** The readable part of a filter. */
export interface Readable {
  /** Canonical; every topic that they match may be read, but for what mayRead() takes out. */
  readonly filters: readonly string[];
  /** Why it is not all of the filter. */
  readonly reason?: string;
}

/** With more parts the filter itself is subscribed, and each event is looked at. */
const MOST_PARTS = 256;
const APP_NAMESPACE = ['app', '**'];

export class ReadRights {
  readonly #areas: readonly (Area & { readonly segments: Segments })[];
  readonly #capabilities: Capabilities;
  readonly #publics: PublicTopics;

  /** Throws FILTER_INVALID for an area that is none. */
  constructor(areas: readonly Area[], capabilities: Capabilities, publics: PublicTopics) {
    this.#areas = areas.map((area) => ({ ...area, segments: parseFilter(area.filter) }));
    this.#capabilities = capabilities;
    this.#publics = publics;
  }

  /** Throws FILTER_INVALID; CAPABILITY_DENIED and CALLER_DENIED where nothing of it may be read. */
  of(caller: Caller, filter: string): Readable {
    const wanted = parseFilter(filter);
    const name = wanted.join('.');
    if (this.#isFree(caller)) return { filters: [name] };
    const wide = wanted[0] === '*' || wanted[0] === '**';
    // A filter inside a foreign area is refused; a wide filter gets the readable part.
    if (!wide) this.#requireAreas(caller, wanted);
    const readable = [...this.#openAreas(caller), ...this.#namespaces(caller, wanted)];
    if (readable.some((set) => covers(set, wanted)) && !wide) return { filters: [name] };
    const parts = readable.map((set) => intersection(set, wanted)).filter((part) => part !== undefined);
    const filters = [...new Set(parts.map((part) => part.join('.')))];
    if (filters.length === 0) throw this.#refusal(caller, filter, wanted);
    const some = filters.length > 8 ? `${filters.slice(0, 8).join(', ')} and others` : filters.join(', ');
    const rest = 'the events of another app need events.read:<its id>, or events.public in its manifest';
    const reason = `only ${some} may be read${overlaps(APP_NAMESPACE, wanted) ? `; ${rest}` : ''}`;
    // `app.<id>.event.*` has a meaning of its own, so a part that only looks like it is no filter of what was asked for.
    const sayable = filters.every((one) => canonicalFilter(one) === one) && filters.length <= MOST_PARTS;
    return { filters: sayable ? filters : [name], reason };
  }

  /** For each event that goes to somebody: ids of apps may begin alike, so an app's event is known by its source. */
  mayRead(caller: Caller, { topic, source }: Pick<EventEnvelope, 'topic' | 'source'>): boolean {
    const owner = /^(?:test\.)?app\.(.+)$/.exec(source)?.[1];
    if (owner !== undefined && topic.startsWith('app.')) {
      if (caller.kind === 'app' && caller.id === owner) return true;
      if (this.#isFree(caller) || this.#capabilities.holds(caller, `events.read:${owner}`)) return true;
      return this.#publics.apps.get(owner)?.some((open) => covers(open, topic.split('.'))) ?? false;
    }
    if (this.#isFree(caller)) return true;
    const segments = topic.split('.');
    const areas = this.#areas.filter((area) => covers(area.segments, segments));
    if (areas.length > 0) return areas.every((area) => this.#holdsOne(caller, area));
    return topic.startsWith('app.') && this.#namespaces(caller, segments).some((set) => covers(set, segments));
  }

  #isFree(caller: Caller): boolean {
    return caller.kind === 'operator' || this.#capabilities.holds(caller, 'system.events');
  }

  #holdsOne(caller: Caller, { capabilities }: Area): boolean {
    return (
      (capabilities as readonly CapabilityId[] | undefined)?.some((one) => this.#capabilities.holds(caller, one)) ??
      true
    );
  }

  /** Throws CAPABILITY_DENIED where the filter reaches into an area that asks for a capability. */
  #requireAreas(caller: Caller, wanted: Segments): void {
    for (const area of this.#areas)
      if (overlaps(area.segments, wanted) && !this.#holdsOne(caller, area))
        this.#capabilities.require(caller, area.capabilities![0] as CapabilityId);
  }

  #openAreas(caller: Caller): readonly Segments[] {
    return this.#areas.filter((area) => this.#holdsOne(caller, area)).map(({ segments }) => segments);
  }

  /** Readable filters below `app.`, as far as the filter reaches there. */
  #namespaces(caller: Caller, wanted: Segments): readonly Segments[] {
    if (!overlaps(APP_NAMESPACE, wanted)) return [];
    if (this.#capabilities.holds(caller, 'events.read')) return [APP_NAMESPACE];
    const sets: Segments[] = caller.kind === 'app' ? [namespaceOf(caller.id)] : [];
    const { apps } = this.#publics;
    for (const id of new Set([...apps.keys(), ...idsIn(wanted)]))
      if (this.#capabilities.holds(caller, `events.read:${id}`)) sets.push(namespaceOf(id));
    for (const open of apps.values()) sets.push(...open);
    return sets;
  }

  #refusal(caller: Caller, filter: string, wanted: Segments): CoreError {
    const named = idsIn(wanted);
    const id =
      named.find((one) => this.#publics.apps.has(one)) ??
      named.find((one) => wanted[one.split('.').length + 1] === 'event');
    if (id !== undefined) {
      try {
        this.#capabilities.require(caller, `events.read:${id}`);
      } catch (thrown) {
        if (thrown instanceof CoreError) return thrown;
        throw thrown;
      }
    }
    const open = [`app.${caller.id}.**`, ...this.#areas.map((area) => area.filter)].join(', ');
    const verb = `subscribe ${callerName(caller)} to ${filter}`;
    return new CoreError('CALLER_DENIED', { verb, reason: `it must stay within one of ${open}` });
  }
}

function namespaceOf(id: string): Segments {
  return ['app', ...id.split('.'), '**'];
}

/** Every id that a filter below `app.` may name, the shortest first: an id has two segments at least. */
function idsIn(wanted: Segments): readonly string[] {
  if (wanted[0] !== 'app') return [];
  const wild = wanted.findIndex((segment) => segment.startsWith('*'));
  const literal = wanted.slice(1, wild === -1 ? undefined : wild);
  return literal.slice(1).map((_, index) => literal.slice(0, index + 2).join('.'));
}
