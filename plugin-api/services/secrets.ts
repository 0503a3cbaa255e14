/** Private secrets of a plugin (spec, "Secrets are kept in a kernel keyring or a file-based vault and never appear in logs"). */
import type { Secret, SecretRef } from '../contract/secret.ts';
import { serviceRef } from '../contract/service-ref.ts';

/** Public facts of a secret, never its text. */
export interface SecretTold {
  readonly name: string;
  /** Milliseconds since the Unix epoch. */
  readonly setAt: number;
  /** `operator`, `plugin.<id>`, `app.<id>`. */
  readonly setBy: string;
  /** Since the Core started. */
  readonly readAt?: number;
  readonly reads: number;
}

/**
 * One view for each plugin: the kernel says who asks (FOR_USER). A plain name is one of the plugin's own scope,
 * `plugin.<id>`. A reference that stands in the plugin's own checked configuration is looked for there first, then in
 * the scope `shared`, which the operator fills.
 */
export interface Secrets {
  /** Throws SECRET_NOT_FOUND, SECRET_DENIED (a reference that its configuration does not have), SECRETS_LOCKED. */
  get(name: string | SecretRef): Promise<Secret>;
  /**
   * Into its own scope; durable when it resolves. 1 byte to 16 KiB. Throws PARAMS_INVALID, SECRETS_LOCKED, QUEUE_FULL,
   * the codes of a disk.
   */
  set(name: string, text: string): Promise<void>;
  /** Throws SECRET_NOT_FOUND, SECRETS_LOCKED. */
  delete(name: string): Promise<void>;
  /** Secrets of the plugin's scope, and the references of its configuration that are set. */
  list(): Promise<readonly SecretTold[]>;
  /** After each change of one that it may get: a rotated secret needs no restart. */
  onChange(listener: (name: string) => void): Promise<Disposable>;
}

export const secrets = serviceRef<Secrets>('secrets', '1.0.0', 'powerful', 'keeps secrets of its own');
