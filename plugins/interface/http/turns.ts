/**
 * Order of requests. A client may send thousands of requests down one connection before it reads an answer; each
 * connection is served one request at a time. Callers that wait take turns, and so do the connections of each, so that
 * one of them costs the others no more than its share. Waiting requests are bytes: each is parsed when its turn comes.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Arriving } from './arrivals.ts';
import { currentResponse } from './node-private.ts';
import { leaveHttp, parseInPieces } from './pieces.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Lane {
  readonly socket: Socket;
  readonly waiting: (readonly [request: IncomingMessage, response: ServerResponse])[];
  /** One of its requests is being answered. */
  busy: boolean;
  /** The request that came last; its body may still come. */
  latest: IncomingMessage | undefined;
  /** Bytes wait in its socket. */
  held: boolean;
  /** It may go on with one request, whoever else waits. */
  turn: boolean;
  /** It stands in the row of those whose turn comes. */
  queued: boolean;
  /** Its request was answered; one function for all of them. */
  readonly answered: () => void;
}

/** Parsed requests of all connections together that wait; the connection with the most of them goes when there are more. */
const MOST_WAITING = 4_000;
/** Requests that one turn of the event loop serves where no connection waited before. */
const TOGETHER = 4;
/** Connections on which no caller has spoken yet: many new ones cost those that are known one turn. */
const STRANGERS = {};

export class Turns {
  readonly #handle: Handler;
  readonly #callerOf: (socket: Socket) => object | undefined;
  readonly #lanes = new Map<Socket, Lane>();
  /** Connections that wait, by their caller. */
  readonly #rows = new Map<object, Lane[]>();
  /** Requests that were served unasked in this turn of the event loop. */
  #direct = 0;
  #waiting = 0;
  #running = false;
  /** Connections that were cut because too many requests waited. */
  flooded = 0;

  /** `callerOf`: what the connections of one caller have in common; undefined before it has spoken. */
  constructor(handle: Handler, callerOf: (socket: Socket) => object | undefined = () => undefined) {
    this.#handle = handle;
    this.#callerOf = callerOf;
  }

  /** To be called as soon as the HTTP server has the socket: from then on a request is parsed when its turn comes. */
  readonly watch = (socket: Socket): void => {
    if (socket.destroyed) return;
    const lane = this.#laneOf(socket);
    parseInPieces(socket, {
      mayParse: () => this.#mayParse(lane),
      bodyAhead: () => bodyOf(lane.latest),
      parsed: () => {
        if (!lane.latest || lane.latest.complete) lane.turn = false;
      },
      held: () => {
        lane.held = true;
        this.#queue(lane);
      },
    });
  };

  /** Requests that were parsed and whose turn has not come. */
  get waiting(): number {
    return this.#waiting;
  }

  /** Requests of which something is still to come. */
  *arriving(): Generator<Arriving> {
    for (const { socket, latest, waiting } of this.#lanes.values()) {
      if (!latest || latest.complete) continue;
      yield { request: latest, wanted: waiting.length > 0 || currentResponse(socket)?.headersSent === false };
    }
  }

  readonly take: Handler = (request, response) => {
    const { socket } = request;
    const lane = this.#laneOf(socket);
    lane.latest = request;
    if (!lane.busy && lane.waiting.length === 0 && (lane.turn || this.#isFree))
      return this.#serve(lane, request, response);
    lane.waiting.push([request, response]);
    this.#waiting++;
    // Parsed requests are in the list; nothing more is read before they were served.
    if (lane.waiting.length === 1) socket.pause();
    if (this.#waiting > MOST_WAITING) this.#cutLongest();
    this.#queue(lane);
  };

  /** It is no HTTP any more: it takes no turns. */
  readonly leave = (socket: Socket): void => {
    leaveHttp(socket);
    const lane = this.#lanes.get(socket);
    this.#lanes.delete(socket);
    if (lane) this.#waiting -= lane.waiting.splice(0).length;
  };

  #laneOf(socket: Socket): Lane {
    const known = this.#lanes.get(socket);
    if (known) return known;
    const answered = (): void => {
      lane.busy = false;
      this.#queue(lane);
    };
    const idle = { busy: false, latest: undefined, held: false, turn: false, queued: false };
    const lane: Lane = { socket, waiting: [], ...idle, answered };
    this.#lanes.set(socket, lane);
    socket.once('close', () => {
      this.#lanes.delete(socket);
      this.#waiting -= lane.waiting.length;
      lane.waiting.length = 0;
      lane.held = false;
    });
    return lane;
  }

  /** No connection waits, and this turn of the event loop had few requests. */
  get #isFree(): boolean {
    return this.#rows.size === 0 && this.#direct < TOGETHER;
  }

  #serve(lane: Lane, request: IncomingMessage, response: ServerResponse): void {
    if (this.#direct++ === 0) setImmediate(this.#begin);
    lane.busy = true;
    response.on('close', lane.answered);
    this.#handle(request, response);
  }

  /** A head only when it can be served at once; what is left of a body at any time. */
  #mayParse(lane: Lane): boolean {
    if (lane.waiting.length > 0) return false;
    if (lane.latest && !lane.latest.complete) return true;
    return !lane.busy && (lane.turn || this.#isFree);
  }

  #queue(lane: Lane): void {
    if (lane.queued || lane.busy || (lane.waiting.length === 0 && !lane.held)) return;
    lane.queued = true;
    const caller = this.#callerOf(lane.socket) ?? STRANGERS;
    const row = this.#rows.get(caller);
    if (row) row.push(lane);
    else this.#rows.set(caller, [lane]);
    if (this.#running) return;
    this.#running = true;
    setImmediate(this.#run);
  }

  readonly #begin = (): void => {
    this.#direct = 0;
  };

  /** One request in a turn of the event loop: whoever asks meanwhile is heard before the next. */
  readonly #run = (): void => {
    const [caller, row] = this.#rows.entries().next().value!;
    const lane = row.shift()!;
    this.#rows.delete(caller);
    if (row.length > 0) this.#rows.set(caller, row);
    this.#next(lane);
    this.#running = this.#rows.size > 0;
    if (this.#running) setImmediate(this.#run);
  };

  #next(lane: Lane): void {
    lane.queued = false;
    const next = lane.waiting.shift();
    if (next) this.#waiting--;
    if (lane.waiting.length === 0 && (next || lane.held)) {
      lane.held = false;
      lane.turn = !next;
      lane.socket.resume();
    }
    if (next) this.#serve(lane, ...next);
  }

  #cutLongest(): void {
    let longest: Lane | undefined;
    for (const lane of this.#lanes.values()) if (lane.waiting.length > (longest?.waiting.length ?? 0)) longest = lane;
    this.flooded++;
    longest?.socket.destroy();
  }
}

/** Bytes that the body has at most, as its head says. */
function bodyOf(request: IncomingMessage | undefined): number {
  if (!request || request.complete) return 0;
  return Number(request.headers['content-length'] ?? Number.POSITIVE_INFINITY);
}
