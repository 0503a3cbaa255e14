/** Fakes of the services that the plugin uses: the tests start it with them, and so does `devicectl plugin check`. */
import { CoreError, steadyMs } from '@device-core/plugin-api';
import { type I2c, i2c } from '@device-core/plugin-api/services/i2c';
import {
  type SensorDescription,
  type SensorReading,
  type SensorSource,
  type Sensors,
  sensors,
} from '@device-core/plugin-api/services/sensors';
import { type Spi, spi } from '@device-core/plugin-api/services/spi';

/** The registers of one chip. */
export class FakeChip {
  readonly registers: Uint8Array = new Uint8Array(128);

  constructor(id: number, frame: readonly number[]) {
    this.registers[0x0f] = id;
    this.registers.set(frame, 0x27);
  }
}

/** 21.5 degrees and 1013.25 hPa, both new. */
export const MILD = [0x03, 0x00, 0x54, 0x3f, 0x66, 0x08];

/** A bus with one chip. */
export class FakeI2c implements I2c {
  readonly registered = new Map<string, object>();
  readonly #chip: FakeChip;

  constructor(chip: FakeChip) {
    this.#chip = chip;
  }

  register(handle: Parameters<I2c['register']>[0]): AsyncDisposable {
    return entry(this.registered, handle.name, handle);
  }

  async handles(): Promise<never[]> {
    return [];
  }

  async transfer(handle: string, segments: Parameters<I2c['transfer']>[1]): Promise<Uint8Array> {
    if (!this.registered.has(handle)) throw new CoreError('HANDLE_NOT_FOUND', { bus: 'I2C', handle });
    let register = 0;
    let answer: Uint8Array = new Uint8Array(0);
    for (const segment of segments) {
      if ('read' in segment) answer = this.#chip.registers.slice(register, register + segment.read);
      else {
        register = segment.write[0]!;
        this.#chip.registers.set(segment.write.subarray(1), register);
      }
    }
    return answer;
  }
}

export class FakeSpi implements Spi {
  readonly registered = new Map<string, object>();
  readonly #chip: FakeChip;

  constructor(chip: FakeChip) {
    this.#chip = chip;
  }

  register(handle: Parameters<Spi['register']>[0]): AsyncDisposable {
    return entry(this.registered, handle.name, handle);
  }

  async handles(): Promise<never[]> {
    return [];
  }

  async transfer(handle: string, tx: Uint8Array, rxLength: number): Promise<Uint8Array> {
    if (!this.registered.has(handle)) throw new CoreError('HANDLE_NOT_FOUND', { bus: 'SPI', handle });
    const register = tx[0]! & 0x7f;
    if ((tx[0]! & 0x80) === 0) this.#chip.registers.set(tx.subarray(1), register);
    return Uint8Array.of(0, ...this.#chip.registers.subarray(register)).slice(0, rxLength);
  }
}

export class FakeSensors implements Sensors {
  readonly registered = new Map<string, { readonly description: SensorDescription; readonly source: SensorSource }>();

  register(description: SensorDescription, source: SensorSource): AsyncDisposable {
    return entry(this.registered, description.name, { description, source });
  }

  async list(): Promise<never[]> {
    return [];
  }

  async read(name: string): Promise<SensorReading> {
    const sensor = this.registered.get(name);
    if (!sensor) throw new CoreError('SENSOR_NOT_FOUND', { sensor: name });
    return sensor.source.read({ signal: AbortSignal.timeout(5_000), deadline: steadyMs() + 5_000 });
  }

  subscribe(): Disposable {
    throw new CoreError('UNAVAILABLE', { what: 'subscribe', reason: 'the stand-in has none' });
  }
}

function entry<T>(map: Map<string, T>, name: string, value: T): AsyncDisposable {
  map.set(name, value);
  return { [Symbol.asyncDispose]: async () => void map.delete(name) };
}

/** The settings that have no default. */
export const config = { i2c: { endpoint: 'i2c0' } };
export const services = () => {
  const chip = new FakeChip(0xb1, MILD);
  return [
    [sensors, new FakeSensors()],
    [i2c, new FakeI2c(chip)],
    [spi, new FakeSpi(chip)],
  ] as const;
};
