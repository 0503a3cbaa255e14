import { serviceRef } from '../contract/service-ref.ts';

/** Payload of `system.network`. */
export interface NetworkState {
  /** `local`: its own network and no way beyond. */
  readonly state: 'online' | 'local' | 'offline';
  readonly type: 'ethernet' | 'wifi' | 'mobile' | 'none';
  readonly metered: boolean;
}

export interface NetworkLink {
  /** `wlan0` */
  readonly name: string;
  readonly type: 'ethernet' | 'wifi' | 'mobile' | 'other';
  readonly up: boolean;
  readonly addresses: readonly string[];
  /** Name of a Wi-Fi. */
  readonly ssid?: string;
  /** 0 to 1. */
  readonly signal?: number;
}

export interface WifiNetwork {
  readonly ssid: string;
  /** 0 to 1. */
  readonly signal: number;
  readonly security: 'open' | 'wpa' | 'wpa3' | 'enterprise' | 'wep';
  /** The device knows its passphrase. */
  readonly known: boolean;
  readonly joined: boolean;
}

export interface NetworkStatus extends NetworkState {
  /** `networkmanager`, `rtnetlink`, `sim` */
  readonly provider: string;
  readonly links: readonly NetworkLink[];
  /** Whether networks can be listed and joined here, and why not. */
  readonly wifi: boolean;
  readonly reason?: string;
}

/** Networks that the device can reach. Publishes `system.network` by itself. */
export interface Network {
  status(): Promise<NetworkStatus>;
  /** Throws UNAVAILABLE where there is no Wi-Fi that can be asked. */
  networks(): Promise<readonly WifiNetwork[]>;
  /** The passphrase is kept by the system, never by the Core, and stands in no log. Throws UNAVAILABLE, NETWORK_REFUSED. */
  join(ssid: string, passphrase?: string): Promise<void>;
  /** Throws UNAVAILABLE, NETWORK_REFUSED. */
  forget(ssid: string): Promise<void>;
}

export const network = serviceRef<Network>('network', '1.0.0', 'powerful', 'joins and leaves networks');
