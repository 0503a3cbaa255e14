/**
 * The keys that are at hand for a repository. A key is opened when its signature is wanted, so that nobody is asked for
 * a passphrase in vain.
 */
import { join } from 'node:path';
import { usage } from '@device-core/plugin-api/program';
import { type KeyPlace, keyAt, keysIn, publicKeyOf } from '../keys/key-files.ts';
import { openSigner, type Signer, type SignerOptions } from '../keys/signer.ts';
import { type RoleKeys, type TufKey, tufKey } from './metadata.ts';

export type RoleSigner = Signer & { readonly id: string };

export interface RingKey {
  readonly id: string;
  readonly json: TufKey;
  readonly name: string;
}

export class Keyring {
  readonly #folder: string;
  readonly #options: SignerOptions;
  readonly #places = new Map<string, KeyPlace>();
  readonly #open = new Map<string, RoleSigner>();

  constructor(folder: string, options: SignerOptions) {
    this.#folder = folder;
    this.#options = options;
    for (const place of keysIn(folder)) this.#places.set(tufKey(publicKeyOf(place)).id, place);
  }

  /** By the name of its file. Throws a usage error. */
  named(name: string): RingKey {
    const place = keyAt(join(this.#folder, name));
    return { ...tufKey(publicKeyOf(place)), name };
  }

  has(id: string): boolean {
    const place = this.#places.get(id);
    return place !== undefined && place.kind !== 'public';
  }

  /** Signers that fulfil all of these, as few as will do. Throws a usage error that names the keys that are missing. */
  async signersFor(role: string, wanted: readonly RoleKeys[]): Promise<readonly RoleSigner[]> {
    const chosen = new Set<string>();
    // One that stands in several lists first: a key that stays signs for both the former and the new list.
    const count = (id: string) => wanted.filter(({ keyids }) => keyids.includes(id)).length;
    for (const { keyids, threshold } of wanted) {
      const here = [...keyids].filter((id) => this.has(id)).sort((a, b) => count(b) - count(a));
      let left = threshold - keyids.filter((id) => chosen.has(id)).length;
      for (const id of here) {
        if (left <= 0) break;
        if (chosen.has(id)) continue;
        chosen.add(id);
        left -= 1;
      }
      if (left > 0) {
        const missing = keyids
          .filter((id) => !this.has(id))
          .map((id) => this.#places.get(id)?.name ?? `${id.slice(0, 12)}…`);
        throw usage(
          `${role} needs ${left} more of these keys: ${missing.join(', ')}`,
          `they are not in ${this.#folder}`,
        );
      }
    }
    return Promise.all([...chosen].map((id) => this.#signer(id)));
  }

  async #signer(id: string): Promise<RoleSigner> {
    const place = this.#places.get(id)!;
    const open = this.#open.get(id) ?? { ...(await openSigner(place.path, this.#options)), id };
    this.#open.set(id, open);
    return open;
  }
}
