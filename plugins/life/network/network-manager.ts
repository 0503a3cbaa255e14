import { CoreError, reasonOf, type Scope } from '@device-core/plugin-api';
import { DBusError, type DBusValue, Variant } from '@device-core/plugin-api/inside/dbus';
import type { Peer } from '@device-core/plugin-api/inside/dbus-peer';
import type { NetworkLink, NetworkState, WifiNetwork } from '@device-core/plugin-api/services/network';
import {
  ACTIVATED,
  ACTIVE,
  DEVICE_TYPES,
  LOOPBACK,
  NM,
  NM_PATH,
  reasonOfState,
  SETTINGS_PATH,
  securityOf,
  stateOf,
} from './nm-names.ts';
import type { Known, Provider } from './provider.ts';

type Facts = ReadonlyMap<string, DBusValue>;
interface Heard extends WifiNetwork {
  /** Object of the strongest access point. */
  readonly path: string;
}

const FACE = { device: `${NM}.Device`, wifi: `${NM}.Device.Wireless`, active: `${NM}.Connection.Active` } as const;
const JOIN_MS = 60_000;
const MOST_NETWORKS = 64;
const paths = (value: DBusValue | undefined): readonly string[] => (Array.isArray(value) ? value.map(String) : []);
const nameOf = (value: DBusValue | undefined): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString('utf8') : '';

/** NetworkManager by D-Bus. It keeps passphrases; they go to it in a message and are kept nowhere here. */
export class NetworkManager implements Provider {
  readonly name = 'networkmanager';
  readonly #peer: Peer;
  readonly #scope: Scope;

  private constructor(peer: Peer, scope: Scope) {
    this.#peer = peer;
    this.#scope = scope;
  }

  static async open(peer: Peer, scope: Scope, changed: () => void): Promise<NetworkManager> {
    scope.use('state of NetworkManager', await peer.onProperties(NM_PATH, changed));
    return new NetworkManager(peer, scope);
  }

