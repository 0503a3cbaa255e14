import type { SandboxSpec } from '../../contract/run-spec.ts';
import { TASKS_ABOVE } from './tasks.ts';

/** System files that every guest sees: programs and libraries, never the device's own files. */
export interface SystemFiles {
  readonly read: readonly string[];
  readonly links: Readonly<Record<string, string>>;
}

/** A system with one /usr, which is all that Debian has had since 2021. */
export const MERGED_USR: SystemFiles = {
  read: ['/usr'],
  links: { '/bin': 'usr/bin', '/sbin': 'usr/sbin', '/lib': 'usr/lib', '/lib64': 'usr/lib64' },
};

const ETC = ['ld.so.cache', 'localtime', 'alternatives', 'ssl/certs', 'ca-certificates', 'passwd', 'group'];
/** For names of hosts: of use with a network only. */
const ETC_NETWORK = ['resolv.conf', 'hosts', 'nsswitch.conf', 'gai.conf', 'services', 'protocols', 'host.conf'];

/** Forwarder that runs first in a guest with named hosts, and leads its connections to the socket of its way out. */
export interface Forwarder {
  /** Absolute path of a Node. */
  readonly node: string;
  /** Absolute path of forwarder.js. */
  readonly main: string;
}

/** By the Node that runs the Core. */
export const FORWARDER: Forwarder = {
  node: process.execPath,
  main: decodeURIComponent(new URL('./forwarder.js', import.meta.url).pathname),
};
const MIB = 1024 * 1024;
/** Two processes in one: little heap is enough for what only passes through. */
const FORWARDER_FLAGS = ['--max-old-space-size=32', '--max-semi-space-size=1', '--v8-pool-size=1'];

/** A file that is made inside, of what bubblewrap reads from a descriptor. It is in no folder of the device. */
export interface BwrapFile {
  /** Absolute path inside; the folders above it are made. */
  readonly path: string;
  readonly descriptor: number;
  /** `secret`: for the guest's user alone. */
  readonly kind: 'secret' | 'plain';
}

/** These are there already, for everybody. */
const MADE = ['/dev', '/proc', '/tmp', '/usr'];

export interface BwrapOptions {
  readonly system?: SystemFiles;
  /** Descriptor from which bubblewrap reads the bytes of seccompOf(). */
  readonly seccomp?: number;
  /** Path of setpriv, for a separate user; `/usr/bin/setpriv` if absent. */
  readonly setpriv?: string;
  readonly files?: readonly BwrapFile[];
  /** FORWARDER, if absent. */
  readonly forwarder?: Forwarder;
  /** False for a bubblewrap without `--size` (before 0.7). */
  readonly sized?: boolean;
  /** Absent where the system does not count the tasks of a user namespace by themselves. */
  readonly counter?: TaskCounter;
}

/** Limit of tasks by setrlimit(2). */
export interface TaskCounter {
  /** Path of prlimit inside. */
  readonly prlimit: string;
  /** The Core's own limit: nothing is allowed more. */
  readonly most: number;
}

/**
 * Command with all its arguments. The separate user is taken inside, as late as can be: outside, the way to its code
 * may be closed. Where the system is hidden, setpriv comes first, and bubblewrap makes a user namespace as that user.
 */
export function bwrapCommandOf(
  bwrap: string,
  spec: SandboxSpec,
  options: BwrapOptions = {},
): readonly [command: string, ...args: string[]] {
  const { bare, uid, groups, ...rest } = spec;
  if (!bare || uid === undefined) return [bwrap, ...bwrapOf(spec, options)];
  const [setpriv, ...user] = asUser(options.setpriv, uid, groups);
  return [setpriv, ...user, bwrap, ...bwrapOf({ ...rest, bare }, options)];
}

/**
 * Arguments of bubblewrap (0.7 or newer, 0.5 without sizes) for a guest, its program among them. Namespaces for processes, IPC, host name, cgroups, users
 * (unless it has a separate user) and, without a grant, the network; a separate root that is read-only; no capability.
 */
