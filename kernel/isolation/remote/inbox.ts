import { type Message, PASSED, type Port } from './protocol.ts';

export interface Turns {
  /** Milliseconds that the messages of this peer may keep the event loop before everybody else has a turn. */
  readonly ms: number;
  /** Told of the milliseconds that they took. */
  readonly onSpent: (ms: number) => void;
  /** Milliseconds that never go back; for tests. */
  readonly now?: () => number;
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
/** Messages after which promises that follow from them have their turn, so that the clock counts these, too. */
const TOGETHER = 8;
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
  /** Answers for which no turn had time yet. */
  readonly #answers: (() => void)[] = [];
  /** Milliseconds since the event loop had a turn for others. */
  #spent = 0;
  #most = TOGETHER;
  #isEmpty = true;
  #later = false;
  #closed = false;
  readonly #now: () => number;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#turns = options.turns;
    this.#now = options.turns?.now ?? (() => performance.now());
    options.port.onMessage(() => this.#arrived());
  }

  /** Takes nothing in any more. Returns the answers that were not made. */
  close(): readonly (() => void)[] {
    this.#closed = true;
    this.#batch = [];
    this.#held = [];
    return this.#answers.splice(0);
  }

  /** Makes an answer: now, or in a later turn where this one is spent. Answers keep their order. */
  answer(make: () => void): void {
    const turns = this.#turns;
    if (!turns || this.#closed) {
      make();
      return;
    }
    if (this.#answers.length > 0 || this.#spent >= turns.ms) this.#answers.push(make);
    else {
      const began = this.#now();
      make();
      const ms = this.#now() - began;
      this.#spent += ms;
      if (!this.#later) turns.onSpent(ms); // else the turn is counted as a whole
    }
    if (this.#spent >= turns.ms && !this.#later) this.#putOff(turns);
  }

  #arrived(): void {
    if (this.#later) return;
    const began = this.#now();
    const left = this.#turns ? this.#turns.ms - this.#spent : Number.POSITIVE_INFINITY;
    this.#isEmpty = this.#take(this.#turns ? TOGETHER : Number.POSITIVE_INFINITY, began + left);
    if (!this.#turns) return;
    this.#account(this.#now() - began);
    if (!this.#isEmpty || this.#spent >= this.#turns.ms) this.#putOff(this.#turns);
  }

  /** Goes on in the next turn of the event loop, and reads no further before it. */
  #putOff(turns: Turns): void {
    this.#later = true;
    this.#options.port.pause();
    let began = 0;
    setImmediate(() => {
      began = this.#now();
      this.#spent = 0;
      this.#isEmpty = false;
      this.#say(began + turns.ms);
      if (this.#answers.length === 0) this.#turn(this.#most, began + turns.ms);
    });
    // Nothing but promises that follow from the messages runs between the two.
    setImmediate(() => {
      const ms = this.#now() - began;
      this.#account(ms);
      if (ms > 2 * turns.ms) this.#most = Math.max(1, Math.floor((this.#most * turns.ms) / ms));
      else this.#most = Math.min(MOST, 2 * this.#most);
      if (!this.#isEmpty || this.#answers.length > 0) {
        this.#putOff(turns);
        return;
      }
      this.#later = false;
      this.#most = TOGETHER;
      if (!this.#closed) this.#options.port.resume();
    });
  }

  /** Makes answers that waited; one at least. */
  #say(until: number): void {
    for (let make = this.#answers.shift(); make; make = this.#now() < until ? this.#answers.shift() : undefined) make();
  }

  /** Takes messages in small groups, between which promises run. */
  #turn(most: number, until: number): void {
    this.#isEmpty = this.#take(Math.min(most, TOGETHER), until);
    if (!this.#isEmpty && most > TOGETHER && this.#now() < until)
      queueMicrotask(() => this.#turn(most - TOGETHER, until));
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
        if (count > 0 && (count >= most || this.#now() >= until)) return false;
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