  async state(): Promise<NetworkState> {
    return stateOf(await this.#peer.properties(NM_PATH, NM));
  }

  async look(): Promise<Known> {
    const told = await this.#peer.properties(NM_PATH, NM);
    const links = await Promise.all(paths(told.get('Devices')).map((path) => this.#link(path)));
    const wifi = links.some((link) => link?.type === 'wifi') && told.get('WirelessEnabled') !== false;
    return {
      ...stateOf(told),
      links: links.filter((link) => link !== undefined).sort((one, other) => (one.name < other.name ? -1 : 1)),
      wifi,
      ...(!wifi && { reason: NO_WIFI }),
    };
  }

  async networks(): Promise<readonly WifiNetwork[]> {
    const wifi = await this.#wifi();
    // It looks for others in the background; a refusal means that it has just done so.
    await this.#peer.call([wifi, FACE.wifi], 'RequestScan', 'a{sv}', [new Map()]).catch(ifDBus);
    return (await this.#heard(wifi)).map(({ path: _, ...seen }) => seen);
  }

  async join(ssid: string, passphrase: string | undefined): Promise<void> {
    const wifi = await this.#wifi();
    const refused = (reason: string, cause?: unknown) =>
      new CoreError('NETWORK_REFUSED', { verb: 'join', ssid, reason }, { cause });
    const heard = (await this.#heard(wifi)).find((one) => one.ssid === ssid);
    if (!heard) throw refused('no such network is in reach');
    if (heard.security === 'enterprise')
      throw refused('it asks for a name or a certificate, which only the system can give');
    const known = await this.#profile(ssid);
    if (heard.security !== 'open' && passphrase === undefined && !known) throw refused('it asks for a passphrase');
    const added = passphrase !== undefined || !known;
    let profile = '';
    try {
      let active: string;
      if (added) {
        const settings = settingsOf(ssid, passphrase, heard.security);
        const answer = await this.#peer.call(
          ...([[NM_PATH, NM], 'AddAndActivateConnection', 'a{sa{sv}}oo', [settings, wifi, heard.path]] as const),
        );
        [profile, active] = answer.map(String) as [string, string];
      } else {
        const answer = await this.#peer.call([NM_PATH, NM], 'ActivateConnection', 'ooo', [
          known ?? '/',
          wifi,
          heard.path,
        ]);
        active = String(answer[0]);
      }
      await this.#activated(active);
      // A profile with another passphrase is replaced once the new one was taken.
      if (added && known) await this.#delete(known);
    } catch (error) {
      if (profile) await this.#delete(profile).catch(ifDBus);
      // A word of D-Bus may repeat what it was sent: its kind is told, never its text.
      throw refused(
        error instanceof DBusError ? said(error) : reasonOf(error),
        error instanceof DBusError ? undefined : error,
      );
    }
  }

  async forget(ssid: string): Promise<void> {
    await this.#wifi();
    const profile = await this.#profile(ssid);
    const refused = (reason: string) => new CoreError('NETWORK_REFUSED', { verb: 'forget', ssid, reason });
    if (!profile) throw refused('the device does not know it');
    try {
      await this.#delete(profile);
    } catch (error) {
      throw refused(error instanceof DBusError ? said(error) : reasonOf(error));
    }
  }

  async #link(path: string): Promise<NetworkLink | undefined> {
    const told = await this.#peer.properties(path, FACE.device).catch(gone);
    if (!told || told.get('DeviceType') === LOOPBACK) return undefined;
    const up = Number(told.get('State')) === ACTIVATED;
    const type = DEVICE_TYPES[Number(told.get('DeviceType'))] ?? 'other';
    const configs = [String(told.get('Ip4Config') ?? '/'), String(told.get('Ip6Config') ?? '/')];
    const addresses = up ? (await Promise.all(configs.map((config, at) => this.#addresses(config, at)))).flat() : [];
    const link = { name: String(told.get('Interface')), type, up, addresses };
    if (type !== 'wifi' || !up) return link;
    const active = (await this.#peer.properties(path, FACE.wifi).catch(gone))?.get('ActiveAccessPoint');
    const point = active === undefined || active === '/' ? undefined : await this.#point(String(active));
    return point ? { ...link, ssid: nameOf(point.get('Ssid')), signal: Number(point.get('Strength')) / 100 } : link;
  }

  async #addresses(config: string, at: number): Promise<readonly string[]> {
    if (config === '/') return [];
    const told = await this.#peer.properties(config, `${NM}.IP${at === 0 ? 4 : 6}Config`).catch(gone);
    const data = told?.get('AddressData');
    if (!Array.isArray(data)) return [];
    return data.map((one: Facts) => String((one.get('address') as Variant | undefined)?.value ?? ''));
  }

  #point(path: string): Promise<Facts | undefined> {
    return this.#peer.properties(path, `${NM}.AccessPoint`).catch(gone);
  }

  /** The first device for Wi-Fi. */
  async #wifi(): Promise<string> {
    const told = await this.#peer.properties(NM_PATH, NM);
    if (told.get('WirelessEnabled') !== false)
      for (const path of paths(told.get('Devices'))) {
        const device = await this.#peer.properties(path, FACE.device).catch(gone);
        if (DEVICE_TYPES[Number(device?.get('DeviceType'))] === 'wifi') return path;
      }
    throw new CoreError('UNAVAILABLE', { what: 'the Wi-Fi', reason: NO_WIFI });
  }

  /** The strongest of each name first, without those that hide it. */
  async #heard(wifi: string): Promise<readonly Heard[]> {
    const told = await this.#peer.properties(wifi, FACE.wifi);
    const active = told.get('ActiveAccessPoint');
    const known = await this.#profiles();
    const best = new Map<string, Heard>();
    for (const path of paths(told.get('AccessPoints'))) {
      const point = await this.#point(path);
      const ssid = nameOf(point?.get('Ssid'));
      if (!point || ssid === '') continue;
      const [flags, wpa, rsn] = ['Flags', 'WpaFlags', 'RsnFlags'].map((name) => Number(point.get(name) ?? 0));
      const signal = Number(point.get('Strength')) / 100;
      const former = best.get(ssid);
      const joined = path === active || former?.joined === true;
      if (former && former.signal >= signal) best.set(ssid, { ...former, joined });
      else
        best.set(ssid, {
          ssid,
          signal,
          security: securityOf(flags!, wpa!, rsn!),
          known: known.has(ssid),
          joined,
          path,
        });
    }
    return [...best.values()].sort((one, other) => other.signal - one.signal).slice(0, MOST_NETWORKS);
  }

  /** Objects of the profiles of Wi-Fi networks, by the name of the network. */
  async #profiles(): Promise<ReadonlyMap<string, string>> {
    const [list] = await this.#peer.call([SETTINGS_PATH, `${NM}.Settings`], 'ListConnections');
    const known = new Map<string, string>();
    for (const path of paths(list)) {
      const [all] = await this.#peer.call([path, `${NM}.Settings.Connection`], 'GetSettings').catch(() => []);
      const wireless = all instanceof Map ? (all as ReadonlyMap<string, Facts>).get('802-11-wireless') : undefined;
      const ssid = nameOf((wireless?.get('ssid') as Variant | undefined)?.value);
      if (ssid !== '') known.set(ssid, path);
    }
    return known;
  }

