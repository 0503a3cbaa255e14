/**
 * The host's end of one endpoint: requests wait here, are cut into fragments when a packet is built, and get their
 * answers. Requests go out one after the other, as their fragments must not mix; how many may be open at once is the
 * bridge's say.
 */

import { afterOwnTime, type Clock, CoreError } from '@device-core/plugin-api';
import { SendCredit } from './credit.ts';
import type { Descriptor } from './descriptor.ts';
import { FRAME, FRAME_HEAD, type Frame, MIN_FRAGMENT, type PayloadWriter } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { type GivenUp, Request, type RequestOptions } from './request.ts';
import { STATUS } from './status.ts';

const REQ_HEAD = 8;
/** Milliseconds that the host waits beyond the bridge's deadline. */
const MARGIN_MS = 250;
/** Milliseconds in which the bridge may answer a recall of a request that has not begun. */
const RECALL_MS = 150;
/** How long the bridge may owe the FIN of a request that was given up. */
const ABANDONED_MS = 5_000;
const MAX_QUEUED = 256;

/** `recall` stops what has not begun and leaves alone what has: bridges of minor version 1 know it. */
export const CANCEL_REASON = { user: 0, deadline: 1, recall: 2 } as const;

/** Calls of a channel to its link. */
export interface ChannelLink {
  readonly clock: Clock;
  /** The bridge knows the reason `recall`. */
  readonly recalls: boolean;
  /** There is something to send. */
  wake(): void;
  /** Sends a CANCEL in the control class. */
  cancel(ep: number, rid: number, reason: number): void;
  /** Ends the session. */
  breach(reason: string): void;
}

export interface ChannelCounts {
  requests: number;
  errors: number;
  timeouts: number;
  cancels: number;
  events: number;
  lostEvents: number;
  /** Answers that came after the caller had been told of a time-out or a cancellation. */
  lateAnswers: number;
}

export function noCounts(): ChannelCounts {
  return { requests: 0, errors: 0, timeouts: 0, cancels: 0, events: 0, lostEvents: 0, lateAnswers: 0 };
}

export class Channel {
  readonly descriptor: Descriptor;
  readonly credit: SendCredit;
  readonly counts: ChannelCounts;
  readonly #link: ChannelLink;
  readonly #queue: Request[] = [];
  readonly #open = new Map<number, Request>();
  #cutting: Request | undefined;
  #lastRid = 0;
  /** A request came back with BUSY: nothing new goes out before another has ended. */
  #held = false;

  /** `counts` outlive the session where they are handed over. */
  constructor(descriptor: Descriptor, link: ChannelLink, counts: ChannelCounts = noCounts()) {
    this.descriptor = descriptor;
    this.counts = counts;
    this.credit = new SendCredit(descriptor.rxWindow);
    this.#link = link;
  }

  get inFlight(): number {
    return this.#open.size + this.#queue.length;
  }

