/**
 * The clock of the wire, made slower where it loses packets (cbp.md section 3): a rung down when more than 5 % of the
 * last 256 packets were bad, a rung up at most once in ten minutes, and down again at once where that was too fast.
 */

const RUNGS_KHZ = [8000, 4000, 2000, 1000] as const;
const SAMPLE = 256;
const BAD_LIMIT = 0.05 * SAMPLE;
const UP_MS = 600_000;

export class SpeedLadder {
  /** Upper bound of the clock, kHz; infinite until the wire was too fast once. */
  khz = Number.POSITIVE_INFINITY;
  /** Steps down, in all. */
  stepsDown = 0;
  readonly #bad = new Uint8Array(SAMPLE);
  #count = 0;
  #badCount = 0;
  #changedAt = 0;

  /** One transaction at `khz` is over. True when the bound has changed. */
  count(valid: boolean, khz: number, now: number): boolean {
    const at = this.#count % SAMPLE;
    this.#badCount += (valid ? 0 : 1) - this.#bad[at]!;
    this.#bad[at] = valid ? 0 : 1;
    this.#count++;
    if (this.#count < SAMPLE) return false;
    if (this.#badCount > BAD_LIMIT) return this.#down(khz, now);
    return this.khz < Number.POSITIVE_INFINITY && now - this.#changedAt >= UP_MS && this.#up(now);
  }

  /** The packets so far say nothing about those to come: another session, another bridge. */
  forget(): void {
    this.#bad.fill(0);
    this.#count = 0;
    this.#badCount = 0;
  }

  #down(khz: number, now: number): boolean {
    const next = RUNGS_KHZ.find((rung) => rung < khz);
    if (next === undefined) return false;
    this.khz = next;
    this.stepsDown++;
    this.#changed(now);
    return true;
  }

  #up(now: number): boolean {
    this.khz = RUNGS_KHZ.findLast((rung) => rung > this.khz) ?? Number.POSITIVE_INFINITY;
    this.#changed(now);
    return true;
  }

  #changed(now: number): void {
    this.#changedAt = now;
    this.forget();
  }
}