export function bwrapOf(spec: SandboxSpec, options: BwrapOptions = {}): string[] {
  const {
    system = MERGED_USR,
    seccomp,
    setpriv,
    files: made = [],
    forwarder = FORWARDER,
    sized = true,
    counter,
  } = options;
  const { uid, network, name, cwd, program, files } = spec;
  const first = forwarded(spec, forwarder);
  const seen = first === undefined ? spec : withRead(spec, [forwarder.node, forwarder.main]);
  return [
    ...(uid === undefined ? ['--unshare-user-try'] : []),
    ...['--unshare-pid', '--unshare-ipc', '--unshare-uts', '--unshare-cgroup-try'],
    ...(network === 'open' ? [] : ['--unshare-net']),
    ...['--die-with-parent', '--new-session', '--hostname', name, '--cap-drop', 'ALL'],
    // Only to become the other user; setpriv drops these, too.
    ...(uid === undefined ? [] : ['CAP_SETUID', 'CAP_SETGID', 'CAP_SETPCAP'].flatMap((cap) => ['--cap-add', cap])),
    ...passable(spec, ['/etc/passwd', '/etc/ssl/certs']),
    ...base(spec, system, made),
    ...['--proc', '/proc', '--dev', '/dev', ...inMemory(spec, sized, '/dev/shm')],
    // A claim of everything includes /tmp.
    ...(claimsAll(spec) ? [] : inMemory(spec, sized, '/tmp')),
    ...passable(spec, [
      ...shown(seen, system).keys(),
      ...Object.keys(files.links ?? {}),
      ...made.map(({ path }) => path),
    ]),
    ...mounts(seen, system),
    ...Object.entries(files.links ?? {}).flatMap(([path, to]) => ['--symlink', to, path]),
    ...made.flatMap(({ path, descriptor, kind }) => {
      // With a separate user, bubblewrap makes the file as another one, and no other user is inside.
      const mode = kind === 'secret' && uid === undefined ? '0400' : '0444';
      return ['--perms', mode, '--file', String(descriptor), path];
    }),
    // Its folder is a file system in memory, too. What is mounted below stays as it is.
    ...['--remount-ro', '/dev'],
    ...(files.write.includes('/') ? [] : ['--remount-ro', '/']),
    ...['--chdir', cwd],
    ...(seccomp === undefined ? [] : ['--seccomp', String(seccomp)]),
    '--',
    ...(uid === undefined ? [] : asUser(setpriv, uid, spec.groups)),
    ...(first ?? []),
    ...(counter === undefined ? [] : taskWords(spec, counter)),
    ...[program, ...spec.args],
  ];
}

/**
 * Command before the program where the guest reaches named hosts. Without the system's libraries no Node runs: such a
 * guest has no way out here.
 */
function forwarded({ network, wayOut, bare }: SandboxSpec, { node, main }: Forwarder): readonly string[] | undefined {
  if (network !== 'hosts' || wayOut === undefined || bare) return undefined;
  return [node, ...FORWARDER_FLAGS, main, wayOut];
}

/** A file system in memory for everybody inside, of half of what both of them may take. */
function inMemory({ limits }: SandboxSpec, sized: boolean, path: string): string[] {
  const { memoryMaxMB } = limits ?? {};
  const size = memoryMaxMB === undefined || !sized ? [] : ['--size', String(Math.floor((memoryMaxMB * MIB) / 2))];
  return ['--perms', '1777', ...size, '--tmpfs', path];
}

/**
 * Limit of the tasks in the guest's own user namespace (setrlimit(2), RLIMIT_NPROC; counted there since Linux 5.14). It
 * is above the budget, so that a guest that goes there is ended and told why. Root of the device is not limited by it.
 */
function taskWords({ limits, uid, bare }: SandboxSpec, { prlimit, most }: TaskCounter): readonly string[] {
  if (limits?.tasksMax === undefined || uid !== undefined || bare) return [];
  return [prlimit, `--nproc=${Math.min(most, limits.tasksMax + TASKS_ABOVE - 1)}`, '--'];
}

