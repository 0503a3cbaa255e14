/** One endpoint of the bridge: its ring, the queue of its requests in order of arrival, and what waits to go back. */
import type { SimClock } from './clock.ts';
import { EventQueue } from './event-queue.ts';
import { type Executor, STATUS } from './executor.ts';
import { Job } from './job.ts';
import { encodeFrame, FRAME_HEAD, TYPE, type WireFrame, wordAt, words } from './wire-format.ts';

const REQUEST_PRELUDE = 8;
const RESPONSE_PRELUDE = 4;
const LEAST_FRAGMENT = 16;
const CANCEL = { deadline: 1, recall: 2 } as const;

export interface EndpointDescription {
  readonly number: number;
  readonly label: string;
  readonly class: number;
  readonly priority: 1 | 2 | 3;
  readonly maxInflight: number;
  readonly flags: number;
  readonly rxWindow: number;
  readonly eventQueue: number;
  readonly maxTransfer: number;
  /** Deadline of a request for which the host names none; 0 = no deadline. */
  readonly defaultDeadlineMs: number;
}

/** The host broke a rule: the bridge ends the session. */
export class Violation extends Error {}

export interface EndpointLink {
  readonly clock: SimClock;
  /** There is something to send, or there may be. */
  changed(): void;
  /** Requests may grow up to this limit. */
  grant(endpoint: number, limit: number): void;
}

interface Running {
  readonly job: Job;
  stop: () => void;
}

const NOTHING_TO_STOP = () => undefined;

export class Endpoint {
  readonly description: EndpointDescription;
  readonly events: EventQueue;
  readonly counts = { requests: 0, errors: 0, timeouts: 0, cancels: 0, bytesIn: 0, bytesOut: 0, ringPeak: 0 };
  /** Fault: milliseconds before each operation starts. */
  slowMs = 0;
  /** False: the bridge said that it went. */
  there = true;
  readonly #executor: Executor;
  readonly #link: EndpointLink;
  readonly #open = new Map<number, Job>();
  readonly #queue: Job[] = [];
  readonly #outgoing: Job[] = [];
  #running: Running | undefined;
  #incoming: Job | undefined;
  #received = 0;
  #consumed = 0;
  #granted: number;

  constructor(description: EndpointDescription, executor: Executor, link: EndpointLink) {
    this.description = description;
    this.events = new EventQueue(description.number, description.eventQueue);
    this.#executor = executor;
    this.#link = link;
    this.#granted = description.rxWindow;
  }

  get settings(): object {
    return this.#executor.settings ?? {};
  }

  get inFlight(): number {
    return this.#open.size;
  }

  // ---- from the host ----

  /** Takes a REQ or DATA frame. Throws Violation. */
  accept(frame: WireFrame): void {
    this.#received += FRAME_HEAD + frame.body.length;
    this.counts.bytesIn += frame.body.length;
    const held = this.#received - this.#consumed;
    if (held > this.description.rxWindow) throw new Violation(`ring of endpoint ${this.description.number} overrun`);
    this.counts.ringPeak = Math.max(this.counts.ringPeak, held);
    if (frame.type === TYPE.request) this.#request(frame);
    else this.#more(frame);
  }

  #request(frame: WireFrame): void {
    const { rid, code: op, body } = frame;
    if (body.length < REQUEST_PRELUDE || frame.fragment !== 0) throw new Violation('malformed REQ');
    if (this.#open.has(rid)) throw new Violation(`request ${rid} is open already`);
    if (this.#incoming && this.#incoming.status === undefined) throw new Violation('REQ inside another request');
    const job = new Job(
      { rid, op, length: wordAt(body, 0) },
      (bytes) => this.#giveBack(bytes),
      () => this.#changed(job),
    );
    this.counts.requests++;
    this.#open.set(rid, job);
    this.#incoming = job;
    const busy = this.#open.size > this.description.maxInflight;
    if (busy) job.finish(STATUS.busy);
    this.#append(job, frame, body.subarray(REQUEST_PRELUDE), REQUEST_PRELUDE);
    if (busy) return;
    const deadline = wordAt(body, 4) || this.description.defaultDeadlineMs;
    const { clock } = this.#link;
    if (deadline > 0) job.deadline = clock.at(clock.now() + deadline, () => this.#stop(job, STATUS.timeout));
    this.#queue.push(job);
    this.#next();
  }

  #more(frame: WireFrame): void {
    const job = this.#incoming?.rid === frame.rid ? this.#incoming : undefined;
    if (job) this.#append(job, frame, frame.body, 0);
    else this.#giveBack(FRAME_HEAD + frame.body.length);
  }

  #append(job: Job, frame: WireFrame, bytes: Uint8Array, prelude: number): void {
    if (job.status === undefined || prelude > 0) {
      if (frame.fragment !== job.nextFragment % 256) throw new Violation(`fragment ${frame.fragment} out of order`);
      if (job.arrived + bytes.length > job.length) throw new Violation('more request bytes than announced');
    }
    job.nextFragment++;
    job.add(bytes, prelude);
    if (frame.fin) this.#incoming = undefined;
  }

