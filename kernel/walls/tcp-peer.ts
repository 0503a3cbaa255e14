/** Search for the process at the other end of a local TCP connection, by the network's tables and the open files of processes. */
import { readdirSync, readlinkSync } from 'node:fs';
import { isIPv4 } from 'node:net';
import type { TcpConnection } from '@device-core/plugin-api';
import { readProc, usersOf } from './process-table.ts';

export interface TcpSocket {
  /** The link that /proc/<pid>/fd shows for it. */
  readonly name: string;
  readonly uid: number;
}

/** The client's socket; undefined when it is not of this network namespace or already closed. */
export function socketOf({ localAddress, localPort, remoteAddress, remotePort }: TcpConnection): TcpSocket | undefined {
  for (const [table, form] of [
    ['net/tcp', v4],
    ['net/tcp6', v6],
  ] as const) {
    const [client, server] = [form(remoteAddress), form(localAddress)];
    if (client === undefined || server === undefined) continue;
    const ends = `: ${client}:${port(remotePort)} ${server}:${port(localPort)} `;
    const text = readProc(table) ?? '';
    const found = text.indexOf(ends);
    if (found === -1) continue;
    // After the ends: state, queues, timer, retransmits, uid, timeout, inode.
    const fields = text.slice(found + ends.length, text.indexOf('\n', found)).split(/\s+/);
    const [uid, inode] = [Number(fields[4]), fields[6]];
    if (inode !== undefined && inode !== '0') return { name: `socket:[${inode}]`, uid };
  }
  return undefined;
}

/** True for a connection from this machine, by its addresses. */
export function isFromHere({ localAddress, remoteAddress }: TcpConnection): boolean {
  return remoteAddress === localAddress || /^(::ffff:)?127\.|^::1$/i.test(remoteAddress);
}

/** Checks all threads, because each may have separate open files. `hidden`: the process has our user, yet its files cannot be listed. */
export function holds(pid: number, socket: string): 'yes' | 'no' | 'hidden' {
  const threads = list(`/proc/${pid}/task`);
  if (threads === 'refused') return hidden(pid);
  for (const thread of threads) {
    const folder = `/proc/${pid}/task/${thread}/fd`;
    const files = list(folder);
    if (files === 'refused') return hidden(pid);
    for (const file of files) if (target(`${folder}/${file}`) === socket) return 'yes';
  }
  return 'no';
}

/** A guest with another user can read no token of ours; one that made itself unreadable is not believed. */
function hidden(pid: number): 'no' | 'hidden' {
  return usersOf(pid)[1] === process.geteuid?.() ? 'hidden' : 'no';
}

function list(folder: string): readonly string[] | 'refused' {
  try {
    return readdirSync(folder);
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    return code === 'EACCES' || code === 'EPERM' ? 'refused' : []; // it ended meanwhile
  }
}

function target(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    return undefined; // closed meanwhile
  }
}

const port = (number: number) => number.toString(16).toUpperCase().padStart(4, '0');

/** As the kernel prints it: words of 32 bits in the order of the processor, all of ours being little-endian. */
function v4(address: string): string | undefined {
  const plain = address.replace(/^::ffff:/i, '');
  return isIPv4(plain) ? word(plain.split('.').map(Number)) : undefined;
}

function v6(address: string): string | undefined {
  const mapped = v4(address);
  if (mapped !== undefined) return `0000000000000000FFFF0000${mapped}`;
  const [head = '', tail] = address.split('%', 1)[0]!.split('::');
  const groups = (text: string) => (text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16)));
  const [before, after] = [groups(head), groups(tail ?? '')];
  const all = [...before, ...Array<number>(Math.max(0, 8 - before.length - after.length)).fill(0), ...after];
  if (all.length !== 8 || all.some(Number.isNaN)) return undefined;
  const bytes = all.flatMap((group) => [group >> 8, group & 0xff]);
  return [0, 4, 8, 12].map((at) => word(bytes.slice(at, at + 4))).join('');
}

function word(bytes: readonly number[]): string {
  return bytes
    .toReversed()
    .map((byte) => byte.toString(16).toUpperCase().padStart(2, '0'))
    .join('');
}
