import type { Clock } from '@device-core/plugin-api';
import { Queue } from '@device-core/plugin-api/operation-kit';

/** Bytes that a page wrote to a stream and nobody read yet. */
const MOST_UNREAD = 512 * 1024;
const MOST_CHUNKS = 256;
/** A page that loses on and on is told no more often. */
const TELL_MS = 1_000;

/** Since it was told last. */
export interface Loss {
  readonly chunks: number;
  readonly bytes: number;
}

const NOTHING: Loss = { chunks: 0, bytes: 0 };

/** Bounded queue of the data a page writes to a stream; `tell` gets the losses. */
export class Inbox {
  readonly #clock: Clock;
  readonly #tell: (loss: Loss) => void;
  #bytes = 0;
  #loss = NOTHING;
  #told: Disposable | undefined;
  readonly queue = new Queue<Uint8Array>((chunk) => {
    this.#bytes -= chunk.byteLength;
  });

  constructor(clock: Clock, tell: (loss: Loss) => void) {
    this.#clock = clock;
    this.#tell = tell;
  }

  add(chunk: Uint8Array): void {
    const { queue } = this;
    if (queue.ended) return;
    this.#bytes += chunk.byteLength;
    queue.push(chunk);
    // A page that writes faster than is read loses what it wrote first: sound that is late is worth nothing.
    while (this.#bytes > MOST_UNREAD || queue.size > MOST_CHUNKS) this.#lose(queue.shift()!);
  }

  /** Nothing more comes; what was lost and not told yet is told. */
  end(): void {
    this.queue.end();
    this.#told?.[Symbol.dispose]();
    this.#say();
  }

  #lose({ byteLength }: Uint8Array): void {
    this.#loss = { chunks: this.#loss.chunks + 1, bytes: this.#loss.bytes + byteLength };
    if (this.#told === undefined) this.#say();
  }

  #say(): void {
    this.#told = undefined;
    if (this.#loss.chunks === 0) return;
    const loss = this.#loss;
    this.#loss = NOTHING;
    this.#told = this.queue.ended ? undefined : this.#clock.after(TELL_MS, () => this.#say());
    this.#tell(loss);
  }
}
