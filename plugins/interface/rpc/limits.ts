export interface OutsideApp {
  readonly id: string;
  /** Names its socket. */
  readonly name: string;
  readonly uid?: number;
  readonly capabilities: readonly string[];
}

/** Configuration section of the plugin; the manifest's schema fills in every member. */
export interface RpcConfig {
  /** Apps that somebody else starts: a unit of systemd, a container. */
  readonly apps: readonly OutsideApp[];
  /** Connections of one app at a time. */
  readonly connections: number;
  /** Longest message, bytes. */
  readonly lineBytes: number;
  /** Longest binary attachment, bytes. */
  readonly attachmentBytes: number;
  readonly batch: number;
  /** Requests of one session without an answer. */
  readonly inFlight: number;
  /** Calls into one session without an answer. */
  readonly calls: number;
  /** Open streams of one session. */
  readonly streams: number;
  /** Bytes that an app may write ahead on one stream. */
  readonly streamCredit: number;
  /** Outgoing bytes from which on notifications wait and no more requests are read. */
  readonly outgoingBytes: number;
  /** Outgoing bytes at which the session is cut. */
  readonly outgoingMaxBytes: number;
  /** Notifications that may wait. */
  readonly waiting: number;
  /** How long a peer may leave its socket unread. */
  readonly stallMs: number;
  /** How long the taps of session.open may take together. */
  readonly readyMs: number;
  /** From `stop` to the end of the connection. */
  readonly stopGraceMs: number;
}

/** Limits of an app in READY. */
export function announced(config: RpcConfig): Readonly<Record<string, number>> {
  const { connections, lineBytes, attachmentBytes, batch, inFlight, streams, streamCredit } = config;
  return { connections, lineBytes, attachmentBytes, batch, inFlight, streams, streamCredit };
}
