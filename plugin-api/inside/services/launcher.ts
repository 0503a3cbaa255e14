import type { SandboxSpec } from '../../contract/run-spec.ts';
import { serviceRef } from '../../contract/service-ref.ts';
import type { UserRange } from '../user-range.ts';

/**
 * Limits that the system's kernel sets a guest: not the Core's user, only its given files, no network, no sight of
 * other processes, no signals to them, no needless system calls.
 */
export const WALLS = ['user', 'files', 'network', 'pids', 'signals', 'syscalls'] as const;
export type Wall = (typeof WALLS)[number];
export type Walls = Readonly<Record<Wall, 'kernel' | 'none'>>;

/** Tool that builds the walls: bubblewrap, bare namespaces by unshare(1), another user by setpriv(1), or nothing. */
export type WallMaker = 'bubblewrap' | 'namespaces' | 'user' | 'none';

export interface WallsReport {
  readonly by: WallMaker;
  /** Walls around a guest without a separate user and without the network. */
  readonly walls: Walls;
  /** Why nothing better stands, for people; absent with bubblewrap. */
  readonly reason?: string;
  /** Another user can be given to a guest: the Core is root, or has a range of users. */
  readonly users: boolean;
  /** The system counts the tasks of such a guest by themselves, and refuses one too many. */
  readonly tasks?: 'kernel';
  /** The only users that it can give; absent where the Core is root. */
  readonly range?: UserRange;
  /** Why guests have the Core's user, for people; absent where `users` is true. */
  readonly usersReason?: string;
}

/** A program inside its walls, to be spawned as it is, with its own standard streams. Plain data. */
export interface WalledProgram {
  readonly command: string;
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Pipes of the guest; the spawning code writes the bytes into each descriptor and closes it. */
  readonly feeds: readonly { readonly descriptor: number; readonly bytes: Uint8Array }[];
  readonly walls: Walls;
  /** Processes between the one that is spawned and the program. With any of them an exit code of 128 + n stands for signal n. */
  readonly above: 0 | 2 | 3;
}

export interface PrepareOptions {
  /** Words before the command that makes the walls, where its users are counted: limits of processes (prlimit(1)). */
  readonly limits?: readonly string[];
  /** How many descriptors the program is given; the feeds come after them. Default 3. */
  readonly descriptors?: number;
  /** Walls without which it is not to run. A network that was granted needs none. */
  readonly demand?: readonly Wall[];
}

/** Runs programs inside walls. Provided by the kernel. */
export interface Launcher {
  /** Looked up once, when first asked for. */
  report(): Promise<WallsReport>;
  /** Throws PARAMS_INVALID for a specification that cannot be, SANDBOX_UNAVAILABLE where a demanded wall cannot be made. */
  prepare(spec: SandboxSpec, options?: PrepareOptions): Promise<WalledProgram>;
}

export const launcher = serviceRef<Launcher>('launcher', '1.0.0', 'tree');
