/** Buses of the host as Linux shows them: lines for a SKU, and the drivers and programs that have a part of them. */
import { globSync, readFileSync, readlinkSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { KernelCalls } from '../../shared/host/calls.ts';
import { openReason } from '../../shared/host/status.ts';
import { chipIn, consumerIn, GPIO, infoBytes, lineNameIn, stateIn } from '../structs.ts';

export interface FoundBus {
  readonly plugin: string;
  /** Member of its configuration that lists buses. */
  readonly member: string;
  /** The line for the SKU. */
  readonly row: { readonly name: string; readonly path: string } & Readonly<Record<string, string | number>>;
  /** Users of it, or of a part of it. */
  readonly held: readonly string[];
}

/** ARPHRD_CAN */
const CAN = '280';

/** `root` is that of the system: `/`, or a tree in a test. */
export function scanHost(root: string, calls: KernelCalls | undefined): readonly FoundBus[] {
  const users = usersOf(root);
  return [
    ...adapters(root, users),
    ...chipSelects(root, users),
    ...controllers(root, users, calls),
    ...serialLines(root, users),
    ...interfaces(root),
  ];
}

type Users = ReadonlyMap<string, readonly string[]>;

function adapters(root: string, users: Users): readonly FoundBus[] {
  return found(root, 'sys/bus/i2c/devices/i2c-*').map((place) => {
    const name = basename(place);
    const chips = found(root, `sys/bus/i2c/devices/${name.slice(4)}-*`).flatMap((chip) => {
      const driver = driverOf(chip);
      return driver ? [`address 0x${basename(chip).slice(-2)} by the driver ${driver}`] : [];
    });
    const row = { name, path: `/dev/${name}`, adapter: text(join(place, 'name')) };
    return { plugin: 'host-i2c', member: 'buses', row, held: [...chips, ...(users.get(row.path) ?? [])] };
  });
}

/** A chip select that another driver has is no node: it is told, so that the device tree can be changed. */
function chipSelects(root: string, users: Users): readonly FoundBus[] {
  return found(root, 'sys/bus/spi/devices/spi*').map((place) => {
    const number = basename(place).slice('spi'.length);
    const driver = driverOf(place);
    const row = { name: `spi${number.replace('.', '-')}`, path: `/dev/spidev${number}` };
    const other = driver === 'spidev' ? [] : [driver ? `the driver ${driver}` : 'no driver: bind spidev to it'];
    return { plugin: 'host-spi', member: 'buses', row, held: [...other, ...(users.get(row.path) ?? [])] };
  });
}

function controllers(root: string, users: Users, calls: KernelCalls | undefined): readonly FoundBus[] {
  return found(root, 'sys/bus/gpio/devices/gpiochip*').map((place) => {
    const name = basename(place);
    const path = `/dev/${name}`;
    const about = { plugin: 'host-gpio', member: 'chips' };
    const who = users.get(path) ?? [];
    if (!calls)
      return { ...about, row: { name, path }, held: [...who, 'lines cannot be read without the package koffi'] };
    try {
      const { label, held } = linesOf(path, calls);
      return { ...about, row: { name, path, label }, held: [...held, ...who] };
    } catch (error) {
      return { ...about, row: { name, path }, held: [...who, openReason(path, error)] };
    }
  });
}

function linesOf(path: string, calls: KernelCalls): { readonly label: string; readonly held: readonly string[] } {
  const fd = calls.open(path);
  try {
    const chip = Buffer.alloc(68);
    calls.ioctl(fd, GPIO.chipInfo, chip);
    const { label, lines } = chipIn(chip);
    const held = Array.from({ length: lines }, (_, line) => line).flatMap((line) => {
      const info = infoBytes(line);
      calls.ioctl(fd, GPIO.lineInfo, info);
      if (!stateIn(info).used) return [];
      const name = lineNameIn(info);
      return [`line ${line}${name && ` (${name})`} by ${consumerIn(info) || 'the kernel'}`];
    });
    return { label, held };
  } finally {
    calls.close(fd);
  }
}

/** A line with a device behind it; consoles and pseudo terminals have none. */
function serialLines(root: string, users: Users): readonly FoundBus[] {
  const links = new Map(found(root, 'dev/serial/by-id/*').map((link) => [basename(target(link)), basename(link)]));
  return found(root, 'sys/class/tty/*').flatMap((place) => {
    const node = basename(place);
    // Type 0 is a place in the table of a driver that no chip is behind.
    if (!driverOf(join(place, 'device')) || text(join(place, 'type')) === '0') return [];
    const byId = links.get(node);
    const row = { name: node, path: byId ? `/dev/serial/by-id/${byId}` : `/dev/${node}` };
    return [{ plugin: 'host-uart', member: 'lines', row, held: users.get(`/dev/${node}`) ?? [] }];
  });
}

function interfaces(root: string): readonly FoundBus[] {
  return found(root, 'sys/class/net/*').flatMap((place) => {
    if (text(join(place, 'type')) !== CAN) return [];
    const name = basename(place);
    const state = text(join(place, 'operstate'));
    const held = [`it is ${state}; the bit rate of "ip -details link show ${name}" is to be its nominal`];
    return [{ plugin: 'host-can', member: 'interfaces', row: { name, path: name, nominal: 500_000 }, held }];
  });
}

/** Processes by the node that they have open; those of others are seen by root alone. */
function usersOf(root: string): Users {
  const users = new Map<string, string[]>();
  for (const link of found(root, 'proc/[0-9]*/fd/*')) {
    const node = target(link);
    if (!/^\/dev\/(i2c-|spidev|gpiochip|tty[A-Z])/.test(node)) continue;
    const [, pid = ''] = /\/(\d+)\/fd\/\d+$/.exec(link) ?? [];
    const who = `the process ${text(join(root, 'proc', pid, 'comm')) || '?'} (${pid})`;
    const all = users.get(node) ?? [];
    if (!all.includes(who)) users.set(node, [...all, who]);
  }
  return users;
}

function found(root: string, pattern: string): readonly string[] {
  return globSync(pattern, { cwd: root })
    .sort((a, b) => a.localeCompare(b, 'en', { numeric: true }))
    .map((path) => join(root, path));
}

/** A file that went meanwhile has no text, and a link leads nowhere. */
function text(file: string): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch {
    return '';
  }
}

function target(link: string): string {
  try {
    return readlinkSync(link);
  } catch {
    return '';
  }
}

const driverOf = (device: string): string => basename(target(join(device, 'driver')));
