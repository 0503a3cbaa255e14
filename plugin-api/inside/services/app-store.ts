/** Apps that were installed on the device as packages, and what belongs to an app for good: its user, and whether it may run at all. */
import { serviceRef } from '../../contract/service-ref.ts';

export interface StoredApp {
  readonly id: string;
  readonly version: string;
  /** Absolute path of its code, never changed while it is listed. `<folder>.sha256` is the list of its files. */
  readonly folder: string;
  /** `sha256:<hex>` of that list: what the folder has to hold before each start. */
  readonly hash: string;
  /** Its data have the form of this `data.version`, and it has not run with them yet: it is told so as DEVICE_DATA_FROM. */
  readonly dataFrom?: number;
}

export interface StoredApps {
  readonly apps: readonly StoredApp[];
  /** Ids of apps that are switched off until somebody switches them on, those of the image among them. */
  readonly off: readonly string[];
}

/** Which version of an app is in force, where its code lies, and as which user it runs. One list, written whole. */
export interface AppStore {
  list(): Promise<StoredApps>;
  /**
   * The user id of this app and of no other, as long as anything of it is kept; made at its first need, and durable
   * then. Throws BUSY, and the codes of a disk.
   */
  uidOf(app: string): Promise<number>;
  /** Absolute path of a package that was handed over as `upload:<id>` and waits. Throws PACKAGE_INVALID. */
  uploaded(upload: string): Promise<string>;
  /**
   * Name that the SKU gives the key that signed the installed version, or its fingerprint; undefined: nobody did, or it
   * is not installed.
   */
  signerOf(app: string): Promise<string | undefined>;
  /** After each change of the list. */
  onChange(listener: () => void): Disposable;
}

export const appStore = serviceRef<AppStore>('app-store', '1.2.0', 'tree');
