import { readlinkSync } from 'node:fs';
import { maybe } from '@device-core/plugin-api';
import {
  ARCHITECTURES,
  type Architecture,
  asUser,
  bwrapCommandOf,
  bwrapOf,
  isForwarded,
  namespaceWords,
  type SandboxSpec,
  seccompOf,
} from '@device-core/plugin-api/inside/sandbox';
import type { WalledProgram, WallMaker, Walls } from '@device-core/plugin-api/inside/services/launcher';
import { type UserRange, withUser } from '@device-core/plugin-api/inside/user-range';
import { findTool, systemFiles, type Trial, taskCounter, tryOut } from './tools.ts';
import { type Users, usersHere } from './users.ts';

export const NO_WALLS: Walls = Object.freeze({
  user: 'none',
  files: 'none',
  network: 'none',
  pids: 'none',
  signals: 'none',
  syscalls: 'none',
});

/** The words of a command that runs a guest, and what is fed to it. */
export interface Wrapped {
  readonly words: readonly [command: string, ...args: string[]];
  readonly feeds: readonly { readonly descriptor: number; readonly bytes: Uint8Array }[];
}

/** One way to make walls, tried out on this machine. */
export interface Maker extends Users {
  readonly by: WallMaker;
  /** The system counts the tasks of a guest without a separate user. */
  readonly tasks?: 'kernel';
  /** Processes between the one that is spawned and the guest. */
  above(spec: SandboxSpec): WalledProgram['above'];
  walls(spec: Pick<SandboxSpec, 'uid' | 'network'>): Walls;
  /** `feed` is the first descriptor that is free; `limits` come before the walls in a namespace of the guest's user alone. */
  wrap(spec: SandboxSpec, feed: number, limits?: readonly string[]): Wrapped;
}

export type MakerTrial = Maker | { readonly failure: string; readonly late: boolean };

/** Namespaces with other names than the Core's are the guest's own. */
const KINDS = ['user', 'pid', 'net'] as const;
const ASK = KINDS.map((kind) => `/proc/self/ns/${kind}`);
const absent = (tool: string) => ({ failure: `${tool} is not installed`, late: false });

export async function bubblewrap(root: boolean): Promise<MakerTrial> {
  const [bwrap, readlink, setpriv, prlimit] = await Promise.all(
    ['bwrap', 'readlink', 'setpriv', 'prlimit'].map(findTool),
  );
  if (!bwrap) return absent('bubblewrap');
  if (!readlink) return absent('readlink');
  const architecture = ARCHITECTURES.find((name) => name === process.arch);
  const system = systemFiles();
  const attempt = (sized: boolean) =>
    tryOut(
      bwrap,
      // Without a process 1 of bubblewrap's own, which would outlive it and be left to the Core.
      ['--as-pid-1', ...bwrapOf(askSpec(readlink), { system, sized, ...(architecture ? { seccomp: 0 } : {}) })],
      architecture && seccompOf({ network: 'none' }, architecture),
    );
  const first = await attempt(true);
  const sized = !('failure' in first && first.failure.includes('--size'));
  const trial = sized ? first : await attempt(false);
  const own = ownNamespaces(trial);
  if ('failure' in own) return { ...own, failure: `bubblewrap: ${own.failure}` };
  if (!own.has('pid') || !own.has('net')) return { failure: 'bubblewrap makes no namespaces', late: false };
  const counter = own.has('user') && prlimit ? await taskCounter(prlimit) : undefined;
  const command = (spec: SandboxSpec, seccomp: number, range?: UserRange, limits: readonly string[] = []) => {
    const options = { system, sized, ...(architecture ? { seccomp } : {}), ...maybe({ setpriv, counter }) };
    const words = bwrapCommandOf(bwrap, spec, options);
    return range && spec.uid !== undefined ? withUser(range, spec.uid, spec.env.PATH, [...limits, ...words]) : words;
  };
  const users = await usersHere(root, setpriv, (range) => {
    const [first, ...rest] = command({ ...askSpec(readlink), uid: range.first }, 0, range);
    rest.splice(rest.indexOf(bwrap) + 1, 0, '--as-pid-1');
    return tryOut(first, rest, architecture && seccompOf({ network: 'none' }, architecture));
  });
  return {
    by: 'bubblewrap',
    ...users,
    // No limit of tasks holds for root.
    ...maybe({ tasks: counter && !root ? ('kernel' as const) : undefined }),
    above: (spec) => (isForwarded(spec) ? 3 : 2),
    walls: ({ uid, network }) => ({
      user: uid !== undefined || own.has('user') ? 'kernel' : 'none',
      files: 'kernel',
      network: network === 'open' ? 'none' : 'kernel',
      pids: 'kernel',
      signals: 'kernel',
      syscalls: architecture ? 'kernel' : 'none',
    }),
    wrap: (spec, feed, limits) => ({
      words: command(spec, feed, users.range, limits),
      feeds: architecture ? [{ descriptor: feed, bytes: filterOf(spec, architecture) }] : [],
    }),
  };
}

