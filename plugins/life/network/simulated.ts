import { CoreError } from '@device-core/plugin-api';
import type { NetworkLink, NetworkState, WifiNetwork } from '@device-core/plugin-api/services/network';
import type { Known, Provider } from './provider.ts';

type Sample = Omit<WifiNetwork, 'joined' | 'known'> & { readonly passphrase?: string };

/** Networks that are in the air: their passphrases are those of the guide. */
const AIR: readonly Sample[] = [
  { ssid: 'Workshop', signal: 0.82, security: 'wpa', passphrase: 'workshop' },
  { ssid: 'Café next door', signal: 0.4, security: 'open' },
  { ssid: 'Office', signal: 0.31, security: 'enterprise' },
];
const NAMES = { ethernet: 'eth0', wifi: 'wlan0', mobile: 'wwan0' } as const;

/** A network that is what somebody says. */
export class SimulatedNetwork implements Provider {
  readonly name = 'sim';
  readonly #changed: () => void;
  readonly #known = new Set(['Workshop']);
  #joined: string | undefined = 'Workshop';
  #state: NetworkState = { state: 'online', type: 'wifi', metered: false };

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  simulate({ state, type, metered }: NetworkState): void {
    this.#state = { state, type, metered };
    this.#changed();
  }

  async state(): Promise<NetworkState> {
    return this.#state;
  }

  async look(): Promise<Known> {
    const { state, type } = this.#state;
    const up = state !== 'offline';
    const links: NetworkLink[] = [];
    if (type !== 'none') {
      const addresses = up ? ['192.0.2.10'] : [];
      const air = AIR.find(({ ssid }) => ssid === this.#joined);
      const wifi = type === 'wifi' && up && air ? { ssid: air.ssid, signal: air.signal } : {};
      links.push({ name: NAMES[type], type, up, addresses, ...wifi });
    }
    return { ...this.#state, links, wifi: true };
  }

  async networks(): Promise<readonly WifiNetwork[]> {
    return AIR.map(({ passphrase: _, ...seen }) => ({
      ...seen,
      known: this.#known.has(seen.ssid),
      joined: seen.ssid === this.#joined,
    }));
  }

  async join(ssid: string, passphrase: string | undefined): Promise<void> {
    const air = AIR.find((one) => one.ssid === ssid);
    const refused = (reason: string) => new CoreError('NETWORK_REFUSED', { verb: 'join', ssid, reason });
    if (!air) throw refused('no such network is in reach');
    if (air.security === 'enterprise')
      throw refused('it asks for a name or a certificate, which only the system can give');
    const known = this.#known.has(ssid) && passphrase === undefined;
    if (air.passphrase !== undefined && !known && air.passphrase !== passphrase)
      throw refused('the passphrase was not taken');
    this.#known.add(ssid);
    this.#joined = ssid;
    this.simulate({ state: 'online', type: 'wifi', metered: false });
  }

  async forget(ssid: string): Promise<void> {
    if (!this.#known.delete(ssid))
      throw new CoreError('NETWORK_REFUSED', { verb: 'forget', ssid, reason: 'the device does not know it' });
    if (this.#joined !== ssid) return;
    this.#joined = undefined;
    if (this.#state.type === 'wifi') this.simulate({ state: 'offline', type: 'none', metered: false });
  }
}
