/** `struct termios2` and `struct serial_icounter_struct` of asm-generic/termbits.h and linux/serial.h, which x86, arm and arm64 share. */
export const TTY = {
  get: 0x802c_542a,
  set: 0x402c_542b,
  drain: 0x5409,
  exclusive: 0x540c,
  shared: 0x540d,
  counts: 0x545d,
} as const;

const TERMIOS_BYTES = 44;
const COUNTS_BYTES = 80;
const CFLAG_AT = 8;
const VMIN_AT = 17 + 6;
const SPEEDS_AT = 36;
const IGNBRK = 0o1;
const CS8 = 0o60;
const FLAG = {
  twoStops: 0o100,
  receiver: 0o200,
  parity: 0o400,
  odd: 0o1000,
  local: 0o4000,
  rtsCts: 0o20000000000,
} as const;
const BOTHER = 0o010000;
/** Bits that a driver may have changed. */
const FORMAT = CS8 | FLAG.twoStops | FLAG.parity | FLAG.odd | FLAG.rtsCts;

export interface LineFormat {
  readonly baud: number;
  readonly bits: number;
  /** 0 none, 1 even, 2 odd */
  readonly parity: number;
  readonly stop: number;
  /** 0 none, 1 by RTS and CTS */
  readonly flow: number;
}

/** The settings of CONFIG (docs/cbp.md section 12); undefined for a body of the wrong form. */
export function formatIn(body: Buffer): LineFormat | undefined {
  const [, , , , bits = 0, parity = 0, stop = 0, flow = 0] = body;
  if (body.length !== 8 || bits < 5 || bits > 9 || parity > 2 || stop < 1 || stop > 2 || flow > 1) return undefined;
  return { baud: body.readUInt32LE(), bits, parity, stop, flow };
}

/** Raw bytes at any speed; modem lines do not matter. */
export function termios({ baud, bits, parity, stop, flow }: LineFormat): Buffer {
  const settings = Buffer.alloc(TERMIOS_BYTES);
  const size = (bits - 5) << 4;
  const parities = parity === 0 ? 0 : FLAG.parity | (parity === 2 ? FLAG.odd : 0);
  const flags = size | parities | (stop === 2 ? FLAG.twoStops : 0) | (flow ? FLAG.rtsCts : 0);
  settings.writeUInt32LE(IGNBRK, 0);
  settings.writeUInt32LE((flags | BOTHER | FLAG.receiver | FLAG.local) >>> 0, CFLAG_AT);
  settings[VMIN_AT] = 1;
  settings.writeUInt32LE(baud, SPEEDS_AT);
  settings.writeUInt32LE(baud, SPEEDS_AT + 4);
  return settings;
}

export const emptyTermios = (): Buffer => Buffer.alloc(TERMIOS_BYTES);

/** Settings that a driver took otherwise than they were asked for. */
export function differs(wanted: Buffer, taken: Buffer): 'format' | 'speed' | undefined {
  const change = wanted.readUInt32LE(CFLAG_AT) ^ taken.readUInt32LE(CFLAG_AT);
  if ((change & FORMAT) !== 0) return 'format';
  const [asked, now] = [wanted.readUInt32LE(SPEEDS_AT + 4), taken.readUInt32LE(SPEEDS_AT + 4)];
  // A receiver bears 2 %.
  return Math.abs(now - asked) > asked / 50 ? 'speed' : undefined;
}

export const emptyCounts = (): Buffer => Buffer.alloc(COUNTS_BYTES);

/** Bits of ERR of what was counted since: 0 overrun, 1 parity, 2 framing, 3 break. */
export function errorBits(before: Buffer, now: Buffer): number {
  const more = (index: number) => (before.readInt32LE(4 * index) === now.readInt32LE(4 * index) ? 0 : 1);
  return more(7) | more(10) | (more(8) << 1) | (more(6) << 2) | (more(9) << 3);
}
