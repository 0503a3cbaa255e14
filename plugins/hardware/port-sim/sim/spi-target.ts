/** Targets on an SPI bus of the board. */

export interface SpiTarget {
  /** CS becomes active. */
  select(): void;
  /** Clocks bytes both ways and returns as many as came in. */
  exchange(out: Uint8Array): Uint8Array;
  /** CS is released. */
  release(): void;
}

/** Answers each byte with the same byte, as a wire from MOSI to MISO does. */
export class Loopback implements SpiTarget {
  select(): void {
    // A wire keeps no state.
  }

  exchange(out: Uint8Array): Uint8Array {
    return out.slice();
  }

  release(): void {
    // A wire keeps no state.
  }
}

/** Answers each byte with the one before it, across transfers: what a shift register of one byte does. */
export class Echo implements SpiTarget {
  #last = 0;

  select(): void {
    // The register keeps its byte.
  }

  exchange(out: Uint8Array): Uint8Array {
    const back = new Uint8Array(out.length);
    for (let index = 0; index < out.length; index++) {
      back[index] = this.#last;
      this.#last = out[index]!;
    }
    return back;
  }

  release(): void {
    // The register keeps its byte.
  }
}
