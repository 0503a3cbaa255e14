/**
 * A BME280 as its data sheet describes it: registers, calibration, raw figures. It has the weather that a test gives it
 * and finds the raw figures that mean it by halving, with the sheet's formulas in whole numbers.
 */
import { RegisterFile } from '../i2c-target.ts';
import type { ChipSurroundings, ScriptedChip } from './chip.ts';

const REG = {
  calibration: 0x88,
  id: 0xd0,
  reset: 0xe0,
  more: 0xe1,
  humidity: 0xf2,
  status: 0xf3,
  measure: 0xf4,
  data: 0xf7,
};
const CHIP_ID = 0x60;
const RESET_WORD = 0xb6;
const MEASURING = 8;
const BITS_20 = 0xfffff;
const BITS_16 = 0xffff;

/** The worked example of the sheet, and humidity figures as chips have them. */
const T = [27_504, 26_435, -1_000] as const;
const P = [36_477, -10_685, 3_024, 2_855, 140, -7, 15_500, -14_600, 6_000] as const;
const H = [75, 370, 0, 313, 50, 30] as const;

interface Weather {
  temperature: number;
  pressure: number;
  humidity: number;
}

export class Bme280 extends RegisterFile implements ScriptedChip {
  readonly kind = 'bme280';
  readonly #surroundings: ChipSurroundings;
  #weather: Weather = { temperature: 21.5, pressure: 1_013.25, humidity: 45 };
  #wantsHumidity = false;
  #timer: Disposable | undefined;
  #id = CHIP_ID;

  constructor(surroundings: ChipSurroundings) {
    super(surroundings.address);
    this.#surroundings = surroundings;
    this.change(surroundings.options);
    this.reset();
  }

  change(change: Readonly<Record<string, unknown>>): void {
    const next = { ...this.#weather };
    for (const [name, value] of Object.entries(change)) {
      if (name === 'id') this.#id = Number(value);
      else if (name in next && typeof value === 'number') next[name as keyof Weather] = value;
      else throw new Error(`a BME280 has temperature, pressure and humidity, not ${name}`);
    }
    this.#weather = next;
    this.registers[REG.id] = this.#id;
  }

  get senses(): object {
    return this.#weather;
  }

  override reset(): void {
    super.reset();
    this.#timer?.[Symbol.dispose]();
    this.registers[REG.id] = this.#id;
    const view = new DataView(this.registers.buffer);
    view.setUint16(REG.calibration, T[0], true);
    T.slice(1).forEach((word, index) => {
      view.setInt16(REG.calibration + 2 + 2 * index, word, true);
    });
    view.setUint16(REG.calibration + 6, P[0], true);
    P.slice(1).forEach((word, index) => {
      view.setInt16(REG.calibration + 8 + 2 * index, word, true);
    });
    const [h1, h2, h3, h4, h5, h6] = H;
    view.setUint8(0xa1, h1);
    view.setInt16(REG.more, h2, true);
    view.setUint8(REG.more + 2, h3);
    view.setInt8(REG.more + 3, h4 >> 4);
    view.setUint8(REG.more + 4, (h4 & 15) | ((h5 & 15) << 4));
    view.setInt8(REG.more + 5, h5 >> 4);
    view.setInt8(REG.more + 6, h6);
    this.#show(0x80000, 0x80000, 0x8000);
  }

  protected override store(register: number, byte: number): void {
    if (register === REG.reset) {
      if (byte === RESET_WORD) this.reset();
      return;
    }
    if (register < REG.humidity) return; // burnt in
    super.store(register, byte);
    if (register === REG.measure && (byte & 3) !== 0) this.#measure(byte);
  }

  #measure(control: number): void {
    const samples = (code: number) => (code === 0 ? 0 : 2 ** Math.min(4, code - 1));
    const humidity = samples(this.registers[REG.humidity]! & 7);
    this.#wantsHumidity = humidity > 0;
    const ms = 1 + 2 * (samples(control >> 5) + samples((control >> 2) & 7) + humidity);
    this.registers[REG.status]! |= MEASURING;
    const { clock } = this.#surroundings;
    this.#timer?.[Symbol.dispose]();
    this.#timer = clock.at(clock.now() + ms, () => {
      this.registers[REG.status]! &= ~MEASURING;
      this.registers[REG.measure]! &= ~3; // back to sleep
      this.#sense();
    });
  }

  #sense(): void {
    const { temperature, pressure, humidity } = this.#weather;
    const t = search(BITS_20, (raw) => celsiusCents(fine(raw)) >= Math.round(temperature * 100));
    const warm = fine(t);
    const p = BITS_20 - search(BITS_20, (raw) => pascal256(BITS_20 - raw, warm) >= pressure * 100 * 256);
    const h = search(BITS_16, (raw) => percent1024(raw, warm) >= humidity * 1_024);
    this.#show(p, t, this.#wantsHumidity ? h : 0x8000);
  }

  #show(p: number, t: number, h: number): void {
    const put = (at: number, word: number) => this.registers.set([word >> 12, (word >> 4) & 255, (word & 15) << 4], at);
    put(REG.data, p);
    put(REG.data + 3, t);
    this.registers.set([h >> 8, h & 255], REG.data + 6);
  }
}

/** The least raw figure for which it holds. */
function search(most: number, holds: (raw: number) => boolean): number {
  let low = 0;
  let high = most;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function fine(raw: number): number {
  const [t1, t2, t3] = T;
  const first = (((raw >> 3) - (t1 << 1)) * t2) >> 11;
  const off = (raw >> 4) - t1;
  return first + ((((off * off) >> 12) * t3) >> 14);
}

function celsiusCents(warm: number): number {
  return (warm * 5 + 128) >> 8;
}

/** Pascal in 256ths. */
function pascal256(raw: number, warm: number): number {
  const [p1, p2, p3, p4, p5, p6, p7, p8, p9] = P.map(BigInt) as unknown as readonly [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  let a = BigInt(warm) - 128_000n;
  let b = a * a * p6 + ((a * p5) << 17n) + (p4 << 35n);
  a = ((a * a * p3) >> 8n) + ((a * p2) << 12n);
  a = (((1n << 47n) + a) * p1) >> 33n;
  if (a === 0n) return 0;
  let p = ((((1_048_576n - BigInt(raw)) << 31n) - b) * 3_125n) / a;
  a = (p9 * (p >> 13n) * (p >> 13n)) >> 25n;
  b = (p8 * p) >> 19n;
  p = ((p + a + b) >> 8n) + (p7 << 4n);
  return Number(p);
}

/** Percent in 1024ths. */
function percent1024(raw: number, warm: number): number {
  const [h1, h2, h3, h4, h5, h6] = H.map(BigInt) as unknown as readonly [
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
    bigint,
  ];
  const off = BigInt(warm) - 76_800n;
  const left = ((BigInt(raw) << 14n) - (h4 << 20n) - h5 * off + 16_384n) >> 15n;
  const right = (((((off * h6) >> 10n) * (((off * h3) >> 11n) + 32_768n)) >> 10n) + 2_097_152n) * h2 + 8_192n;
  let h = left * (right >> 14n);
  h -= ((((h >> 15n) * (h >> 15n)) >> 7n) * h1) >> 4n;
  const bounded = h < 0n ? 0n : h > 419_430_400n ? 419_430_400n : h;
  return Number(bounded >> 12n);
}
