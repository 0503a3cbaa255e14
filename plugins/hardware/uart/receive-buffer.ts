export interface Taken {
  readonly data: Uint8Array;
  /** Bytes that were dropped here since the last time. */
  readonly lost: number;
  /** Packets of bytes that were dropped on the bridge since then. */
  readonly lostPackets: number;
}

/** Bytes that came in and wait for a reader. When it is full the newest are dropped, as the receiver of a UART does. */
export class ReceiveBuffer {
  readonly #limit: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;
  #lost = 0;
  #lostPackets = 0;
  #wake: PromiseWithResolvers<void> | undefined;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many bytes of it were dropped. */
  push(data: Uint8Array): number {
    const taken = data.subarray(0, Math.max(0, this.#limit - this.#bytes));
    if (taken.length > 0) {
      this.#chunks.push(taken);
      this.#bytes += taken.length;
    }
    const dropped = data.length - taken.length;
    this.#lost += dropped;
    this.#wake?.resolve();
    this.#wake = undefined;
    return dropped;
  }

  /** Packets were lost before they came here. */
  miss(packets: number): void {
    this.#lostPackets += packets;
  }

  /** At most `most` bytes that are there, and what was lost since the last call. */
  take(most: number): Taken {
    const out = Buffer.alloc(Math.min(most, this.#bytes));
    let filled = 0;
    while (filled < out.length) {
      const first = this.#chunks[0]!;
      const part = first.subarray(0, out.length - filled);
      out.set(part, filled);
      filled += part.length;
      if (part.length === first.length) this.#chunks.shift();
      else this.#chunks[0] = first.subarray(part.length);
    }
    this.#bytes -= filled;
    const taken = { data: out, lost: this.#lost, lostPackets: this.#lostPackets };
    this.#lost = 0;
    this.#lostPackets = 0;
    return taken;
  }

  get empty(): boolean {
    return this.#bytes === 0;
  }

  /** Resolves when the next bytes come in. */
  next(): Promise<void> {
    this.#wake ??= Promise.withResolvers();
    return this.#wake.promise;
  }
}
