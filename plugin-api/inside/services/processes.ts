import type { TcpConnection } from '../../contract/caller.ts';
import { serviceRef } from '../../contract/service-ref.ts';

/** App or plugin that runs in a separate process. */
export interface Guest {
  readonly kind: 'app' | 'plugin';
  readonly id: string;
}

/** Owner of a process. */
export type ProcessOwner =
  /** `ended`: its run is over, and this process should be gone. */
  | (Guest & { readonly ended: boolean })
  /** The Core itself, or what it started and no guest answers for: a tool, or a process that slipped away from its guest. */
  | { readonly kind: 'core' }
  /** Nothing that the Core started. `uid`, of a TCP connection of this machine: its user. */
  | { readonly kind: 'stranger'; readonly uid?: number }
  /**
   * No owner was found, and a later look finds none. `ended`: the process had ended, or another one may have its number. `elsewhere`: it is
   * in another pid namespace, and no guest. `hidden`: it keeps its ancestors or its open files from the Core.
   */
  | { readonly kind: 'unknown'; readonly why?: 'ended' | 'elsewhere' | 'hidden' };

/** SO_PEERCRED of a Unix socket, frozen at connect. */
export interface PeerCredentials {
  readonly pid: number;
  readonly uid: number;
  readonly gid: number;
  /** When the process began, in clock ticks since boot, read as the connection came: its pid may be given to another one later. */
  readonly startTime?: string;
  /** The owner of the process as the connection came: settled then, and never asked for again. */
  readonly owner?: ProcessOwner;
  /** Runs of apps that had ended as the connection came, as `identity` counts them: an app that has ended since owns it no more. */
  readonly endings?: number;
}

/**
 * Every process that the Core started, by pid and start time, and by descent, session, control group and user. Nothing
 * of it is ever taken for the operator. Provided by the kernel.
 */
export interface Processes {
  /** A guest is about to run as this process or user; call it in the turn in which the process was made. */
  add(guest: Guest, launch: { readonly pid?: number; readonly uid?: number }): Promise<void>;
  /** Every process of the guest is over; what is left of it is known as ended. */
  end(guest: Guest): Promise<void>;
  /** Clock ticks since boot: with the pid they name one process for ever. Undefined when it is gone. Read in the turn of the call. */
  startOf(pid: number): Promise<string | undefined>;
  /**
   * Read in the turn of the call. A process without a start time, or with another one than the peer's, is `unknown`:
   * its number may belong to another process by now. A user of a guest's own tells the guest all the same.
   */
  ownerOf(peer: PeerCredentials): Promise<ProcessOwner>;
  /** Owner of the other end of a TCP connection of this machine. It looks at every open file of every guest: ask once per connection. */
  ownerOfTcp(connection: TcpConnection): Promise<ProcessOwner>;
}

export const processes = serviceRef<Processes>('processes', '1.0.0', 'tree');
