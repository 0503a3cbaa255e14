/** Record of the update, kept in `<state>/update/state.json` so that a Core that ended goes on. */

import type { KeptForm } from '@device-core/plugin-api/durable';
import { UPDATE_STATES, type UpdateState } from '@device-core/plugin-api/inside/services/updates';
import type { Source } from './repository.ts';

/** The image that it is about. */
export interface Wanted {
  readonly version: string;
  /** `sha256:<hex>` of its list. */
  readonly image: string;
  readonly severity: 'normal' | 'security';
  readonly notes?: string;
  readonly kind: Source['kind'];
  /** Path of a folder or archive; where it came from, for people. */
  readonly source: string;
  readonly channel?: string;
  /** Milliseconds since the Unix epoch: published, or first heard of. */
  readonly since: number;
  readonly rollout?: number;
  readonly withdrawn?: string;
  /** The operator said that it may be older. */
  readonly downgrade?: boolean;
  /** New demands of the image, and its effects on the state. */
  readonly asks: Asks;
  /** Digest of `asks` that the operator agreed to. */
  readonly accepted?: string;
}

export interface NewClaim {
  readonly plugin: string;
  readonly capability: string;
  readonly summary: string;
}

export interface StateChange {
  readonly store: string;
  /** Form that is written now, and the one that it writes. */
  readonly from: number;
  readonly to: number;
  /** `lost`: it cannot read what is there. `one-way`: what runs now cannot read what it writes. */
  readonly way: 'both' | 'one-way' | 'lost';
}

export interface Asks {
  readonly claims: readonly NewClaim[];
  readonly forms: readonly StateChange[];
  /** Digest of the demands that need a consent; absent without such demands. */
  readonly digest?: string;
}

/** How far an operator ordered it to go. */
export type Order = 'download' | 'apply';

export interface UpdateRecord {
  readonly state: UpdateState;
  /** State that a check comes back to. */
  readonly before?: UpdateState;
  /** Milliseconds since the Unix epoch. */
  readonly since: number;
  readonly wanted?: Wanted;
  /** The former image; after a rollback the one that runs now. */
  readonly from?: string;
  /** The image that a rollback by hand left, where the state is about that. */
  readonly left?: { readonly version: string; readonly image?: string };
  readonly slot?: 'a' | 'b';
  readonly reason?: string;
  /** The rule that says not now. */
  readonly rule?: string;
  readonly order?: Order;
  /** Rules that say `not now` do not count: the operator said so. */
  readonly anyway?: boolean;
  /** How often a restart into the other slot was asked for. */
  readonly flips?: number;
  readonly hold?: { readonly until?: number; readonly reason: string };
  /** Images that were taken back on this device, the last sixteen. */
  readonly bad: readonly { readonly image: string; readonly version: string; readonly reason: string }[];
  readonly checkedAt?: number;
  /** Id of the device in the rollout, where the device has no id. */
  readonly device?: string;
}

export const MOST_BAD = 16;
export const FIRST: UpdateRecord = { state: 'idle', since: 0, bad: [] };

export const FORM: KeptForm<UpdateRecord> = {
  form: 1,
  initial: FIRST,
  consequence: 'what becomes of an update is forgotten with the next restart',
  parse({ update }) {
    const found = Object(update) as UpdateRecord;
    const good = UPDATE_STATES.some((state) => state === found.state) && Array.isArray(found.bad);
    return good && typeof found.since === 'number' ? found : undefined;
  },
  format: (update) => ({ update }),
};
