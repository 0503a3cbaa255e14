/** Numbers and names of NetworkManager's D-Bus interface (its reference manual, "D-Bus API Types"). */
import type { NetworkLink, NetworkState, WifiNetwork } from '@device-core/plugin-api/services/network';

export const NM = 'org.freedesktop.NetworkManager';
export const NM_PATH = '/org/freedesktop/NetworkManager';
export const SETTINGS_PATH = `${NM_PATH}/Settings`;

/** NM_DEVICE_TYPE_*; what is not here is no way to others. */
export const DEVICE_TYPES: Readonly<Record<number, NetworkLink['type']>> = { 1: 'ethernet', 2: 'wifi', 8: 'mobile' };
export const LOOPBACK = 32;
/** NM_DEVICE_STATE_ACTIVATED */
export const ACTIVATED = 100;

const CONNECTED_LOCAL = 50;
const CONNECTED_GLOBAL = 70;
const CONNECTIVITY = { unknown: 0, full: 4 } as const;
const METERED: readonly unknown[] = [1, 3];
const TYPES: Readonly<Record<string, NetworkState['type']>> = {
  '802-3-ethernet': 'ethernet',
  '802-11-wireless': 'wifi',
  gsm: 'mobile',
  cdma: 'mobile',
};

export function stateOf(told: ReadonlyMap<string, unknown>): NetworkState {
  const [state, connectivity] = [Number(told.get('State')), Number(told.get('Connectivity') ?? 0)];
  const type = TYPES[String(told.get('PrimaryConnectionType'))] ?? 'none';
  const metered = METERED.includes(told.get('Metered'));
  if (!(state >= CONNECTED_LOCAL)) return { state: 'offline', type: 'none', metered: false };
  // Without a check against a host NetworkManager's state is all it knows.
  const beyond = connectivity === CONNECTIVITY.unknown ? state >= CONNECTED_GLOBAL : connectivity === CONNECTIVITY.full;
  return { state: beyond ? 'online' : 'local', type, metered };
}

/** NM_802_11_AP_FLAGS_PRIVACY and NM_802_11_AP_SEC_KEY_MGMT_*. */
const PRIVACY = 0x1;
const KEYS = { psk: 0x100, enterprise: 0x200 | 0x2000, sae: 0x400 } as const;

export function securityOf(flags: number, wpa: number, rsn: number): WifiNetwork['security'] {
  const keys = wpa | rsn;
  if (keys & KEYS.enterprise) return 'enterprise';
  if (keys & KEYS.psk) return 'wpa';
  if (keys & KEYS.sae) return 'wpa3';
  return flags & PRIVACY ? 'wep' : 'open';
}

/** NM_ACTIVE_CONNECTION_STATE_* */
export const ACTIVE = { activated: 2, deactivated: 4 } as const;
/** NM_ACTIVE_CONNECTION_STATE_REASON_*, in words for people. */
const REASONS: Readonly<Record<number, string>> = {
  0: 'it was given up at once: the passphrase may be wrong',
  3: 'the device has no Wi-Fi any more',
  5: 'the network gave no address',
  6: 'the network did not answer in time',
  9: 'the passphrase was not taken',
  10: 'the passphrase was not taken',
  11: 'it was removed meanwhile',
  14: 'the device has no Wi-Fi any more',
};
export const reasonOfState = (reason: number): string =>
  REASONS[reason] ?? `NetworkManager gave it up (reason ${reason})`;