  /** Cancels at once, ahead of the queue. */
  cancel(rid: number, reason: number): void {
    const job = this.#open.get(rid);
    if (!job || (reason === CANCEL.recall && this.#running?.job === job)) return;
    this.#stop(job, reason === CANCEL.deadline ? STATUS.timeout : STATUS.cancelled);
  }

  #stop(job: Job, status: number): void {
    if (job.status !== undefined) return;
    if (this.#running?.job === job) this.#running.stop();
    if (status === STATUS.timeout) this.counts.timeouts++;
    else this.counts.cancels++;
    job.finish(status);
  }

  // ---- execution, one after the other ----

  #next(): void {
    if (this.#running) return;
    let job = this.#queue.shift();
    while (job && job.status !== undefined) job = this.#queue.shift();
    if (job) this.#start(job);
  }

  #start(job: Job): void {
    const running: Running = { job, stop: NOTHING_TO_STOP };
    this.#running = running;
    const begin = () => {
      running.stop = this.#executor.start(job);
    };
    if (this.slowMs === 0) {
      begin();
      return;
    }
    const timer = this.#link.clock.at(this.#link.clock.now() + this.slowMs, begin);
    running.stop = () => timer[Symbol.dispose]();
  }

  #changed(job: Job): void {
    if (!this.#open.has(job.rid)) return;
    if (!this.#outgoing.includes(job)) {
      // An answer without data goes ahead: a cancelled request does not wait behind a long transfer.
      if (job.status !== undefined && job.backlog === 0) this.#outgoing.unshift(job);
      else this.#outgoing.push(job);
    }
    if (job.status !== undefined) {
      if (job.status !== STATUS.ok) this.counts.errors++;
      if (this.#running?.job === job) this.#running = undefined;
      this.#next();
    }
    this.#link.changed();
  }

  #giveBack(bytes: number): void {
    this.#consumed += bytes;
    const limit = this.#consumed + this.description.rxWindow;
    if (limit - this.#granted < this.description.rxWindow / 4) return;
    this.#granted = limit;
    this.#link.grant(this.description.number, limit >>> 0);
  }

  // ---- toward the host ----

  get ready(): boolean {
    return this.events.nextSize > 0 || this.#outgoing.some((job) => job.status !== undefined || job.backlog > 0);
  }

  /** The next frame of at most `room` bytes, if one fits. */
  cut(room: number): Uint8Array | undefined {
    const event = this.events.nextSize;
    if (event > 0 && event <= room) return encodeFrame(this.events.next());
    for (const job of this.#outgoing) {
      const frame = this.#cutAnswer(job, room - FRAME_HEAD);
      if (frame) return frame;
      if (job.started) return undefined;
    }
    return undefined;
  }

  #cutAnswer(job: Job, space: number): Uint8Array | undefined {
    const ended = job.status !== undefined;
    if (!ended && job.backlog === 0) return undefined;
    const prelude = job.started ? 0 : RESPONSE_PRELUDE;
    if (space < Math.min(prelude + job.backlog, LEAST_FRAGMENT)) return undefined;
    const count = Math.min(job.backlog, space - prelude);
    const announced = job.announced;
    const first = !job.started;
    const { fragment, bytes } = job.send(count);
    const fin = ended && job.backlog === 0;
    const body = first ? Buffer.concat([words(announced), bytes]) : bytes;
    if (fin) this.#close(job);
    this.counts.bytesOut += count;
    return encodeFrame({
      type: first ? TYPE.response : TYPE.data,
      fin,
      endpoint: this.description.number,
      rid: job.rid,
      code: fin ? job.status! : STATUS.ok,
      fragment,
      body,
    });
  }

  #close(job: Job): void {
    this.#open.delete(job.rid);
    this.#outgoing.splice(this.#outgoing.indexOf(job), 1);
  }

  // ---- resets ----

  /** Ends every operation with an answer (EP_RESET, watchdog). */
  abort(): void {
    for (const job of [...this.#open.values()]) this.#stop(job, STATUS.cancelled);
  }

  /** The session is over: no answers, credits to their initial values. */
  clear(): void {
    this.#running?.stop();
    this.#running = undefined;
    for (const job of this.#open.values()) {
      job.deadline?.[Symbol.dispose]();
      job.onChange = undefined;
    }
    this.#open.clear();
    this.#queue.length = 0;
    this.#outgoing.length = 0;
    this.#incoming = undefined;
    this.#received = 0;
    this.#consumed = 0;
    this.#granted = this.description.rxWindow;
    this.events.reset();
  }

  reset(): void {
    this.abort();
    this.#executor.reset();
  }

  safe(): void {
    this.abort();
    this.#executor.safe();
  }
}
