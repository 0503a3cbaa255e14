/** Calibration of one chip, and what its raw figures mean by it (data sheet BST-BME280-DS002, section 4.2, in double precision). */

export const CALIBRATION = { first: { register: 0x88, length: 26 }, second: { register: 0xe1, length: 7 } } as const;

export interface Raw {
  /** 20 bits. */
  readonly temperature: number;
  /** 20 bits. */
  readonly pressure: number;
  /** 16 bits. */
  readonly humidity: number;
}

export interface Climate {
  /** Degrees Celsius. */
  readonly temperature: number;
  /** Hectopascal. */
  readonly pressure: number;
  /** Percent. */
  readonly humidity: number;
}

export class Calibration {
  readonly #t: readonly number[];
  readonly #p: readonly number[];
  readonly #h: readonly [number, number, number, number, number, number];

  /** The bytes from 0x88 to 0xa1 and from 0xe1 to 0xe7. */
  constructor(first: Uint8Array, second: Uint8Array) {
    const low = new DataView(first.buffer, first.byteOffset, first.byteLength);
    const high = new DataView(second.buffer, second.byteOffset, second.byteLength);
    const signed = (from: number, count: number) =>
      Array.from({ length: count }, (_, index) => low.getInt16(from + 2 * index, true));
    this.#t = [low.getUint16(0, true), ...signed(2, 2)];
    this.#p = [low.getUint16(6, true), ...signed(8, 8)];
    // Two figures of twelve bits share a byte.
    const shared = high.getUint8(4);
    const h4 = high.getInt8(3) * 16 + (shared & 0x0f);
    const h5 = high.getInt8(5) * 16 + (shared >> 4);
    this.#h = [low.getUint8(25), high.getInt16(0, true), high.getUint8(2), h4, h5, high.getInt8(6)];
  }

  climate(raw: Raw): Climate {
    const fine = this.#fine(raw.temperature);
    return {
      temperature: fine / 5_120,
      pressure: this.#pressure(raw.pressure, fine) / 100,
      humidity: this.#humidity(raw.humidity, fine),
    };
  }

  #fine(raw: number): number {
    const [t1 = 0, t2 = 0, t3 = 0] = this.#t;
    const coarse = (raw / 16_384 - t1 / 1_024) * t2;
    return coarse + (raw / 131_072 - t1 / 8_192) ** 2 * t3;
  }

  /** Pascal. */
  #pressure(raw: number, fine: number): number {
    const [p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0, p8 = 0, p9 = 0] = this.#p;
    const warm = fine / 2 - 64_000;
    const offset = ((warm ** 2 * p6) / 32_768 + warm * p5 * 2) / 4 + p4 * 65_536;
    const slope = (1 + ((p3 * warm ** 2) / 524_288 + p2 * warm) / 524_288 / 32_768) * p1;
    if (slope === 0) return 0; // of a chip that was never calibrated
    const pressure = ((1_048_576 - raw - offset / 4_096) * 6_250) / slope;
    return pressure + ((p9 * pressure ** 2) / 2 ** 31 + (pressure * p8) / 32_768 + p7) / 16;
  }

  #humidity(raw: number, fine: number): number {
    const [h1, h2, h3, h4, h5, h6] = this.#h;
    const warm = fine - 76_800;
    const linear = raw - (h4 * 64 + (h5 / 16_384) * warm);
    const humidity = linear * (h2 / 65_536) * (1 + (h6 / 2 ** 26) * warm * (1 + (h3 / 2 ** 26) * warm));
    return Math.min(100, Math.max(0, humidity * (1 - (h1 * humidity) / 524_288)));
  }
}
