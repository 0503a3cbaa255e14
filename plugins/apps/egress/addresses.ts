/** Which addresses lie outside of the house: only these may be reached by a name. Pure, but for the addresses of the device. */
import { BlockList, isIPv6 } from 'node:net';
import { networkInterfaces } from 'node:os';

/** IANA's special-purpose registries, and what is not unicast. */
const INSIDE_V4 = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4'],
];
/** All that is reached by way of the net lies in 2000::/3; of that, what leads elsewhere: Teredo and its like, documentation, 6to4. */
const OUTSIDE_V6 = ['2000::/3'];
const INSIDE_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const inside = listOf('ipv4', INSIDE_V4);
const outside6 = listOf('ipv6', OUTSIDE_V6);
const inside6 = listOf('ipv6', INSIDE_V6);

function listOf(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList();
  for (const range of ranges) {
    const [net = '', bits] = range.split('/');
    list.addSubnet(net, Number(bits), family);
  }
  return list;
}

/** Addresses of IPv4 inside of IPv6, mapped or translated, are none: a name that leads there is not what it seems. */
export function isPublic(address: string): boolean {
  if (isIPv6(address)) return outside6.check(address, 'ipv6') && !inside6.check(address, 'ipv6');
  return !inside.check(address, 'ipv4');
}

/** The device has it: what listens here is not for apps. */
export function isOwn(address: string): boolean {
  return Object.values(networkInterfaces()).some((some) => some?.some((one) => one.address === address));
}
