import type { SandboxSpec } from '../../contract/run-spec.ts';
import { asUser } from './bwrap.ts';

/**
 * Script of the first process inside, which waits for the guest and ends with 128 + n where signal n ended it.
 * unshare(1) of util-linux 2.38 does not: it reports code 1 for a child that SIGKILL ended. The shell's own words
 * ("Killed") are no output of the guest.
 */
const WAIT = 'exec 9>&2 2>/dev/null; (exec "$@" 2>&9 9>&-); exit $?';

/**
 * Script of the root of the guest's namespaces: mounts a file system in memory of that size at each path that follows,
 * up to `--`. A mount that fails ends it, for the guest would write to the memory of the device instead.
 */
const MOUNT = `size=$1; shift; while [ "$1" != -- ]; do
  mount -n -t tmpfs -o "mode=1777,nosuid,nodev,size=$size,nr_inodes=$((size / 1024))" tmpfs "$1" || exit 126; shift
done; shift; exec "$@"`;

/** Absolute paths, and the Core's user where it is not root. */
export interface NamespaceTools {
  readonly unshare: string;
  readonly setpriv: string;
  readonly setsid: string;
  readonly sh: string;
  readonly user?: { readonly uid: number; readonly gid: number };
}

type Words = readonly [command: string, ...args: string[]];

/**
 * Command of unshare(1) with all its arguments, for a guest in namespaces without a separate root. `mounts`: its files in
 * memory have a size.
 */
export function namespaceWords(spec: SandboxSpec, tools: NamespaceTools, mounts: boolean): Words {
  const { unshare, setpriv, setsid, sh, user: core } = tools;
  const { network, uid, groups, cwd, program, args } = spec;
  const sized = mounts ? memoryPlaces(spec) : [];
  const mapped = sized.length > 0 ? '--map-root-user' : '--map-current-user';
  const wait = [sh, '-c', WAIT, 'first'];
  const user = asUser(setpriv, uid, groups);
  return [
    // Ends with the Core, and what is inside ends with it.
    ...([setpriv, '--pdeathsig', 'KILL', '--'] as const),
    ...[unshare, ...(core === undefined ? [] : ['--user', mapped])],
    ...(['--pid', '--fork', '--kill-child', '--mount-proc', '--ipc', '--uts'] as const),
    ...(network === 'open' ? [] : ['--net']),
    ...[`--wd=${cwd}`, '--'],
    // Its own session makes the guest's group one that takes SIGTERM without the processes outside.
    setsid,
    ...(sized.length === 0 ? [] : [sh, '-c', MOUNT, 'mount', ...sized, '--', ...asBefore(tools)]),
    // A process that becomes another user loses the signal of --kill-child (prctl(2), PR_SET_PDEATHSIG).
    ...(uid === undefined ? [...user, ...wait] : [...wait, ...user]),
    ...[program, ...args],
  ];
}

/** The user that the Core is, once more, after the root of the namespaces has mounted. */
function asBefore({ unshare, user }: NamespaceTools): readonly string[] {
  return user === undefined ? [] : [unshare, '--user', `--map-user=${user.uid}`, `--map-group=${user.gid}`, '--'];
}

/** Size and places of the file systems in memory. In /tmp there may be files of the guest itself, which stay in sight. */
function memoryPlaces({ limits, program, cwd, files, sockets, env, args }: SandboxSpec): readonly string[] {
  if (limits?.memoryMaxMB === undefined) return [];
  const paths = [program, cwd, ...files.read, ...files.write, ...sockets, ...Object.values(env), ...args];
  const places = paths.some((path) => `${path}/`.startsWith('/tmp/')) ? ['/dev/shm'] : ['/dev/shm', '/tmp'];
  return [String(Math.floor((limits.memoryMaxMB * 2 ** 20) / 2)), ...places];
}
