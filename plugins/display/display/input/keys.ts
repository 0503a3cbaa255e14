/** Settings of keys and knobs in the SKU. Pure. */

export type KeyAction = 'app' | 'home' | 'mute' | 'power';

export interface KeySetting {
  readonly does?: KeyAction;
  readonly public?: boolean;
}

/** Keys with fixed actions; the SKU cannot change them. */
const OWN: Readonly<Record<string, KeyAction>> = { home: 'home', mute: 'mute' };

export class KeyTable {
  readonly #settings: ReadonlyMap<string, KeySetting>;

  constructor(settings: Readonly<Record<string, KeySetting>>) {
    this.#settings = new Map(Object.entries(settings));
  }

  of(name: string): { readonly does: KeyAction; readonly isPublic: boolean } {
    const setting = this.#settings.get(name);
    return {
      does: Object.hasOwn(OWN, name) ? OWN[name]! : (setting?.does ?? 'app'),
      isPublic: setting?.public === true,
    };
  }
}
