import type { NetworkLink, NetworkState, WifiNetwork } from '@device-core/plugin-api/services/network';

/** Present state of the network. */
export interface Known extends NetworkState {
  readonly links: readonly NetworkLink[];
  readonly wifi: boolean;
  /** Why there is no Wi-Fi to be asked. */
  readonly reason?: string;
}

/** A source of the state on this device: each in a separate file, and one suite for all of them. */
export interface Provider {
  readonly name: 'networkmanager' | 'rtnetlink' | 'sim';
  state(): Promise<NetworkState>;
  look(): Promise<Known>;
  /** Throw UNAVAILABLE where there is no Wi-Fi that can be asked, and NETWORK_REFUSED. */
  networks(): Promise<readonly WifiNetwork[]>;
  join(ssid: string, passphrase: string | undefined): Promise<void>;
  forget(ssid: string): Promise<void>;
}
