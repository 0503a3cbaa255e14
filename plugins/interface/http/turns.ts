/**
 * Whose request is next. A client may send thousands of requests down one connection before it reads an answer; each connection is served one
 * request at a time, and connections that wait take turns, so that one of them costs the others no more than its share.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Lane {
  readonly socket: Socket;
  readonly waiting: (readonly [request: IncomingMessage, response: ServerResponse])[];
  /** One of its requests is being answered. */
  busy: boolean;
  /** It stands in the row of those whose turn comes. */
  queued: boolean;
}

/** Requests of all connections together that wait; the connection with the most of them goes when there are more. */
const MOST_WAITING = 4_000;
/** Milliseconds of one turn of the event loop that go to requests which had to wait. */
const TURN_MS = 4;

export class Turns {
  readonly #handle: Handler;
  readonly #lanes = new Map<Socket, Lane>();
  #row: Lane[] = [];
  #waiting = 0;
  #running = false;
  /** Connections that were cut because too many requests waited. */
  flooded = 0;

  constructor(handle: Handler) {
    this.#handle = handle;
  }

  /** Requests that were read and whose turn has not come. */
  get waiting(): number {
    return this.#waiting;
  }

  readonly take: Handler = (request, response) => {
    const { socket } = request;
    const lane = this.#laneOf(socket);
    if (!lane.busy && lane.waiting.length === 0 && this.#row.length === 0) return this.#serve(lane, request, response);
    lane.waiting.push([request, response]);
    this.#waiting++;
    // What was read already is in the list; nothing more is read before it was served.
    if (lane.waiting.length === 1) socket.pause();
    if (this.#waiting > MOST_WAITING) this.#cutLongest();
    this.#queue(lane);
  };

  #laneOf(socket: Socket): Lane {
    const known = this.#lanes.get(socket);
    if (known) return known;
    const lane: Lane = { socket, waiting: [], busy: false, queued: false };
    this.#lanes.set(socket, lane);
    socket.once('close', () => {
      this.#lanes.delete(socket);
      this.#waiting -= lane.waiting.length;
      lane.waiting.length = 0;
    });
    return lane;
  }

  #serve(lane: Lane, request: IncomingMessage, response: ServerResponse): void {
    lane.busy = true;
    response.once('close', () => {
      lane.busy = false;
      this.#queue(lane);
    });
    this.#handle(request, response);
  }

  #queue(lane: Lane): void {
    if (lane.queued || lane.busy || lane.waiting.length === 0) return;
    lane.queued = true;
    this.#row.push(lane);
    if (this.#running) return;
    this.#running = true;
    setImmediate(this.#run);
  }

  readonly #run = (): void => {
    const began = performance.now();
    while (this.#row.length > 0 && performance.now() - began < TURN_MS) {
      const lane = this.#row.shift()!;
      lane.queued = false;
      const next = lane.waiting.shift();
      if (!next) continue; // its client went
      this.#waiting--;
      if (lane.waiting.length === 0) lane.socket.resume();
      this.#serve(lane, ...next);
    }
    this.#running = this.#row.length > 0;
    if (this.#running) setImmediate(this.#run);
  };

  #cutLongest(): void {
    let longest: Lane | undefined;
    for (const lane of this.#lanes.values()) if (lane.waiting.length > (longest?.waiting.length ?? 0)) longest = lane;
    this.flooded++;
    longest?.socket.destroy();
  }
}
