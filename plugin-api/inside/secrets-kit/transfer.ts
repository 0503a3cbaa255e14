/** Service `secret-transfer`: secrets on their way into a sealed backup and out of it. Guests never get it; a manifest names it. */

import { serviceRef } from '../../contract/service-ref.ts';
import { CoreError, FOR_USER, reasonOf, type ServesEachUser } from '../../index.ts';
import { checkText, isKey, partsOf } from './names.ts';
import type { SecretStore } from './store.ts';
import type { MovedSecret, Vault } from './vault.ts';

export type { MovedSecret } from './vault.ts';

export interface SecretTransfer {
  /**
   * Every secret with its text, and the names of those that are damaged. `instead`: files of the state that begin so
   * hold nothing else. Throws SECRETS_LOCKED, SECRET_DENIED (a plugin from outside of the tree).
   */
  takeOut(): Promise<{
    readonly secrets: readonly MovedSecret[];
    readonly damaged: readonly string[];
    readonly instead?: string;
  }>;
  /** The same as a file of the state, sealed with the key of this device. Throws SECRETS_LOCKED, PARAMS_INVALID, SECRET_DENIED. */
  sealed(secrets: readonly MovedSecret[]): Promise<{ readonly path: string; readonly text: string }>;
}

export const secretTransfer = serviceRef<SecretTransfer>('secret-transfer', '1.0.0', 'tree');

export function transferOf(store: SecretStore, vault: Vault): ServesEachUser<SecretTransfer> {
  return {
    [FOR_USER]: ({ plugin, outside }) => {
      const allowed = () => {
        if (outside !== true) return;
        const reason = 'it is for plugins of the Core';
        throw new CoreError('SECRET_DENIED', { caller: `plugin.${plugin}`, name: 'secret-transfer', reason });
      };
      return {
        async takeOut() {
          allowed();
          await store.open();
          const secrets: MovedSecret[] = [];
          const damaged: string[] = [];
          for (const [key, { at, by }] of vault.records) {
            try {
              const text = await vault.read(key);
              if (text !== undefined) secrets.push({ key, text, at, by });
            } catch (error) {
              if (!(error instanceof CoreError) || error.code !== 'STATE_CORRUPT') throw error;
              damaged.push(key);
            }
          }
          return { secrets, damaged, ...(vault.stored && { instead: vault.stored.path }) };
        },
        async sealed(secrets) {
          allowed();
          if (!vault.stored) throw locked('the keyring of the kernel is empty after the next start: set them anew');
          for (const { key, text } of secrets) {
            if (!isKey(key)) throw new CoreError('PARAMS_INVALID', { where: 'a secret', reason: 'its name is none' });
            checkText(text, partsOf(key).scope);
          }
          try {
            return { path: vault.stored.path, text: await vault.stored.sealed(secrets) };
          } catch (error) {
            throw error instanceof CoreError ? error : locked(reasonOf(error));
          }
        },
      };
    },
  };
}

const locked = (reason: string): CoreError => new CoreError('SECRETS_LOCKED', { reason });
