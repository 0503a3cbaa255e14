/** Links and routes as the kernel shows them in files. Reads only. */
import { readdir, readFile, stat } from 'node:fs/promises';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import type { NetworkLink, NetworkState } from '@device-core/plugin-api/services/network';

export interface Places {
  /** `/sys/class/net` */
  readonly sys: string;
  /** `/proc/net` */
  readonly proc: string;
}

/** ARPHRD_ETHER, of /sys/class/net/NAME/type. Everything else is no way to others, or a tunnel. */
const ETHERNET = '1';
const LOOPBACK = '772';
const MOST_LINKS = 64;
const RTF_UP = 0x1;
const RTF_REJECT = 0x200;

const text = (path: string): Promise<string> =>
  readFile(path, 'utf8').then(
    (read) => read.trim(),
    () => '', // a link that went meanwhile, or a file that this kernel does not have
  );

/** Every link but the one to the device itself, by name. */
export async function linksOf({ sys }: Places): Promise<readonly NetworkLink[]> {
  const names = (await readdir(sys).catch(() => [])).sort().slice(0, MOST_LINKS);
  const addresses = networkInterfaces();
  const links = await Promise.all(
    names.map(async (name): Promise<NetworkLink | undefined> => {
      const folder = join(sys, name);
      const [kind, state, carrier, uevent, own] = await Promise.all(
        ['type', 'operstate', 'carrier', 'uevent', 'addresses'].map((file) => text(join(folder, file))),
      );
      if (kind === '' || kind === LOOPBACK) return undefined;
      const wireless = await stat(join(folder, 'wireless')).then(
        () => true,
        () => /^DEVTYPE=wlan$/m.test(uevent!),
      );
      const mobile = /^DEVTYPE=wwan$/m.test(uevent!) || /^(wwan|rmnet|ppp)/.test(name);
      // Drivers that do not tell their state say `unknown`: the carrier decides.
      const up = state === 'up' || (state === 'unknown' && carrier === '1');
      const told = own ? own.split(/\s+/) : (addresses[name] ?? []).map(({ address }) => address);
      const virtual = kind !== ETHERNET || /^(br|veth|docker|tun|tap|wg|ifb|dummy)/.test(name);
      return {
        name,
        type: wireless ? 'wifi' : mobile ? 'mobile' : virtual ? 'other' : 'ethernet',
        up,
        addresses: up ? told : [],
      };
    }),
  );
  return links.filter((link) => link !== undefined);
}

/** Names of links with a way beyond their own network, the best first. */
export async function waysOut({ proc }: Places): Promise<readonly string[]> {
  const [four, six] = await Promise.all([text(join(proc, 'route')), text(join(proc, 'ipv6_route'))]);
  const ways: { readonly name: string; readonly metric: number }[] = [];
  for (const line of four.split('\n').slice(1)) {
    const [name = '', to, , flags = '', , , metric = '', mask] = line.split('\t').map((part) => part.trim());
    if (to === '00000000' && mask === '00000000' && Number.parseInt(flags, 16) & RTF_UP)
      ways.push({ name, metric: Number(metric) });
  }
  for (const line of six.split('\n')) {
    const [to = '', length, , , , metric = '', , , flags = '', name = ''] = line.trim().split(/\s+/);
    const bits = Number.parseInt(flags, 16);
    if (/^0{32}$/.test(to) && length === '00' && bits & RTF_UP && !(bits & RTF_REJECT) && name !== 'lo')
      ways.push({ name, metric: Number.parseInt(metric, 16) });
  }
  return ways.sort((one, other) => one.metric - other.metric).map(({ name }) => name);
}

/**
 * A route beyond is all that is known here: whether somebody answers there is not asked. What goes by a mobile network
 * is taken as paid for.
 */
export function stateOf(links: readonly NetworkLink[], ways: readonly string[]): NetworkState {
  const up = links.filter((link) => link.up);
  const out = ways.map((name) => up.find((link) => link.name === name)).find((link) => link !== undefined);
  const near = up.find(({ type, addresses }) => type !== 'other' && addresses.some(isReal));
  const link = out ?? near;
  if (!link) return { state: 'offline', type: 'none', metered: false };
  const type = link.type === 'other' ? 'none' : link.type;
  return { state: out ? 'online' : 'local', type, metered: link.type === 'mobile' };
}

/** A link-local address of version 6 is there as soon as the cable is. */
const isReal = (address: string): boolean => !/^fe80:/i.test(address);
