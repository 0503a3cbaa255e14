/** Address of a Wyoming service: `tcp://host:port` or `unix:///path`. */
import { isIP, type NetConnectOpts } from 'node:net';
import { CoreError } from '@device-core/plugin-api';

export type Address =
  | { readonly uri: string; readonly path: string }
  | { readonly uri: string; readonly host: string; readonly port: number };

/** sun_path holds 108 bytes with the final zero. */
const MOST_PATH_BYTES = 107;

/** Throws PARAMS_INVALID. */
export function parseAddress(uri: string): Address {
  const refuse = (reason: string) => new CoreError('PARAMS_INVALID', { where: `the address ${uri}`, reason });
  if (uri.startsWith('unix://')) {
    const path = uri.slice('unix://'.length);
    if (!path.startsWith('/') || path.includes('\0')) throw refuse('it is not unix:///path');
    if (Buffer.byteLength(path) > MOST_PATH_BYTES) throw refuse(`its path is longer than ${MOST_PATH_BYTES} bytes`);
    return { uri, path };
  }
  const found = /^tcp:\/\/(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(uri);
  const host = found?.[1] ?? found?.[2];
  const port = Number(found?.[3]);
  if (!host || port > 65_535) throw refuse('it is neither tcp://host:port nor unix:///path');
  if (found?.[1] && isIP(host) !== 6) throw refuse('its host is no IPv6 address');
  return { uri, host, port };
}

/** Does what is sent there stay on this machine? A name other than localhost could be anywhere. */
export function isLocal(address: Address): boolean {
  if ('path' in address) return true;
  const { host } = address;
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

export function connectOptions(address: Address): NetConnectOpts {
  return 'path' in address ? { path: address.path } : { host: address.host, port: address.port };
}
