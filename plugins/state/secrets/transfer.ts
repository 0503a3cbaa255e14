/** Provider of service `secret-transfer`. */
import { CoreError, FOR_USER, reasonOf, type ServesEachUser } from '@device-core/plugin-api';
import type { MovedSecret, SecretTransfer } from '@device-core/plugin-api/inside/services/secret-transfer';
import { checkText, isKey, partsOf } from './names.ts';
import type { SecretStore } from './store.ts';
import type { Vault } from './vault.ts';

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
