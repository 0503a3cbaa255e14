/** Frames of the PN532 (user manual 141520, section 6.2): normal information frames, ACK, the error frame. */
import { CoreError } from '@device-core/plugin-api';

const TO_CHIP = 0xd4;
const FROM_CHIP = 0xd5;
const ERROR_FRAME = 0x7f;
const START = [0x00, 0x00, 0xff] as const;
export const ACK_LENGTH = 6;
/** Bytes of a frame beside its data: start, two lengths, TFI, checksum, end. */
export const OVERHEAD = 8;

export function encodeFrame(command: number, data: Uint8Array): Uint8Array {
  const body = [TO_CHIP, command, ...data];
  const length = body.length;
  const sum = body.reduce((total, byte) => total + byte, 0);
  return Uint8Array.from([...START, length, -length & 0xff, ...body, -sum & 0xff, 0x00]);
}

export function isAck(bytes: Uint8Array): boolean {
  return [0, 0, 0xff, 0, 0xff, 0].every((byte, index) => bytes[index] === byte);
}

/** The data of the answer to `command`; what comes behind the frame does not matter. Throws TAG_FAILED. */
export function decodeFrame(bytes: Uint8Array, command: number): Uint8Array {
  const fail = (reason: string): never => {
    throw new CoreError('TAG_FAILED', { verb: 'ask the reader about', reason: `the PN532 answered ${reason}` });
  };
  if (!START.every((byte, index) => bytes[index] === byte)) fail('what is no frame');
  const length = bytes[3] ?? 0;
  if (((length + (bytes[4] ?? 0)) & 0xff) !== 0) fail('a frame with a wrong length');
  const body = bytes.subarray(5, 5 + length);
  if (body.length < length || bytes.length < 6 + length) fail('half a frame');
  if ((body.reduce((sum, byte) => sum + byte, 0) + bytes[5 + length]!) & 0xff) fail('a frame with a wrong checksum');
  if (length === 1 && body[0] === ERROR_FRAME) fail('that it does not know the command');
  if (length < 2 || body[0] !== FROM_CHIP || body[1] !== command + 1) fail('another command');
  return body.slice(2);
}
