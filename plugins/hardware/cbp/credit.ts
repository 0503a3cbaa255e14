/** Flow control: absolute limits in bytes, modulo 2^32, frame heads included. */
import { FRAME_HEAD } from './frame.ts';

/** Event bytes that an endpoint may send before the host grants more. */
export const EVENT_CREDIT = 4096;

/** Request bytes that the host may still send to one endpoint. */
export class SendCredit {
  #limit: number;
  #used = 0;
  #peak = 0;
  readonly #window: number;

  constructor(window: number) {
    this.#window = window;
    this.#limit = window;
  }

  /** Body bytes that a frame sent now may have; negative when not even its head fits. */
  get room(): number {
    return ((this.#limit - this.#used) | 0) - FRAME_HEAD;
  }

  /** Most bytes of the bridge's ring that were in use at once, as far as the host can tell. */
  get peak(): number {
    return this.#peak;
  }

  spend(bodyLength: number): void {
    this.#used = (this.#used + FRAME_HEAD + bodyLength) >>> 0;
    this.#peak = Math.max(this.#peak, this.#window - ((this.#limit - this.#used) | 0));
  }

  /** A CREDIT frame came; an older one that arrives late changes nothing. */
  grant(limit: number): void {
    if (((limit - this.#limit) | 0) > 0) this.#limit = limit >>> 0;
  }
}

/** Event bytes that the host lets one endpoint send: it grows as events are consumed. */
export class EventCredit {
  #consumed = 0;
  #granted = EVENT_CREDIT;

  /** An event of this body length was taken. */
  consume(bodyLength: number): void {
    this.#consumed = (this.#consumed + FRAME_HEAD + bodyLength) >>> 0;
  }

  /** The new limit where it is worth a CREDIT frame; it counts as told. */
  grant(): number | undefined {
    const limit = (this.#consumed + EVENT_CREDIT) >>> 0;
    if (((limit - this.#granted) | 0) < EVENT_CREDIT / 4) return undefined;
    this.#granted = limit;
    return limit;
  }
}
