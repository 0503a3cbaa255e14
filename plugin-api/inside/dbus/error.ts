/** Error answer of a peer, or the reason for a missing one. Errors of this client have the standard names of D-Bus. */
export class DBusError extends Error {
  /** `org.freedesktop.systemd1.NoSuchUnit`, `org.freedesktop.DBus.Error.Disconnected`. */
  readonly error: string;

  constructor(error: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DBusError';
    this.error = error;
  }
}

const OWN = 'org.freedesktop.DBus.Error';

/** Error for bytes that are no message: their sender does not speak D-Bus. */
export function malformed(reason: string): DBusError {
  return new DBusError(`${OWN}.InconsistentMessage`, `cannot read the message: ${reason}`);
}

/** The caller gave what cannot be sent. */
export function unsendable(reason: string): DBusError {
  return new DBusError(`${OWN}.InvalidArgs`, `cannot send the message: ${reason}`);
}

export function limited(reason: string): DBusError {
  return new DBusError(`${OWN}.LimitsExceeded`, reason);
}

export function disconnected(reason: string, cause?: unknown): DBusError {
  return new DBusError(`${OWN}.Disconnected`, `the connection has ended: ${reason}`, { cause });
}

export function unauthenticated(reason: string): DBusError {
  return new DBusError(`${OWN}.AuthFailed`, `cannot log in at the bus: ${reason}`);
}