  async #profile(ssid: string): Promise<string | undefined> {
    return (await this.#profiles()).get(ssid);
  }

  #delete(profile: string): Promise<unknown> {
    return this.#peer.call([profile, `${NM}.Settings.Connection`], 'Delete');
  }

  /** Rejects with the reason where the network is not joined. */
  async #activated(active: string): Promise<void> {
    const done = Promise.withResolvers<void>();
    const heed = (state: unknown, reason: unknown): void => {
      if (state === ACTIVE.activated) done.resolve();
      if (state === ACTIVE.deactivated) done.reject(new Error(reasonOfState(Number(reason))));
    };
    done.promise.catch(() => undefined);
    using _told = await this.#peer.onSignal([active, FACE.active], 'StateChanged', ({ body: [state, reason] }) =>
      heed(state, reason),
    );
    // The state may have changed before the listener; an object that is gone was given up.
    const now = await this.#peer.properties(active, FACE.active).catch(gone);
    heed(now ? now.get('State') : ACTIVE.deactivated, 0);
    await this.#scope.within('joining the network', JOIN_MS, () => done.promise);
  }
}

const NO_WIFI = 'the device has no Wi-Fi, or it is switched off';

function settingsOf(ssid: string, passphrase: string | undefined, security: WifiNetwork['security']): DBusValue {
  const text = (value: string) => new Variant('s', value);
  const settings = new Map<string, ReadonlyMap<string, DBusValue>>([
    [
      'connection',
      new Map([
        ['id', text(ssid)],
        ['type', text('802-11-wireless')],
      ]),
    ],
    ['802-11-wireless', new Map([['ssid', new Variant('ay', new Uint8Array(Buffer.from(ssid)))]])],
  ]);
  if (passphrase !== undefined && security === 'wep')
    settings.set(
      '802-11-wireless-security',
      new Map([
        ['key-mgmt', text('none')],
        ['wep-key0', text(passphrase)],
      ]),
    );
  else if (passphrase !== undefined)
    settings.set(
      '802-11-wireless-security',
      new Map([
        ['key-mgmt', text(security === 'wpa3' ? 'sae' : 'wpa-psk')],
        ['psk', text(passphrase)],
      ]),
    );
  return settings;
}

function said({ error }: DBusError): string {
  if (/PermissionDenied|AccessDenied|AuthorizationRequired/.test(error))
    return `the system does not let this service change networks (${error}): a rule of polkit does`;
  return `NetworkManager refused it (${error})`;
}

/** An object that went meanwhile. */
function gone(error: unknown): undefined {
  ifDBus(error);
}

function ifDBus(error: unknown): void {
  if (!(error instanceof DBusError)) throw error;
}