  /** Throws BUSY when too many wait already. */
  submit(options: RequestOptions): Request {
    if (this.#queue.length >= MAX_QUEUED) {
      throw new CoreError('BUSY', { what: `a request to endpoint ${this.descriptor.ep}`, limit: MAX_QUEUED });
    }
    const request = new Request(options);
    this.counts.requests++;
    this.#queue.push(request);
    const { clock } = this.#link;
    if (request.callerMs !== undefined)
      request.patience = clock.at(clock.monotonic() + request.callerMs, () => this.#recall(request));
    this.#link.wake();
    return request;
  }

  // ---- toward the bridge ----

  /** A fragment could go out now. */
  get ready(): boolean {
    if (this.#cutting) return this.#fits(this.#cutting, this.credit.room, 0);
    const next = this.#queue[0];
    if (!next || this.#held || this.#open.size >= this.descriptor.maxInflight) return false;
    return this.#fits(next, this.credit.room, REQ_HEAD);
  }

  /** Writes one frame of at most `room` bytes and returns its length, 0 when none fits. */
  cut(out: PayloadWriter, room: number): number {
    if (!this.ready) return 0;
    const request = this.#cutting ?? this.#queue[0]!;
    const prelude = this.#cutting ? 0 : REQ_HEAD;
    const space = Math.min(room - FRAME_HEAD, this.credit.room);
    if (!this.#fits(request, space, prelude)) return 0;
    if (prelude > 0) this.#begin(request);
    const count = Math.min(request.body.length - request.sent, space - prelude);
    const type = prelude > 0 ? FRAME.REQ : FRAME.DATA;
    const { op, fragment } = request;
    const fin = request.sent + count === request.body.length;
    const head = { type, fin, ep: this.descriptor.ep, rid: request.rid, op: prelude > 0 ? op : 0, aux: fragment };
    const body = out.frame(head, prelude + count);
    if (prelude > 0) {
      body.writeUInt32LE(request.body.length, 0);
      body.writeUInt32LE(this.#deadlineToTell(request), 4);
    }
    body.set(request.body.subarray(request.sent, request.sent + count), prelude);
    request.sent += count;
    request.fragment = (fragment + 1) & 0xff;
    if (fin) this.#cutting = undefined;
    this.credit.spend(prelude + count);
    return FRAME_HEAD + prelude + count;
  }

  #fits(request: Request, space: number, prelude: number): boolean {
    const rest = prelude + request.body.length - request.sent;
    return space >= Math.min(rest, Math.max(MIN_FRAGMENT, prelude));
  }

  #begin(request: Request): void {
    this.#queue.shift();
    request.rid = this.#freeRid();
    request.state = 'open';
    this.#open.set(request.rid, request);
    this.#cutting = request;
    this.#next();
  }

  /**
   * The first of those that are open has its turn: an endpoint runs them in the order in which they arrived. Its own
   * limit counts from here.
   */
  #next(): void {
    const [first] = this.#open.values();
    if (!first || first.turnAt !== undefined) return;
    first.turnAt = this.#link.clock.monotonic();
    // One that was called off has a limit already.
    first.timer ??= afterOwnTime(this.#link.clock, first.patienceMs + MARGIN_MS, () => this.#expire(first));
  }

  /** The bridge counts from the arrival: what may run before this one is added. Should that end early, the host ends this one itself. */
  #deadlineToTell(request: Request): number {
    if (request.deadlineMs === 0) return 0;
    const now = this.#link.clock.monotonic();
    let before = 0;
    for (const other of this.#open.values()) {
      if (other === request) break;
      const gone = other.turnAt === undefined ? 0 : now - other.turnAt;
      before += Math.max(0, other.patienceMs + MARGIN_MS - gone);
    }
    return Math.ceil(before) + request.deadlineMs;
  }

  #freeRid(): number {
    do this.#lastRid = (this.#lastRid % 0xffff) + 1;
    while (this.#open.has(this.#lastRid));
    return this.#lastRid;
  }

  // ---- from the bridge ----

  /** Takes a RSP or DATA frame. Throws ProtocolError. */
  receive(frame: Frame): void {
    const request = this.#open.get(frame.rid);
    if (!request) throw new ProtocolError(`an answer to request ${frame.rid}, which is not open`);
    const outcome = request.answer.take(frame);
    if (!outcome) return;
    this.#close(request);
    if (request.state === 'abandoned') {
      request.timer?.[Symbol.dispose]();
      this.counts.lateAnswers++;
    } else if (outcome.status === STATUS.BUSY && !request.retried && !request.givenUp) {
      request.rewind();
      request.retried = true;
      this.#queue.unshift(request);
      this.#held = this.#open.size > 0;
    } else {
      const { givenUp } = request;
      const calledOff = outcome.status === STATUS.CANCELLED || outcome.status === STATUS.TIMEOUT;
      const end = givenUp && calledOff ? givenUp : { status: outcome.status };
      this.#count(end.status);
      request.settle(end.status, { ...end, body: outcome.body });
    }
    this.#next();
    this.#link.wake();
  }

  #close(request: Request): void {
    this.#open.delete(request.rid);
    this.#held = false;
    // The rest of a request that was answered early is not sent; a fragment short of FIN is closed on the bridge by its own FIN.
    if (this.#cutting === request) this.#cutting = undefined;
  }

  // ---- giving up ----

  /** The caller no longer wants it: a queued request goes at once, an open one when the bridge has answered the CANCEL. */
  cancel(request: Request): void {
    if (request.state === 'open') this.#callOff(request, CANCEL_REASON.user, MARGIN_MS, { status: STATUS.CANCELLED });
    else this.#drop(request, { status: STATUS.CANCELLED });
  }

  /** The caller waits no longer: what has not begun is called off, what has begun comes to its own end. */
  #recall(request: Request): void {
    const { clock, recalls } = this.#link;
    const end = { status: STATUS.TIMEOUT, clock: 'caller' } as const;
    request.patience = undefined;
    if (request.state === 'queued') this.#drop(request, end);
    else if (request.state !== 'open' || request.givenUp) return;
    else if (request.turnAt !== undefined) this.#letGo(request, end);
    else if (!recalls) this.#callOff(request, CANCEL_REASON.deadline, RECALL_MS, end);
    else {
      this.#link.cancel(this.descriptor.ep, request.rid, CANCEL_REASON.recall);
      request.givenUp = { ...end, executed: 'no' };
      request.patience = afterOwnTime(clock, RECALL_MS, () => this.#letGo(request, end));
    }
  }

  /** Takes back what the bridge has got, and waits so long for its word. */
  #callOff(request: Request, reason: number, ms: number, end: GivenUp): void {
    const { clock } = this.#link;
    this.#stopSending(request);
    this.#link.cancel(this.descriptor.ep, request.rid, reason);
    request.givenUp = end;
    request.timer?.[Symbol.dispose]();
    request.timer = afterOwnTime(clock, ms, () => this.#abandon(request, end));
  }

  /** Settles the request for its caller; the bridge still runs it to the request's own limit. */
  #letGo(request: Request, end: GivenUp): void {
    const { timer } = request;
    request.timer = undefined;
    this.#count(end.status);
    request.settle(end.status, end);
    request.state = 'abandoned';
    request.timer = timer;
  }

  /** One of which nothing has been sent. */
  #drop(request: Request, end: GivenUp): void {
    const index = this.#queue.indexOf(request);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    this.#count(end.status);
    request.settle(end.status, end);
  }

