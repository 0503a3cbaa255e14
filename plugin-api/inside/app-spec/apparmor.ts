import type { AppSpec } from '../../contract/app-spec.ts';
import { profileOf } from './unit.ts';

/** Families of sockets by what was granted; what is not named is refused. */
const NETWORK: Readonly<Record<AppSpec['network'], readonly string[]>> = {
  none: [],
  hosts: ['network inet stream,'],
  open: [
    'network inet stream,',
    'network inet dgram,',
    'network inet6 stream,',
    'network inet6 dgram,',
    'network netlink raw,',
  ],
};
/** Files for names of hosts and for certificates; with the open network only. */
const RESOLVES = ['#include <abstractions/nameservice>', '#include <abstractions/ssl_certs>'];

/**
 * The AppArmor profile of a guest, its whole text (apparmor.d(5)): a second list of the same things, kept by another
 * part of the kernel.
 */
export function apparmorOf(spec: AppSpec): string {
  const { runtime, program, code, files, run, shared, devices, network } = spec;
  const beside = files.read.filter((path) => path !== code);
  const lines = [
    ...(spec.bare ? [] : ['#include <abstractions/base>']),
    ...(runtime === 'python' ? ['#include <abstractions/python>'] : []),
    ...(network === 'none' ? [] : ['#include <abstractions/ssl_certs>']),
    ...(network === 'open' ? RESOLVES.slice(0, 1) : []),
    ...(spec.bare ? [] : ['/usr/** mrix,', '/{bin,sbin,lib,lib64}/** mrix,']),
    `${profilePath(program)} mrix,`,
    ...[code, ...beside].flatMap((path) => [
      `${profilePath(path)} mr,`,
      `${profilePath(path, '/')} r,`,
      `${profilePath(path, '/**')} mrix,`,
    ]),
    ...files.write.flatMap((path) => [
      `owner ${profilePath(path, '/')} rw,`,
      `owner ${profilePath(path, '/**')} rwkl,`,
    ]),
    ...[run, ...(shared === undefined ? [] : [shared])].flatMap((path) => [
      `${profilePath(path, '/')} r,`,
      `${profilePath(path, '/*')} rw,`,
    ]),
    `/run/credentials/${spec.name}.service/ r,`,
    `/run/credentials/${spec.name}.service/* r,`,
    ...['owner /tmp/ rw,', 'owner /tmp/** rwkl,', 'owner /dev/shm/** rwkl,'],
    ...[
      'owner @{PROC}/@{pid}/** rw,',
      '@{PROC}/{,*} r,',
      '@{PROC}/sys/** r,',
      '/sys/** r,',
      '/dev/{null,zero,full,random,urandom,tty} rw,',
    ],
    ...devices.map(({ path, access }) => `${profilePath(path)} ${access},`),
    ...NETWORK[network],
    // Unix sockets of the guest; the others are closed by the paths above.
    'network unix,',
    ...['signal (receive) peer=unconfined,', `signal (send, receive) peer=${profileOf(spec)},`],
    ...[
      'deny network packet,',
      'deny network bluetooth,',
      'deny ptrace,',
      'deny mount,',
      'deny umount,',
      'deny pivot_root,',
      'deny capability,',
    ],
  ];
  return [
    // By it the rules mean the same to every kernel; without it those of sockets may mean nothing.
    'abi <abi/3.0>,',
    '#include <tunables/global>',
    '',
    `profile ${profileOf(spec)} flags=(attach_disconnected,mediate_deleted) {`,
    ...lines.map((line) => `  ${line}`),
    '}',
    '',
  ].join('\n');
}

/** A path as it is, and a pattern after it. */
export function profilePath(path: string, pattern = ''): string {
  return `"${path.replace(/[\\"*?[\]{}^,@!|]/g, (char) => `\\${char}`)}${pattern}"`;
}
