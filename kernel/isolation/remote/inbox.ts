import { type Message, PASSED, type Port } from './protocol.ts';

export interface Turns {
  /** Milliseconds that the messages of this peer may keep the event loop before everybody else has a turn. */
  readonly ms: number;
  /** Told of the milliseconds that they took. */
  readonly onSpent: (ms: number) => void;
}

export interface InboxOptions {
  readonly port: Port;
  dispatch(message: Message): void;
  onBreach(error: unknown): void;
  /** Too much waits to go out: nothing more is begun that may be answered. */
  isHeld(): boolean;
  readonly turns: Turns | undefined;
}

/** Messages at most in one turn; how many is learnt from what they took, promises included. */
const MOST = 512;
/** Messages that may wait because too much goes out; the sender's window lets no honest one send more. */
const HELD = 16_384;

/** Takes in what arrives. Where messages have turns, the port is not read while some wait, and so their sender waits, too. */
export class Inbox {
  readonly #options: InboxOptions;
  readonly #turns: Turns | undefined;
  /** Messages that came while the outbox was over its bound. */
  #held: Message[] = [];
  #batch: readonly Message[] = [];
  #next = 0;
  /** Milliseconds since the event loop had a turn for others. */
  #spent = 0;
  #most = MOST;
  #later = false;
  #closed = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#turns = options.turns;
    options.port.onMessage(() => this.#arrived());
  }

  /** Takes nothing in any more. */
  close(): void {
    this.#closed = true;
    this.#batch = [];
    this.#held = [];
  }

  #arrived(): void {
    if (this.#later) return;
    const began = performance.now();
    const left = this.#turns ? this.#turns.ms - this.#spent : Number.POSITIVE_INFINITY;
    const isEmpty = this.#take(Number.POSITIVE_INFINITY, began + left);
    if (!this.#turns) return;
    this.#account(performance.now() - began);
    if (!isEmpty || this.#spent >= this.#turns.ms) this.#putOff(this.#turns);
  }

  /** Goes on in the next turn of the event loop, and reads no further before it. */
  #putOff(turns: Turns): void {
    this.#later = true;
    this.#options.port.pause();
    let began = 0;
    let isEmpty = true;
    setImmediate(() => {
      began = performance.now();
      this.#spent = 0;
      isEmpty = this.#take(this.#most, began + turns.ms);
    });
    // Nothing but promises that follow from the messages runs between the two.
    setImmediate(() => {
      const ms = performance.now() - began;
      this.#account(ms);
      if (ms > 2 * turns.ms) this.#most = Math.max(1, Math.floor((this.#most * turns.ms) / ms));
      else this.#most = Math.min(MOST, 2 * this.#most);
      if (!isEmpty) {
        this.#putOff(turns);
        return;
      }
      this.#later = false;
      if (!this.#closed) this.#options.port.resume();
    });
  }

  #account(ms: number): void {
    this.#spent += ms;
    this.#turns?.onSpent(ms);
  }

  /** False where there may be more. */
  #take(most: number, until: number): boolean {
    const { dispatch, isHeld, onBreach } = this.#options;
    try {
      for (let count = 0; !this.#closed; count++) {
        if (count > 0 && (count >= most || performance.now() >= until)) return false;
        const held = this.#turns !== undefined && isHeld();
        const first = held ? undefined : this.#held.shift();
        if (first) {
          dispatch(first);
          continue;
        }
        if (this.#next >= this.#batch.length && !this.#read()) return true;
        const message = this.#batch[this.#next++] as Message;
        if (!held || message[0] === PASSED) dispatch(message);
        else if (this.#held.push(message) > HELD) throw new RangeError('it sends more than it was let');
      }
    } catch (error) {
      this.close();
      onBreach(error);
    }
    return true;
  }

  #read(): boolean {
    this.#next = 0;
    this.#batch = [];
    while (this.#batch.length === 0) {
      const messages = this.#options.port.take();
      if (messages === undefined) return false;
      if (!Array.isArray(messages)) throw new TypeError('there is something else than a list of messages');
      this.#batch = messages;
    }
    return true;
  }
}
