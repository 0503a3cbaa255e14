import type { NamedHost } from '../../contract/app-spec.ts';
import { serviceRef } from '../../contract/service-ref.ts';

/** Something that an app may not reach, as it asked for it. */
export interface EgressRefusal {
  /** Milliseconds since the Unix epoch. */
  readonly at: number;
  readonly app: string;
  /** Host and port, cut to 300 characters. */
  readonly to: string;
  /** A code of the table of errors. */
  readonly code: string;
  readonly message: string;
}

/** Traffic through the way out of one app since it was opened. */
export interface EgressUsage {
  readonly app: string;
  /** Connections that are open now. */
  readonly open: number;
  /** Bytes, of requests to hosts and of what these answered. */
  readonly sent: number;
  readonly received: number;
  /** Requests that were refused. */
  readonly refused: number;
}

/** The way of apps to hosts that were granted by name, `network.outbound:<host>` (plugin `egress`). */
export interface Egress {
  /**
   * Makes `<run>/apps/<name>/egress.sock` (0600, of `uid` where the Core may give it away) and lets the app reach these
   * hosts and ports. Again for an app that has one: the hosts are those of the last call, and what is open to others is
   * cut at once. Throws PARAMS_INVALID, UNAVAILABLE.
   */
  open(app: {
    readonly id: string;
    readonly name: string;
    readonly uid?: number;
    readonly hosts: readonly NamedHost[];
  }): Promise<{ readonly path: string }>;
  /** Everything that is open is cut, and the socket removed. Of an app that has none: nothing. */
  close(app: string): Promise<void>;
  usage(): Promise<readonly EgressUsage[]>;
  onRefusal(listener: (refusal: EgressRefusal) => void): Disposable;
}

export const egress = serviceRef<Egress>('egress', '1.0.0', 'tree');
