/**
 * Messages of the kernel of Linux by netlink, as bytes: a change of links, addresses and routes, or of devices. The
 * caller reads them.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { reasonOf } from '../contract/errors.ts';
import type { Scope } from '../contract/scope.ts';
import { afterOwnTime } from '../kits/own-time.ts';

/** Used functions of the package koffi, which the plugin declares and loads. */
export interface NativeCalls {
  load(path: null): { func(prototype: string): (...args: readonly unknown[]) => unknown };
  errno(): number;
}

/** Families of netlink, and their groups as bits: linux/rtnetlink.h, linux/netlink.h. */
export const NETLINK = {
  /** RTMGRP_LINK, IPV4_IFADDR, IPV4_ROUTE, IPV6_IFADDR, IPV6_ROUTE */
  route: { family: 0, groups: 0x1 | 0x10 | 0x40 | 0x100 | 0x400 },
  /** Devices that come, change and go. */
  devices: { family: 15, groups: 0x1 },
} as const;

export interface NetlinkOptions {
  /** Source of the messages: the kernel, or a pipe in its place. */
  readonly from: keyof typeof NETLINK | { readonly pipe: string };
  readonly native?: () => Promise<NativeCalls>;
  readonly scope: Scope;
  readonly hear: (bytes: Uint8Array) => void;
  /** Nothing is told any more, with the reason. */
  readonly over: (reason: string) => void;
}

const AF_NETLINK = 16;
const SOCK_RAW_CLOEXEC = 3 | 0o2000000;
const STOP_MS = 1_000;
const REPORT_BYTES = 300;

/**
 * Listens until the scope ends. Throws where the kernel gives no such socket. `cat` reads the socket, and we read its
 * pipe: Node takes no such descriptor, and a read of it in libuv's pool would hold one of four threads for days (as
 * with input devices).
 */
export async function listenNetlink(options: NetlinkOptions): Promise<void> {
  const { scope, hear, over, from } = options;
  const fd = typeof from === 'object' ? openSync(from.pipe, 'r+') : await open(options, NETLINK[from]);
  const child = (() => {
    try {
      return spawn('cat', [], { stdio: [fd, 'pipe', 'pipe'], env: { PATH: '/usr/bin:/bin', LANG: 'C' } });
    } finally {
      closeSync(fd);
    }
  })();
  let said = '';
  child.stdout?.on('data', hear);
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-REPORT_BYTES);
  });
  const closed = once(child, 'close').then(
    () => said.trim().replace(/^cat: /, '') || 'what it told ended',
    (error: unknown) => `cat does not start: ${reasonOf(error)}`,
  );
  let stopped = false;
  scope.defer('events of the kernel', async () => {
    stopped = true;
    child.kill('SIGTERM');
    using _hard = afterOwnTime(scope.clock, STOP_MS, () => child.kill('SIGKILL'));
    await closed;
  });
  void closed.then((reason) => {
    if (!stopped) over(reason);
  });
}

async function open(
  { native }: NetlinkOptions,
  { family, groups }: { readonly family: number; readonly groups: number },
): Promise<number> {
  if (!native) throw new Error('there are no native calls');
  const calls = await native();
  const libc = calls.load(null);
  const socket = libc.func('int socket(int domain, int type, int protocol)');
  const bind = libc.func('int bind(int fd, void *address, uint length)');
  const fd = Number(socket(AF_NETLINK, SOCK_RAW_CLOEXEC, family));
  if (fd < 0) throw new Error(`the kernel gives no netlink socket (error ${calls.errno()})`);
  /** struct sockaddr_nl: family, pad, pid 0 (the kernel chooses), groups. */
  const address = Buffer.alloc(12);
  address.writeUInt16LE(AF_NETLINK);
  address.writeUInt32LE(groups, 8);
  if (Number(bind(fd, address, address.length)) === 0) return fd;
  const errno = calls.errno();
  closeSync(fd);
  throw new Error(`the kernel does not tell of changes (error ${errno})`);
}
