/** Seconds whose output may come at once: a start says much. */
const BURST_S = 16;
const KIB = 1_024;

/** A bucket of bytes that fills at a steady pace. Times are milliseconds of a clock that never goes back. */
export class ByteRate {
  readonly perSecond: number;
  #level: number;
  #at = 0;
  #dry = false;

  /** KiB a second. */
  constructor(perSecond: number) {
    this.perSecond = perSecond;
    this.#level = perSecond * KIB * BURST_S;
  }

  /**
   * True where there was room for so many. Once it is dry a second's worth has to come together first, so that what
   * passes is worth reading.
   */
  take(bytes: number, now: number): boolean {
    const most = this.perSecond * KIB * BURST_S;
    this.#level = Math.min(most, this.#level + ((now - this.#at) / 1000) * this.perSecond * KIB);
    this.#at = now;
    this.#dry = this.#dry ? this.#level < this.perSecond * KIB : this.#level < 0;
    if (this.#dry) return false;
    // It may go below nothing: a piece that is larger than all that fits would never pass.
    this.#level -= bytes;
    return true;
  }
}
