import { serviceRef } from '../../contract/service-ref.ts';

/** Finds secrets in texts about to be written by any part: for parts that carry others' words, such as output of apps. */
export interface SecretScan {
  /**
   * The same texts, each secret in them (as it is, and in its JSON, percent and base64 forms) replaced by `[secret]`.
   * Throws SECRET_DENIED for plugins from outside of the tree.
   */
  hide(texts: readonly string[]): Promise<readonly string[]>;
}

export const secretScan = serviceRef<SecretScan>('secret-scan', '1.0.0', 'tree');