  /** The session is over: everything ends with this status. */
  end(status: number): void {
    this.#cutting = undefined;
    this.#held = false;
    const requests = [...this.#open.values(), ...this.#queue];
    this.#open.clear();
    this.#queue.length = 0;
    for (const request of requests) {
      if (request.state !== 'abandoned') this.counts.errors++;
      request.settle(status);
    }
  }

  #expire(request: Request): void {
    this.#stopSending(request);
    this.#link.cancel(this.descriptor.ep, request.rid, CANCEL_REASON.deadline);
    this.#abandon(request, { status: STATUS.TIMEOUT });
  }

  /** Settles it for the caller, where that has not been done; its id stays taken until the bridge has sent the FIN. */
  #abandon(request: Request, end: GivenUp): void {
    if (request.state !== 'abandoned') this.#count(end.status);
    request.settle(end.status, end);
    request.state = 'abandoned';
    request.timer = afterOwnTime(this.#link.clock, ABANDONED_MS, () => {
      this.#link.breach(`no answer to a cancelled request on endpoint ${this.descriptor.ep}`);
    });
  }

  #stopSending(request: Request): void {
    if (this.#cutting === request) this.#cutting = undefined;
  }

  #count(status: number): void {
    if (status === STATUS.OK) return;
    this.counts.errors++;
    if (status === STATUS.TIMEOUT) this.counts.timeouts++;
    if (status === STATUS.CANCELLED) this.counts.cancels++;
  }
}
