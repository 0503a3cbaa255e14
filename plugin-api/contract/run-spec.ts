/**
 * Sight and rights of one run of a guest (an app, a plugin in a process). Plain data: all walls of the system's kernel
 * are a pure function of it.
 */
export interface SandboxSpec {
  /** Host name inside, and name in messages: `app-agenda`, `plugin-weather`. Letters, digits, dots and dashes, at most 63. */
  readonly name: string;
  /** Absolute path of what is run. It is readable without being named under `files`. */
  readonly program: string;
  readonly args: readonly string[];
  /** Absolute. */
  readonly cwd: string;
  /** The whole environment. No secrets: other processes of the same user read it. */
  readonly env: Readonly<Record<string, string>>;
  readonly files: SandboxFiles;
  /** Folders of Unix sockets, or single sockets. A folder shows a socket that is made anew; a socket alone stays the old one. */
  readonly sockets: readonly string[];
  /** `none`: a separate network without a way out; `hosts`: the same, with a proxy of the device inside it. */
  readonly network: 'none' | 'hosts' | 'open';
  /** Socket of the device's proxy for named hosts, absolute, in one of the `sockets`; with network `hosts` only. */
  readonly wayOut?: string;
  /** Device nodes, absolute. */
  readonly nodes: readonly string[];
  /** Separate user and group; the Core's, if absent. Only root can give one. */
  readonly uid?: number;
  /** Groups beside the main one, by name; only with a separate user. */
  readonly groups?: readonly string[];
  /** Nothing of the system's own programs and libraries is seen: what is run brings all that it needs. */
  readonly bare?: boolean;
  /** Limits that its walls hold: all files in memory together, `/tmp` and `/dev/shm`; processes and threads. */
  readonly limits?: { readonly memoryMaxMB?: number; readonly tasksMax?: number };
}

/** Absolute paths of files and folders, with all that lies below. What is not there is not there inside either. */
export interface SandboxFiles {
  readonly read: readonly string[];
  readonly write: readonly string[];
  /** Writable folders that are seen in another's place: path inside -> path outside. */
  readonly placed?: Readonly<Record<string, string>>;
  /** Symbolic links that are made inside: path of the link -> what it leads to. */
  readonly links?: Readonly<Record<string, string>>;
}

/** Names of users and groups, as Debian's useradd takes them. */
export const GROUP_NAME = /^[a-z_][a-z0-9_-]{0,30}$/;
const NAME = /^[A-Za-z0-9]([A-Za-z0-9.-]{0,61}[A-Za-z0-9])?$/;

/** Why nothing can be run by this; undefined when it can. */
export function specProblem(spec: SandboxSpec): string | undefined {
  const { name, program, cwd, files, sockets, nodes, uid, wayOut, groups = [] } = spec;
  if (!NAME.test(name)) return `its name "${name}" does not fit ${NAME}`;
  const { read, write, placed = {}, links = {} } = files;
  const paths = [
    program,
    cwd,
    ...read,
    ...write,
    ...Object.keys(links),
    ...Object.entries(placed).flat(),
    ...sockets,
    ...(wayOut === undefined ? [] : [wayOut]),
    ...nodes,
  ];
  const bad = paths.find((path) => !isPlain(path));
  if (bad !== undefined) return `its path "${bad}" is not absolute, or leads through . or ..`;
  const texts = [...spec.args, ...Object.entries(spec.env).flat(), ...Object.values(links)];
  if (texts.some((text) => text.includes('\0'))) return 'one of its texts has a zero byte';
  if (uid !== undefined && !(Number.isInteger(uid) && uid > 0 && uid < 0xffff_ffff)) return `user ${uid} is none`;
  const group = groups.find((one) => !GROUP_NAME.test(one));
  if (group !== undefined) return `its group "${group}" does not fit ${GROUP_NAME}`;
  return undefined;
}

/** Absolute, and what it names does not depend on what lies there. */
export function isPlain(path: string): boolean {
  if (path === '/') return true;
  return path.startsWith('/') && !path.includes('\0') && !/\/(\.{0,2})(\/|$)/.test(path);
}
