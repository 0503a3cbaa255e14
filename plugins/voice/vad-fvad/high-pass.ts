/** A Butterworth high-pass of second order: mains hum and rumble are not speech, but look like it to a detector. */
export class HighPass {
  readonly #b: readonly [number, number, number];
  readonly #a: readonly [number, number];
  #x1 = 0;
  #x2 = 0;
  #y1 = 0;
  #y2 = 0;

  constructor(cutoffHz: number, rate: number) {
    const turn = (2 * Math.PI * cutoffHz) / rate;
    const alpha = Math.sin(turn) / Math.SQRT2;
    const cos = Math.cos(turn);
    const scale = 1 + alpha;
    this.#b = [(1 + cos) / 2 / scale, -(1 + cos) / scale, (1 + cos) / 2 / scale];
    this.#a = [(-2 * cos) / scale, (1 - alpha) / scale];
  }

  /** Writes what passes into `out`, which is as long. */
  run(samples: Int16Array, out: Int16Array): void {
    const [b0, b1, b2] = this.#b;
    const [a1, a2] = this.#a;
    for (let index = 0; index < samples.length; index++) {
      const x = samples[index]!;
      const y = b0 * x + b1 * this.#x1 + b2 * this.#x2 - a1 * this.#y1 - a2 * this.#y2;
      this.#x2 = this.#x1;
      this.#x1 = x;
      this.#y2 = this.#y1;
      this.#y1 = y;
      out[index] = Math.max(-32_768, Math.min(32_767, Math.round(y)));
    }
  }
}
