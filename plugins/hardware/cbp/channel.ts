/**
 * The host's end of one endpoint: requests wait here, are cut into fragments when a packet is built, and get their answers. Requests go out one
 * after the other, as their fragments must not mix; how many may be open at once is the bridge's say.
 */

import type { Clock } from '@device-core/plugin-api';
import { CoreError } from '@device-core/plugin-api';
import { SendCredit } from './credit.ts';
import type { Descriptor } from './descriptor.ts';
import { FRAME, FRAME_HEAD, type Frame, MIN_FRAGMENT, type PayloadWriter } from './frame.ts';
import { ProtocolError } from './protocol-error.ts';
import { Request, type RequestOptions } from './request.ts';
import { STATUS } from './status.ts';

const REQ_HEAD = 8;
/** What the host waits beyond the bridge's deadline. */
const MARGIN_MS = 250;
/** How long the bridge may owe the FIN of a request that was given up. */
const ABANDONED_MS = 5_000;
const MAX_QUEUED = 256;

export const CANCEL_REASON = { user: 0, deadline: 1 } as const;

/** What a channel needs of its link. */
export interface ChannelLink {
  readonly clock: Clock;
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
      body.writeUInt32LE(request.deadlineMs, 4);
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
    const deadline = this.#link.clock.monotonic() + request.patienceMs + MARGIN_MS;
    request.timer = this.#link.clock.at(deadline, () => this.#expire(request));
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
    } else if (outcome.status === STATUS.BUSY && !request.retried) {
      request.rewind();
      request.retried = true;
      this.#queue.unshift(request);
      this.#held = this.#open.size > 0;
    } else {
      this.#count(outcome.status);
      request.settle(outcome.status, outcome.body);
    }
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
    if (request.state === 'open') {
      this.#stopSending(request);
      this.#link.cancel(this.descriptor.ep, request.rid, CANCEL_REASON.user);
      request.timer?.[Symbol.dispose]();
      request.timer = this.#link.clock.at(this.#link.clock.monotonic() + MARGIN_MS, () => {
        this.#abandon(request, STATUS.CANCELLED);
      });
      return;
    }
    const index = this.#queue.indexOf(request);
    if (index < 0) return;
    this.#queue.splice(index, 1);
    this.#count(STATUS.CANCELLED);
    request.settle(STATUS.CANCELLED);
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
    this.#abandon(request, STATUS.TIMEOUT);
  }

  /** Settles it for the caller; its id stays taken until the bridge has sent the FIN. */
  #abandon(request: Request, status: number): void {
    this.#count(status);
    request.settle(status);
    request.state = 'abandoned';
    request.timer = this.#link.clock.at(this.#link.clock.monotonic() + ABANDONED_MS, () => {
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
