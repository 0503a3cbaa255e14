/**
 * MAX31855, thermocouple to digital converter (Maxim data sheet 19-5793, "Serial Interface"). It is only ever read: 32 bits, the highest first,
 * SPI mode 0, at most 5 MHz. Pure: bytes in, temperatures out.
 *
 *   31..18  thermocouple, two's complement, 0.25 degrees a step     17  always 0     16  1: one of the faults below
 *   15..4   chip, two's complement, 0.0625 degrees a step            3  always 0      2..0  short to VCC, short to GND, open
 */
import { CoreError } from '@device-core/plugin-api';

export interface Temperatures {
  /** Degrees Celsius at the tip of the thermocouple, in steps of 0.25. */
  readonly celsius: number;
  /** Degrees Celsius of the chip, in steps of 0.0625. */
  readonly chipCelsius: number;
}

export const FRAME_BYTES = 4;
export const MODE = 0;

const ALWAYS_ZERO = (1 << 17) | (1 << 3);
const FAULT = 1 << 16;
const FAULTS = [
  [1 << 0, 'the thermocouple is open or not connected'],
  [1 << 1, 'the thermocouple is shorted to ground'],
  [1 << 2, 'the thermocouple is shorted to the supply'],
] as const;

/** Throws UNAVAILABLE for a frame that no chip sent, and for a fault that the chip reports. */
export function decode(frame: Uint8Array): Temperatures {
  if (frame.length !== FRAME_BYTES) throw unavailable(`${frame.length} bytes came instead of ${FRAME_BYTES}`);
  const word = new DataView(frame.buffer, frame.byteOffset).getInt32(0);
  // A data line that nobody drives reads as ones.
  if (word & ALWAYS_ZERO) throw unavailable('no MAX31855 answers');
  if (word & FAULT) {
    const reasons = FAULTS.flatMap(([bit, reason]) => (word & bit ? [reason] : []));
    throw unavailable(reasons.join(', ') || 'it reports a fault without a reason');
  }
  // Shifts to the right keep the sign, so the highest bit of each field has to be at the top first.
  return { celsius: (word >> 18) * 0.25, chipCelsius: ((word << 16) >> 20) * 0.0625 };
}

function unavailable(reason: string): CoreError {
  return new CoreError('UNAVAILABLE', { what: 'the thermocouple', reason });
}
