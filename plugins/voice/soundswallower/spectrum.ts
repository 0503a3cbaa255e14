/** A fast Fourier transform of a power of two, in place. */
export class Spectrum {
  readonly #size: number;
  readonly #order: Uint32Array;
  readonly #cos: Float32Array;
  readonly #sin: Float32Array;

  constructor(size: number) {
    const bits = Math.log2(size);
    this.#size = size;
    this.#order = Uint32Array.from({ length: size }, (_, index) => {
      let reversed = 0;
      for (let bit = 0; bit < bits; bit++) if (index & (1 << bit)) reversed |= 1 << (bits - 1 - bit);
      return reversed;
    });
    this.#cos = Float32Array.from({ length: size / 2 }, (_, index) => Math.cos((2 * Math.PI * index) / size));
    this.#sin = Float32Array.from({ length: size / 2 }, (_, index) => -Math.sin((2 * Math.PI * index) / size));
  }

  forward(re: Float32Array, im: Float32Array): void {
    const size = this.#size;
    for (let index = 0; index < size; index++) {
      const other = this.#order[index]!;
      if (other <= index) continue;
      const [heldRe, heldIm] = [re[index]!, im[index]!];
      re[index] = re[other]!;
      im[index] = im[other]!;
      re[other] = heldRe;
      im[other] = heldIm;
    }
    for (let half = 1; half < size; half *= 2) {
      const step = size / (2 * half);
      for (let from = 0; from < size; from += 2 * half) {
        for (let index = 0; index < half; index++) {
          const [one, two] = [from + index, from + index + half];
          const [cos, sin] = [this.#cos[index * step]!, this.#sin[index * step]!];
          const turnedRe = re[two]! * cos - im[two]! * sin;
          const turnedIm = re[two]! * sin + im[two]! * cos;
          re[two] = re[one]! - turnedRe;
          im[two] = im[one]! - turnedIm;
          re[one]! += turnedRe;
          im[one]! += turnedIm;
        }
      }
    }
  }

  inverse(re: Float32Array, im: Float32Array): void {
    this.forward(im, re);
    for (let index = 0; index < this.#size; index++) {
      re[index]! /= this.#size;
      im[index]! /= this.#size;
    }
  }
}
