/**
 * Requests whose body is still to come. Who goes on sending is waited for, however long a large file takes on a slow
 * line; who stalls, or drips to keep its place, is cut.
 */
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { type Clock, CoreError, OwnTimeLimit, spentText } from '@device-core/plugin-api';

export interface ArrivalLimits {
  readonly requestTimeoutMs: number;
  readonly requestProgressBytes: number;
}

export interface Arriving {
  readonly request: IncomingMessage;
  /** It has no answer yet: what is still to come of it matters to somebody. */
  readonly wanted: boolean;
}

interface Stretch {
  readonly limit: OwnTimeLimit;
  /** Bytes of the connection at its beginning. */
  readonly from: number;
  /** Time of the last look, of monotonic(). */
  seen: number;
  /** `ms` in which bytes of the client waited for us. */
  readonly held: { ms: number };
}

export class Arrivals {
  readonly #limits: ArrivalLimits;
  readonly #clock: Clock;
  readonly #refuse: (error: CoreError, socket: Socket) => void;
  readonly #stretches = new WeakMap<IncomingMessage, Stretch>();
  /** Clients that were cut because of their request too little came. */
  stalled = 0;

  constructor(limits: ArrivalLimits, clock: Clock, refuse: (error: CoreError, socket: Socket) => void) {
    this.#limits = limits;
    this.#clock = clock;
    this.#refuse = refuse;
  }

  /** Asked at regular intervals. */
  check(arriving: Iterable<Arriving>): void {
    for (const one of arriving) this.#look(one);
  }

  #look({ request, wanted }: Arriving): void {
    // It is not read before its turn comes.
    if (request.socket.isPaused()) {
      this.#stretches.delete(request);
      return;
    }
    const stretch = this.#stretches.get(request);
    if (stretch === undefined) {
      this.#begin(request);
      return;
    }
    const now = this.#clock.monotonic();
    // A slow disk is no fault of the client.
    if (request.readableLength > 0) stretch.held.ms += now - stretch.seen;
    stretch.seen = now;
    if (stretch.limit.leftMs > 0) return;
    const received = request.socket.bytesRead - stretch.from;
    if (wanted && received >= this.#limits.requestProgressBytes) {
      this.#begin(request);
      return;
    }
    this.stalled++;
    // A request that has its answer gets no other.
    if (wanted) this.#refuse(this.#tooSlow(received, stretch), request.socket);
    else request.socket.destroy();
  }

  #begin(request: IncomingMessage): void {
    const { socket } = request;
    const held = { ms: 0 };
    const lost = [() => this.#clock.taken(), () => held.ms];
    const limit = new OwnTimeLimit(this.#clock, this.#limits.requestTimeoutMs, lost);
    this.#stretches.set(request, { limit, from: socket.bytesRead, seen: this.#clock.monotonic(), held });
  }

  #tooSlow(received: number, { limit }: Stretch): CoreError {
    const { requestTimeoutMs, requestProgressBytes } = this.#limits;
    const time = spentText(requestTimeoutMs, limit.spent);
    return new CoreError('REQUEST_TIMEOUT', {
      reason: `${received} bytes came in ${time}; a body goes on by ${requestProgressBytes} bytes in that time, or is whole (http.requestTimeoutMs, http.requestProgressBytes)`,
    });
  }
}
