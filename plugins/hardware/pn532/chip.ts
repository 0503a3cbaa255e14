/** The PN532: one command at a time - frame, ACK, answer - each waited for by its ready byte. */
import { type Clock, CoreError } from '@device-core/plugin-api';
import { executedIn, saysExecuted } from '@device-core/plugin-api/buses';
import type { I2c } from '@device-core/plugin-api/services/i2c';
import type { NfcOptions, NfcTag } from '@device-core/plugin-api/services/nfc';
import { ACK_LENGTH, decodeFrame, encodeFrame, isAck, OVERHEAD } from './frame.ts';

const COMMAND = { firmware: 0x02, sam: 0x14, rf: 0x32, exchange: 0x40, list: 0x4a, release: 0x52 } as const;
const IC = 0x32;
const READY = 0x01;
/** The chip takes 15 ms at most; the rest is for a host that has other things to do. */
const ACK_MS = 250;
const ANSWER_MS = 500;
const POLL_MS = 2;
/** Share of the last duration to wait. An earlier answer is found step by step; a request that is too early is wasted. */
const EARLIER = 0.98;
/** Bit of the SAK that a Type 2 tag does not set: it speaks ISO 14443-4. */
const ISO14443_4 = 0x20;
const MIFARE_CLASSIC = 0x08;

export class Pn532 {
  readonly #i2c: I2c;
  readonly #handle: string;
  readonly #clock: Clock;
  #awake = false;
  /** Milliseconds that the ACK and the answer to each command took last: requests before that are wasted. */
  readonly #took = new Map<string, number>();

  constructor(i2c: I2c, handle: string, clock: Clock) {
    this.#i2c = i2c;
    this.#handle = handle;
    this.#clock = clock;
  }

  /** The tag in the field; undefined where there is none. */
  async find(options: NfcOptions): Promise<NfcTag | undefined> {
    await this.#wake(options);
    const answer = await this.#command(COMMAND.list, [1, 0x00], 3 + 4 + 10 + 32, options);
    if (answer[0] !== 1) return undefined;
    const [, , high = 0, low = 0, sak = 0, length = 0] = answer;
    const uid = Buffer.from(answer.subarray(6, 6 + length)).toString('hex');
    const type2 = (sak & (ISO14443_4 | MIFARE_CLASSIC)) === 0;
    return { uid, technology: type2 ? 'nfc-forum-type-2' : 'iso14443a', atqa: (high << 8) | low, sak };
  }

  /** Sends bytes to the tag and resolves with what it answers. Rejects with TAG_FAILED when it is gone or refuses. */
  async exchange(verb: string, bytes: readonly number[], expected: number, options: NfcOptions): Promise<Uint8Array> {
    const answer = await this.#command(COMMAND.exchange, [1, ...bytes], 1 + expected, options);
    const status = answer[0]! & 0x3f;
    if (status === 0) return answer.subarray(1);
    const reason = status === 0x01 ? 'it does not answer any more' : `it refuses (0x${status.toString(16)})`;
    throw new CoreError('TAG_FAILED', { verb, reason });
  }

  async #wake(options: NfcOptions): Promise<void> {
    if (this.#awake) return;
    const [ic] = await this.#command(COMMAND.firmware, [], 4, options);
    if (ic !== IC)
      throw new CoreError('TAG_FAILED', {
        verb: 'look for',
        reason: `the chip is no PN532 (0x${(ic ?? 0).toString(16)})`,
      });
    await this.#command(COMMAND.sam, [0x01, 0x14, 0x00], 0, options);
    // One try for a tag that is not there: who looks again and again does it from here.
    await this.#command(COMMAND.rf, [0x05, 0xff, 0x01, 0x00], 0, options);
    this.#awake = true;
  }

  async #command(command: number, data: readonly number[], expected: number, options: NfcOptions): Promise<Uint8Array> {
    let sent = false;
    try {
      await this.#i2c.transfer(this.#handle, [{ write: encodeFrame(command, Uint8Array.from(data)) }], options);
      sent = true;
      const ack = await this.#ready(`ack ${command}`, ACK_LENGTH, ACK_MS, options);
      if (!isAck(ack))
        throw new CoreError('TAG_FAILED', { verb: 'ask the reader about', reason: 'the PN532 did not acknowledge' });
      const answer = await this.#ready(`answer ${command}`, OVERHEAD + 1 + expected, ANSWER_MS, options);
      return decodeFrame(answer, command);
    } catch (error) {
      this.#awake = false; // it may have been reset; it is set up again when it answers
      // Failed polls leave the command sent: the chip may have executed it.
      throw sent && executedIn(error) === 'no' ? saysExecuted(error, 'unknown') : error;
    }
  }

  async #ready(what: string, length: number, ms: number, options: NfcOptions): Promise<Uint8Array> {
    const began = this.#clock.monotonic();
    const usual = this.#took.get(what) ?? 0;
    if (usual >= POLL_MS) await this.#clock.sleep(usual, options.signal);
    for (let first = true; ; first = false) {
      const asked = this.#clock.monotonic();
      const bytes = await this.#i2c.transfer(this.#handle, [{ read: 1 + length }], options);
      if (bytes[0] === READY) {
        // An answer that was ready at the first request may be ready earlier the next time.
        this.#took.set(what, first ? usual * EARLIER : asked - began);
        return bytes.subarray(1);
      }
      if (this.#clock.monotonic() > began + ms) throw new CoreError('TIMEOUT', { what: 'the answer of the PN532', ms });
      await this.#clock.sleep(POLL_MS, options.signal);
    }
  }
}
