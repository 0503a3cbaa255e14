/** HELLO and HELLO_ACK: the 28-byte body that opens a session. */

export const PROTOCOL_MAJOR = 1;
export const PROTOCOL_MINOR = 0;
export const HELLO_LENGTH = 28;

export interface Hello {
  /** Random, its low 16 bits are the session id and not 0. */
  readonly nonce: number;
  /** Transaction bytes wanted (HELLO) or chosen (HELLO_ACK). */
  readonly n: number;
  readonly window: number;
  readonly rxReorder: number;
  /** Least time with CS high, microseconds. */
  readonly gapUs: number;
  readonly ackDelay: number;
  readonly endpoints: number;
  /** PING period of the host, watchdog period of the bridge (0 = none). */
  readonly heartbeatMs: number;
  readonly khz: number;
  readonly bootId: number;
  /** CRC-32 of the descriptor table. */
  readonly tableCrc: number;
  readonly firmware: Firmware;
}

export interface Firmware {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly reset: number;
}

export const NO_FIRMWARE: Firmware = { major: 0, minor: 0, patch: 0, reset: 0 };

/** Reasons that the bridge gives for its last reset. */
export const RESET_REASONS = ['unknown', 'power', 'pin', 'watchdog', 'software', 'fault'] as const;

export function sidOf(nonce: number): number {
  return nonce & 0xffff;
}

export function writeHello(hello: Hello, body: Buffer): void {
  body.writeUInt32LE(hello.nonce, 0);
  body.writeUInt16LE(hello.n, 4);
  body[6] = hello.window;
  body[7] = hello.rxReorder;
  body.writeUInt16LE(hello.gapUs, 8);
  body[10] = hello.ackDelay;
  body[11] = hello.endpoints;
  body.writeUInt16LE(hello.heartbeatMs, 12);
  body.writeUInt16LE(hello.khz, 14);
  body.writeUInt32LE(hello.bootId, 16);
  body.writeUInt32LE(hello.tableCrc, 20);
  const { major, minor, patch, reset } = hello.firmware;
  body.set([major, minor, patch, reset], 24);
}

/** The body of a HELLO or HELLO_ACK, or undefined when it is too short. */
export function readHello(bytes: Uint8Array): Hello | undefined {
  if (bytes.length < HELLO_LENGTH) return undefined;
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  return {
    nonce: body.readUInt32LE(0),
    n: body.readUInt16LE(4),
    window: body[6]!,
    rxReorder: body[7]!,
    gapUs: body.readUInt16LE(8),
    ackDelay: body[10]!,
    endpoints: body[11]!,
    heartbeatMs: body.readUInt16LE(12),
    khz: body.readUInt16LE(14),
    bootId: body.readUInt32LE(16),
    tableCrc: body.readUInt32LE(20),
    firmware: { major: body[24]!, minor: body[25]!, patch: body[26]!, reset: body[27]! },
  };
}
