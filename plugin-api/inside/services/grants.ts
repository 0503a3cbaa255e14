import type { Caller } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';

/** Refusal of a caller by the capability checker, for `devicectl why`. `ts`: the last time. */
export interface Refusal {
  /** Milliseconds since the Unix epoch. */
  readonly ts: number;
  /** When it was refused to this caller for the first time, and how often since; milliseconds since the Unix epoch. */
  readonly first: number;
  readonly count: number;
  readonly caller: Caller;
  readonly capability: string;
  /** The manifest line that would grant it. */
  readonly hint: string;
  /** Why the line alone may not be enough: class of the capability. */
  readonly class: string;
}

/** Capabilities that each caller holds. The apps plugin writes it when an app starts and stops. Provided by the kernel. */
export interface Grants {
  /** Replaces what a caller holds. Throws CAPABILITY_UNKNOWN. */
  set(caller: Caller, capabilities: readonly string[]): Promise<void>;
  clear(caller: Caller): Promise<void>;
  of(caller: Caller): Promise<readonly string[]>;
  /**
   * Capabilities that the caller held and used since its grants were last set: those that its calls needed, and those
   * that widened its answers. At most 512 are kept.
   */
  used(caller: Caller): Promise<readonly string[]>;
  /** The last refusals, newest first, each caller and capability once; at most 256 are kept, and 64 of one caller. */
  refusals(): Promise<readonly Refusal[]>;
  /** Counts a refusal that no capability decides, `operation.apps.list` of an installed plugin among them. */
  refused(caller: Caller, refused: Pick<Refusal, 'capability' | 'hint' | 'class'>): Promise<void>;
}

export const grants = serviceRef<Grants>('grants', '1.1.0', 'tree');
