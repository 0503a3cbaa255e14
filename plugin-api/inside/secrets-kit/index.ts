/** For plugins that keep secrets: all that is the same whatever they keep them in. */
export {
  checkName,
  checkText,
  commandFor,
  isKey,
  keyOf,
  LONGEST_NAME,
  notFound,
  partsOf,
  SECRET_NAME,
  SECRET_SCOPE,
  type SecretKey,
  SHARED,
} from './names.ts';
export { referencesIn } from './references.ts';
export { type Served, type Serving, serveSecrets } from './serve.ts';
export { LIMITS, type SecretTexts } from './store.ts';
export type { MovedSecret, Vault, VaultRecord, VaultState } from './vault.ts';
