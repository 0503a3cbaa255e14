/**
 * LPS22HB, thermometer and barometer on I2C or SPI (ST data sheet DS10870, section "Register description"). It sleeps
 * until it is asked for one measurement.
 *
 *   0x0f  WHO_AM_I, always 0xb1
 *   0x11  CTRL_REG2: bit 4 counts the register up in a longer read, bit 0 starts one measurement
 *   0x27  STATUS: bit 1 a new temperature, bit 0 a new pressure
 *   0x28  pressure, 24 bits, two's complement, the lowest byte first, 4096 a hectopascal
 *   0x2b  temperature, 16 bits, two's complement, the lowest byte first, 100 a degree
 */
import { type Clock, CoreError } from '@device-core/plugin-api';
import type { SensorReading } from '@device-core/plugin-api/services/sensors';
import type { Registers } from './registers.ts';

export const SPI_MODE = 3;
export const QUANTITIES = {
  temperature: { unit: 'Cel', min: -40, max: 85 },
  pressure: { unit: 'hPa', min: 260, max: 1260 },
};

const REGISTER = { id: 0x0f, control: 0x11, status: 0x27 } as const;
const ID = 0xb1;
const MEASURE_ONCE = 0x11;
const BOTH_NEW = 0x03;
/** STATUS and the five bytes of data after it. */
const FRAME_BYTES = 6;
/** It measures 75 times a second at most. */
const MEASURING_MS = 14;

/** Rejects with SENSOR_FAILED (another chip, no measurement) and with what the bus rejects with. */
export async function measure(
  sensor: string,
  registers: Registers,
  clock: Clock,
  options: { readonly signal: AbortSignal },
): Promise<SensorReading> {
  const [id = 0] = await registers.read(REGISTER.id, 1, options);
  if (id !== ID) throw failed(sensor, `the chip says it is ${hex(id)}, an LPS22HB is ${hex(ID)}`);
  await registers.write(REGISTER.control, MEASURE_ONCE, options);
  await clock.sleep(MEASURING_MS, options.signal);
  const frame = await registers.read(REGISTER.status, FRAME_BYTES, options);
  const values = decode(frame);
  if (!values) throw failed(sensor, 'the chip has not measured');
  return { at: clock.now(), values };
}

/** STATUS and data as figures; undefined where nothing new was measured. Pure. */
export function decode(frame: Uint8Array): { readonly temperature: number; readonly pressure: number } | undefined {
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  if ((view.getUint8(0) & BOTH_NEW) !== BOTH_NEW) return undefined;
  // The sign is in the highest of the three bytes.
  const pressure = view.getUint16(1, true) + view.getInt8(3) * 65_536;
  return { temperature: view.getInt16(4, true) / 100, pressure: pressure / 4096 };
}

function failed(sensor: string, reason: string): CoreError {
  return new CoreError('SENSOR_FAILED', { sensor, reason });
}

function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`;
}
