import type { RecorderLimits } from '@device-core/plugin-api/inside/services/log-control';

/** The last lines of the log, those at debug among them, in a ring of strings. */
export class LogRing {
  readonly perSecond: number;
  readonly #lines: (string | undefined)[];
  readonly #most: number;
  #next = 0;
  #count = 0;
  #bytes = 0;
  /** Dropped lines for the recorder alone: too many came in one second. */
  dropped = 0;

  constructor({ lines, bytes, perSecond }: RecorderLimits) {
    this.#lines = new Array(lines).fill(undefined);
    this.#most = bytes;
    this.perSecond = perSecond;
  }

  /** A line with its end. One character counts as a byte. */
  add(line: string): void {
    const size = this.#lines.length;
    if (this.#count === size) this.#forget();
    this.#lines[this.#next] = line;
    this.#next = this.#next + 1 === size ? 0 : this.#next + 1;
    this.#count++;
    this.#bytes += line.length;
    while (this.#bytes > this.#most && this.#count > 1) this.#forget();
  }

  /** The oldest first, without their ends. */
  read(): readonly string[] {
    const size = this.#lines.length;
    const first = this.#next - this.#count + size;
    return Array.from({ length: this.#count }, (_, index) => this.#lines[(first + index) % size]!.trimEnd());
  }

  #forget(): void {
    const size = this.#lines.length;
    const oldest = (this.#next - this.#count + size) % size;
    this.#bytes -= this.#lines[oldest]!.length;
    this.#lines[oldest] = undefined;
    this.#count--;
  }
}
