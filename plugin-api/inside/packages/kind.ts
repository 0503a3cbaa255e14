/** Kinds of packages. A signature of one kind can be taken for no other, for the signed text differs. */
export interface PackageKind {
  /** Content, for people. */
  readonly noun: 'plugin' | 'app';
  /** The manifest at its top. */
  readonly manifest: string;
  /** Detached signature at its top: the one file that is no part of what is signed. */
  readonly signature: string;
}

export const PLUGIN_PACKAGE: PackageKind = { noun: 'plugin', manifest: 'plugin.yaml', signature: 'plugin.sig' };
export const APP_PACKAGE: PackageKind = { noun: 'app', manifest: 'app.yaml', signature: 'app.sig' };