/** A guest of the Core's user without a separate root reads the Core's files; one of another user does not. */
export async function namespaces(root: boolean): Promise<MakerTrial> {
  const names = ['unshare', 'setpriv', 'setsid', 'sh', 'readlink', 'mount'] as const;
  const [unshare, setpriv, setsid, sh, readlink, mount] = await Promise.all(names.map(findTool));
  if (!unshare || !setpriv || !setsid || !sh || !readlink) return absent('unshare, setpriv or setsid');
  const tools = { unshare, setpriv, setsid, sh, ...maybe({ user: root ? undefined : userOfCore() }) };
  const attempt = async (mounts: boolean) => {
    const [command, ...args] = namespaceWords(askSpec(readlink), tools, mounts);
    return ownNamespaces(await tryOut(command, args));
  };
  const first = mount ? await attempt(true) : undefined;
  const mounts = first !== undefined && !('failure' in first);
  const found = mounts ? first : await attempt(false);
  if ('failure' in found) return { ...found, failure: `unshare: ${found.failure}` };
  if (!found.has('pid') || !found.has('net')) return { failure: 'unshare makes no namespaces', late: false };
  return {
    by: 'namespaces',
    users: root,
    above: () => 2,
    walls: ({ uid, network }) => ({
      user: uid !== undefined || found.has('user') ? 'kernel' : 'none',
      files: uid === undefined ? 'none' : 'kernel',
      network: network === 'open' ? 'none' : 'kernel',
      pids: 'kernel',
      signals: 'kernel',
      syscalls: 'none',
    }),
    wrap: (spec) => ({ words: namespaceWords(spec, tools, mounts), feeds: [] }),
  };
}

const userOfCore = () => ({ uid: process.geteuid?.() ?? 0, gid: process.getegid?.() ?? 0 });

export async function anotherUser(root: boolean): Promise<MakerTrial> {
  if (!root) return { failure: 'the Core is not root', late: false };
  const [setpriv, readlink] = await Promise.all(['setpriv', 'readlink'].map(findTool));
  if (!setpriv || !readlink) return absent('setpriv');
  const [command, ...args] = [...asUser(setpriv, 65_534), readlink, ...ASK] as const;
  const trial = await tryOut(command!, args);
  if ('failure' in trial) return { ...trial, failure: `setpriv: ${trial.failure}` };
  return {
    by: 'user',
    users: true,
    above: () => 0,
    walls: ({ uid }) =>
      uid === undefined ? NO_WALLS : { ...NO_WALLS, user: 'kernel', files: 'kernel', signals: 'kernel' },
    wrap: ({ uid, groups, program, args: own }) => {
      const [first, ...rest] =
        uid === undefined ? [program, ...own] : [...asUser(setpriv, uid, groups), program, ...own];
      return { words: [first!, ...rest], feeds: [] };
    },
  };
}

export const nothing: Maker = {
  by: 'none',
  users: false,
  above: () => 0,
  walls: () => NO_WALLS,
  wrap: ({ program, args }) => ({ words: [program, ...args], feeds: [] }),
};

function askSpec(readlink: string): SandboxSpec {
  const nowhere = { env: {}, files: { read: [], write: [] }, sockets: [], nodes: [] };
  const limits = { memoryMaxMB: 1 };
  return { ...nowhere, name: 'trial', program: readlink, args: ASK, cwd: '/', network: 'none', limits };
}

function ownNamespaces(trial: Trial): ReadonlySet<string> | { readonly failure: string; readonly late: boolean } {
  if ('failure' in trial) return trial;
  const lines = trial.said.trim().split('\n');
  return new Set(KINDS.filter((_, at) => lines[at] !== undefined && lines[at] !== readlinkSync(ASK[at]!)));
}

const filters = new Map<string, Uint8Array>();

/** There are three. */
function filterOf({ network }: SandboxSpec, architecture: Architecture): Uint8Array {
  let bytes = filters.get(network);
  if (!bytes) {
    bytes = seccompOf({ network }, architecture);
    filters.set(network, bytes);
  }
  return bytes;
}
