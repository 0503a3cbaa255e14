/**
 * The two places where an image can lie, and the choice of the next start. The Core asks; a helper of root or the system's own updater
 * writes. Providers are `slots-files` (two true copies), `slots-rauc` and `slots-none` (a checkout).
 */

import type { StateForms } from '../../contract/manifest.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { Rung, Slot, SlotName } from '../boot-record.ts';

export interface SlotInfo extends Slot {
  readonly name: SlotName;
  /** True for the slot that runs now. */
  readonly booted: boolean;
  /** True for the slot that starts next, if it can. */
  readonly primary: boolean;
}

export interface SlotsStatus {
  readonly provider: 'files' | 'rauc' | 'none' | (string & {});
  /** Empty where there are none: a checkout. */
  readonly slots: readonly SlotInfo[];
  readonly booted?: SlotName;
  readonly primary?: SlotName;
  /** How far down the loader had to go, and why. */
  readonly rung: Rung;
  readonly cause?: string;
  /** Older versions are refused; the time is never before (seconds since the Unix epoch). */
  readonly floor: { readonly version?: string; readonly time: number };
  /** Writer of slots. `inline`: this process itself, which protects from the network and not from the Core; the health says so. */
  readonly writer: 'helper' | 'inline' | 'none';
}

export interface StageProgress {
  /** Bytes that are in their place, of how many. */
  readonly done: number;
  readonly of: number;
}

/**
 * Folder that `stage` takes, with `image.json`, `image.sig` and `blobs/<sha256 hex>.zst` for every file that the
 * running slot does not have. It lies below the state folder of the Core, or `/usr/share/<service>`: a helper of root
 * refuses other places.
 */
export type ImageFolder = string;

/** Stages images and says which slot starts next. */
export interface Slots {
  status(): Promise<SlotsStatus>;
  /** Store -> forms, of the image in each slot that is not empty. Throws SLOTS_UNAVAILABLE where an image does not say. */
  stateForms(): Promise<readonly Readonly<Record<string, StateForms>>[]>;
  /**
   * Verdict of the helper about a list before a byte is fetched for it: signatures, platform, SKU, loader and version
   * floor. Throws SYSTEM_IMAGE_INVALID, SIGNATURE_INVALID.
   */
  inspect(folder: ImageFolder): Promise<{
    readonly image: string;
    readonly version: string;
    /** SHA-256 of the files that the running slot lacks, with their sizes. */
    readonly missing: readonly { readonly sha256: string; readonly size: number }[];
  }>;
  /**
   * Makes the other slot a true copy of the image: empty meanwhile, on trial at its end, and not yet the one that
   * starts. Progress may come late or not at all. Throws SYSTEM_IMAGE_INVALID, SIGNATURE_INVALID, SLOTS_UNAVAILABLE,
   * BUSY, CANCELLED and the codes of a disk; the slot is empty then.
   */
  stage(
    folder: ImageFolder,
    options?: { readonly progress?: (progress: StageProgress) => void; readonly signal?: AbortSignal },
  ): Promise<SlotInfo>;
  /** The slot that starts next. Throws SLOTS_UNAVAILABLE where it is empty or bad. */
  activate(slot: SlotName): Promise<void>;
  /** Marks the slot that runs as good; raises the floors. */
  markGood(): Promise<void>;
  /** Marks the slot that runs as bad: the other one starts next. */
  markBad(reason: string): Promise<void>;
}

export const slots = serviceRef<Slots>('slots', '1.0.0', 'tree');