/** True where the program of a guest is not the first process inside. */
export function isForwarded(spec: SandboxSpec): boolean {
  return forwarded(spec, FORWARDER) !== undefined;
}

function claimsAll({ files }: Pick<SandboxSpec, 'files'>): boolean {
  return files.read.includes('/') || files.write.includes('/');
}

function withRead(spec: SandboxSpec, more: readonly string[]): SandboxSpec {
  return { ...spec, files: { ...spec.files, read: [...spec.files.read, ...more] } };
}

/** setpriv and its arguments: the command after them runs as this user, and can become no other. */
export function asUser(
  setpriv = '/usr/bin/setpriv',
  uid?: number,
  groups: readonly string[] = [],
): readonly [command: string, ...args: string[]] {
  const beside = groups.length === 0 ? ['--clear-groups'] : ['--groups', groups.join(',')];
  const user = uid === undefined ? [] : ['--reuid', String(uid), '--regid', String(uid), ...beside];
  return [setpriv, ...user, '--no-new-privs', '--inh-caps=-all', '--bounding-set=-all', '--'];
}

/** Lowest mounts: the system's programs, or the whole root where that was claimed. */
function base({ files, network, bare }: SandboxSpec, system: SystemFiles, made: readonly BwrapFile[]): string[] {
  if (files.write.includes('/')) return ['--bind', '/', '/'];
  if (files.read.includes('/')) return ['--ro-bind', '/', '/'];
  const all = network === 'open' ? [...ETC, ...ETC_NETWORK] : ETC;
  const etc = all.filter((name) => !made.some(({ path }) => path === `/etc/${name}`));
  const ours = etc.flatMap((path) => ['--ro-bind-try', `/etc/${path}`, `/etc/${path}`]);
  if (bare) return ours;
  return [
    ...system.read.flatMap((path) => ['--ro-bind', path, path]),
    ...Object.entries(system.links).flatMap(([path, to]) => ['--symlink', to, path]),
    ...ours,
  ];
}

/** bubblewrap makes the folders above a mount for its own user alone: one of another user could not pass them. */
function passable({ uid, files }: SandboxSpec, paths: readonly string[]): string[] {
  if (uid === undefined || claimsAll({ files })) return [];
  const folders = new Set(paths.flatMap((path) => path.split('/').map((_, at, parts) => parts.slice(0, at).join('/'))));
  return [...folders]
    .filter((folder) => folder !== '' && !MADE.includes(folder))
    .sort((a, b) => depth(a) - depth(b) || (a < b ? -1 : 1))
    .flatMap((folder) => ['--perms', '0755', '--dir', folder]);
}

/** Outer folders first, so that what lies deeper is laid over them. */
function mounts(spec: SandboxSpec, system: SystemFiles): string[] {
  return [...shown(spec, system)]
    .sort(([a], [b]) => depth(a) - depth(b) || (a < b ? -1 : 1))
    .flatMap(([path, [option, from]]) => [option, from, path]);
}

/** Mounts by path, each with its option; of one path named twice the wider right holds. */
function shown(
  { program, files, sockets, nodes, bare = false }: SandboxSpec,
  system: SystemFiles,
): ReadonlyMap<string, readonly [option: string, from: string]> {
  const how = new Map<string, readonly [option: string, from: string]>();
  const lay = (option: string, paths: readonly string[]) => {
    for (const path of paths) how.set(path, [option, path]);
  };
  const given = (path: string) => !bare && system.read.some((root) => path === root || path.startsWith(`${root}/`));
  lay(
    '--ro-bind-try',
    [program, ...files.read].filter((path) => !given(path)),
  );
  lay('--ro-bind-try', sockets);
  for (const [path, from] of Object.entries(files.placed ?? {})) how.set(path, ['--bind', from]);
  lay('--bind-try', files.write);
  lay('--dev-bind-try', nodes);
  how.delete('/');
  return how;
}

function depth(path: string): number {
  return path.split('/').length;
}
