/**
 * The simulator's end of the socket. A transaction takes no longer than the socket does: the executors keep real time,
 * the wire does not.
 */
import { createServer, type Server, type Socket } from 'node:net';
import type { Board } from './board.ts';
import { RESET_REASON } from './bridge.ts';
import { type ControlTarget, control } from './control.ts';
import { KIND, type Message, MessageReader, writeMessage } from './messages.ts';
import { type Steered, sightOf } from './sight.ts';
import type { Wire } from './wire.ts';

const MAX_CONNECTIONS = 32;

export class SimServer {
  readonly wire: Wire;
  readonly #board: string;
  readonly #whole: Steered['whole'];
  readonly #server: Server;
  readonly #connections = new Set<Socket>();
  readonly #exit: () => void;
  #muted = false;
  #dieIn: number | undefined;
  #inTransaction = false;
  /** Connections that watch for changes, with the timer of the next look. */
  readonly #watching = new Map<Socket, Disposable>();

  constructor(wire: Wire, exit: () => void, board: Board) {
    this.wire = wire;
    this.#board = board.board;
    const slowMs = wire.bridge.endpoints.map(({ slowMs }) => slowMs);
    this.#whole = { faults: wire.faults, major: wire.bridge.responder.major, slowMs };
    this.#exit = exit;
    this.#server = createServer((socket) => this.take(socket));
  }

  /** Resolves when connections are taken. */
  listen(path: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(path, resolve);
    });
  }

  /** The data-ready line has changed. */
  dataReady(level: boolean): void {
    // The result of a transaction carries the level that it leaves.
    if (this.#inTransaction) return;
    const message = writeMessage(KIND.level, level, 0);
    for (const socket of this.#connections) socket.write(message);
  }

  /** Controls for the other end of this connection. */
  #targetOf(socket: Socket): ControlTarget {
    return {
      wire: this.wire,
      board: this.#board,
      whole: this.#whole,
      muted: this.#muted,
      diesIn: this.#dieIn,
      mute: (muted) => {
        this.#muted = muted;
      },
      die: (transactions) => {
        this.#dieIn = transactions;
      },
      revive: () => {
        this.#muted = false;
        this.#dieIn = undefined;
      },
      watch: (ms) => this.#watch(socket, ms),
    };
  }

  /** Looks only while there is a watcher; an equal state is not sent again. */
  #watch(socket: Socket, ms: number): void {
    this.#watching.get(socket)?.[Symbol.dispose]();
    this.#watching.delete(socket);
    if (ms === 0) return;
    const { clock } = this.wire.bridge;
    let told = '';
    const look = (): void => {
      const now = JSON.stringify(sightOf(this.#targetOf(socket)));
      if (now !== told) socket.write(writeMessage(KIND.state, false, 0, Buffer.from(now)));
      told = now;
      this.#watching.set(socket, clock.at(clock.now() + ms, look));
    };
    look();
  }

  /** A connection that came another way. */
  take(socket: Socket): void {
    if (this.#connections.size >= MAX_CONNECTIONS) {
      socket.destroy();
      return;
    }
    const reader = new MessageReader();
    this.#connections.add(socket);
    socket.write(writeMessage(KIND.level, this.wire.bridge.responder.dataReady, 0));
    socket.on('data', (chunk: Buffer) => {
      try {
        for (const message of reader.push(chunk)) this.#handle(socket, message);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error(String(error)));
      }
    });
    // Event 'close' always follows, and ends the watch of a peer that is gone.
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.#watch(socket, 0);
      this.#connections.delete(socket);
    });
    socket.resume();
  }

  #handle(socket: Socket, { kind, tag, bytes }: Message): void {
    if (kind === KIND.transact) this.#transact(socket, tag, bytes);
    else if (kind === KIND.reset) this.wire.bridge.reset(RESET_REASON.pin);
    else if (kind === KIND.control) {
      const answer = control(Buffer.from(bytes).toString('utf8'), this.#targetOf(socket));
      socket.write(writeMessage(KIND.answer, false, tag, Buffer.from(answer)));
    } else throw new RangeError(`a message of kind ${kind}`);
  }

  #transact(socket: Socket, tag: number, bytes: Uint8Array): void {
    if (this.#dieIn !== undefined && this.#dieIn-- <= 0) this.#exit();
    if (this.#muted) return;
    const { responder } = this.wire.bridge;
    const before = responder.dataReady;
    this.#inTransaction = true;
    this.wire.begin();
    const back = this.wire.finish(bytes);
    this.#inTransaction = false;
    const level = responder.dataReady;
    socket.write(writeMessage(KIND.result, level, tag, back));
    if (level === before || this.#connections.size === 1) return;
    // Watchers of the line alone hear of it, too.
    for (const other of this.#connections) if (other !== socket) other.write(writeMessage(KIND.level, level, 0));
  }
}
