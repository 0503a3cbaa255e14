/** The chip at register level: found, reset, calibrated, then asked for one measurement at a time (forced mode: it sleeps in between). */
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { I2c } from '@device-core/plugin-api/services/i2c';
import { CALIBRATION, Calibration, type Climate } from './calibration.ts';

const REGISTER = { id: 0xd0, reset: 0xe0, humidity: 0xf2, status: 0xf3, measure: 0xf4, data: 0xf7 } as const;
const ID = 0x60;
const RESET = 0xb6;
const FORCED = 1;
const STATUS = { measuring: 0x08, updating: 0x01 } as const;
const DATA_LENGTH = 8;
/** Reading of an input that was not measured. */
const SKIPPED = 0x80000;
const START_MS = 2;

type Options = NonNullable<Parameters<I2c['transfer']>[2]>;

export class Chip {
  readonly #i2c: I2c;
  readonly #handle: string;
  readonly #oversampling: number;
  readonly #clock: Clock;
  #calibration: Calibration | undefined;

  constructor(i2c: I2c, handle: string, oversampling: number, clock: Clock) {
    this.#i2c = i2c;
    this.#handle = handle;
    this.#oversampling = oversampling;
    this.#clock = clock;
  }

  /** The longest that a measurement takes, milliseconds. */
  get measuringMs(): number {
    return 1.25 + 3 * 2.3 * this.#oversampling + 2 * 0.575;
  }

  async measure(options: Options): Promise<Climate> {
    try {
      const calibration = this.#calibration ?? (await this.#begin(options));
      // Humidity counts from the next write of the other register on.
      const code = Math.log2(this.#oversampling) + 1;
      await this.#write(REGISTER.humidity, code, options);
      await this.#write(REGISTER.measure, (code << 5) | (code << 2) | FORCED, options);
      await this.#clock.sleep(this.measuringMs, options.signal);
      await this.#settled(STATUS.measuring, options);
      const data = await this.#read(REGISTER.data, DATA_LENGTH, options);
      const word = (at: number) => (data[at]! << 12) | (data[at + 1]! << 4) | (data[at + 2]! >> 4);
      const raw = { pressure: word(0), temperature: word(3), humidity: (data[6]! << 8) | data[7]! };
      if (raw.temperature === SKIPPED) {
        // It was reset behind our back: its settings are those of the factory.
        throw new CoreError('SENSOR_FAILED', { sensor: this.#handle, reason: 'the chip did not measure' });
      }
      this.#calibration = calibration;
      return calibration.climate(raw);
    } catch (error) {
      this.#calibration = undefined; // another chip may be there when it answers again
      throw error;
    }
  }

  async #begin(options: Options): Promise<Calibration> {
    const [id] = await this.#read(REGISTER.id, 1, options);
    if (id !== ID) {
      const found = `0x${(id ?? 0).toString(16).padStart(2, '0')}`;
      const reason = `the chip says it is ${found}, a BME280 is 0x${ID.toString(16)}`;
      throw new CoreError('SENSOR_FAILED', { sensor: this.#handle, reason });
    }
    await this.#write(REGISTER.reset, RESET, options);
    await this.#clock.sleep(START_MS, options.signal);
    await this.#settled(STATUS.updating, options);
    const { first, second } = CALIBRATION;
    return new Calibration(
      await this.#read(first.register, first.length, options),
      await this.#read(second.register, second.length, options),
    );
  }

  async #settled(bit: number, options: Options): Promise<void> {
    for (let turn = 0; turn < 5; turn++) {
      const [status = 0] = await this.#read(REGISTER.status, 1, options);
      if ((status & bit) === 0) return;
      await this.#clock.sleep(START_MS, options.signal);
    }
    throw new CoreError('SENSOR_FAILED', { sensor: this.#handle, reason: 'the chip stays busy' });
  }

  #read(register: number, length: number, options: Options): Promise<Uint8Array> {
    return this.#i2c.transfer(this.#handle, [{ write: Uint8Array.of(register) }, { read: length }], again(options));
  }

  async #write(register: number, value: number, options: Options): Promise<void> {
    await this.#i2c.transfer(this.#handle, [{ write: Uint8Array.of(register, value) }], again(options));
  }
}

/** A register of this chip may be read or set twice: a measurement that begins anew is as good. */
function again(options: Options): Options {
  return { ...options, repeat: 'safe' };
}
