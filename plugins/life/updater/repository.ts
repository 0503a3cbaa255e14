/**
 * Sources of images. A repository of the network (`repository/`, TUF), a folder and an archive are the same to the
 * updater: something that offers a list with its signatures, and hands out blobs. None of them is trusted about the
 * image itself: the helper checks the signature of the image.
 */
import type { Logger, Scope } from '@device-core/plugin-api';
import type { PackageNoun, PackageOffer } from '@device-core/plugin-api/inside/packages';

/** Offer of a source for a device. */
export interface Offer {
  /** `image.json`, byte for byte. */
  readonly list: Uint8Array;
  /** `image.sig`. */
  readonly signatures: string;
  /** Bytes of a blob as it travels, by the SHA-256 of its file (hex), where the source says. It is shown, and bounds what is read. */
  readonly compressed: ReadonlyMap<string, number>;
  /** Milliseconds since the Unix epoch: holds count from here. Absent: from when the device first heard of it. */
  readonly publishedAt?: number;
  /** Percent of all devices that may take it; 100 where absent. */
  readonly rollout?: number;
  /** Why nobody is to take it, where it was called back. */
  readonly withdrawn?: string;
}

export interface Blob {
  /** Hash of the plain file, hex: `blobs/<sha256>.zst`. */
  readonly sha256: string;
  /** Bytes of the plain file. */
  readonly size: number;
}

export interface BlobOptions {
  /** Bytes of the blob that `to` holds already: what follows is appended. 0: `to` is made anew. */
  readonly from: number;
  /** Longest the blob may be as it travels, from its beginning; more is REPOSITORY_FAILED. */
  readonly most: number;
  readonly signal: AbortSignal;
  /** Called with the bytes of each part that was written. */
  readonly took?: (bytes: number) => void;
}

export interface Source {
  readonly kind: 'repository' | 'folder' | 'archive';
  /** For people: an address without credentials, or a path. */
  readonly name: string;
  /**
   * The newest image of a channel for this SKU and platform; undefined where the channel has none. Throws
   * REPOSITORY_UNTRUSTED (a signature, an older or expired set of metadata: it is told as an alarm), REPOSITORY_FAILED
   * (not there, slow, an answer that is no metadata: it is tried again), UPDATE_REFUSED with `rule: clock` (only
   * expired if the clock is right, and nobody says that it is), SYSTEM_IMAGE_INVALID (a folder or archive), the codes
   * of a disk, and the reason of `signal`.
   */
  newest(channel: string, signal: AbortSignal): Promise<Offer | undefined>;
  /**
   * Writes a blob to `to`, as it travels; without a sync: the caller verifies it, syncs and renames it. Where the
   * source cannot begin at `from` it truncates `to` and begins at 0. What was written when it fails stays. Throws
   * REPOSITORY_FAILED (404, 500, a wrong length, too slow), the codes of a disk, and the reason of `signal`.
   */
  fetchBlob(blob: Blob, to: string, options: BlobOptions): Promise<void>;
}

/** A package that a repository offers: a target, believed by TUF and by nothing else. What is in it, its store asks its signature. */
export interface OfferedPackage extends PackageOffer {
  readonly noun: PackageNoun;
  /** The target. */
  readonly path: string;
  readonly bytes: number;
  /** Hash of the file, hex. */
  readonly sha256: string;
}

export interface PackageOptions {
  /** Bytes of the file that `to` holds already. */
  readonly from: number;
  readonly signal: AbortSignal;
}

/** A repository of the network, which offers packages of apps and plugins as well. */
export interface PackageSource extends Source {
  /** All that it names, whatever its version or platform. Throws as `newest`. */
  packages(noun: PackageNoun, signal: AbortSignal): Promise<readonly OfferedPackage[]>;
  /**
   * Writes the file of a package to `to`, without a sync. Throws REPOSITORY_FAILED (what was written stays, so that it
   * goes on), REPOSITORY_UNTRUSTED (other bytes than its role says: `to` is gone), the codes of a disk, and the reason
   * of `signal`.
   */
  fetchPackage(wanted: OfferedPackage, to: string, options: PackageOptions): Promise<void>;
}

/** The device's knowledge of time when it looks at a repository. */
export interface KnownTime {
  /** Milliseconds since the Unix epoch, as the clock has it. */
  readonly now: number;
  /** It is never earlier: the build time of the newest image that was good (milliseconds). */
  readonly floor: number;
  /** Somebody who knows has set the clock. */
  readonly set: boolean;
}

export interface RepositoryOptions {
  /** Folder of the repository, `https://updates.example.com/kiosk/`. */
  readonly url: string;
  /** The SKU and platform whose images are wanted. */
  readonly sku: string;
  readonly platform: { readonly os: 'linux'; readonly arch: string; readonly libc: 'glibc' | 'musl' };
  /** Folder of its own for metadata, below `<state>/update/`; it makes it. */
  readonly folder: string;
  /** Path of the first `root.json`, which the image or the OEM brings. */
  readonly root: string;
  readonly scope: Scope;
  readonly log: Logger;
  readonly time: () => Promise<KnownTime>;
  /** Longest wait for the next bytes of an answer, milliseconds. */
  readonly answerMs: number;
  /** A blob that comes more slowly over `answerMs` is given up. */
  readonly leastBytesPerSecond: number;
}

/** Type of `openRepository` of `repository/index.ts`. The call does nothing yet: no file, no request, no package. */
export type OpenRepository = (options: RepositoryOptions) => PackageSource;
