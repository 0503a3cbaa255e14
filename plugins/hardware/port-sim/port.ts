/** The port of the simulated bridge: transactions over the socket of its process, one at a time, each with a deadline. */
import type { Socket } from 'node:net';
import { type Clock, CoreError, OwnTimeLimit } from '@device-core/plugin-api';
import type { BridgePort } from '@device-core/plugin-api/services/bridge-port';
import type { Hand } from './hand.ts';
import { KIND, type Message, MessageReader, writeMessage } from './sim/index.ts';

const MAX_TRANSFER = 1024;

interface Outstanding {
  readonly tag: number;
  readonly limit: OwnTimeLimit;
  readonly resolve: (rx: Uint8Array) => void;
  readonly reject: (error: CoreError) => void;
}

export class SimPort implements BridgePort, Disposable {
  readonly #device: string;
  readonly #timeoutMs: number;
  readonly #listeners = new Set<(level: boolean) => void>();
  #socket: Socket | undefined;
  #absence = 'the simulator has not been started yet';
  #level = false;
  #tag = 0;
  #outstanding: Outstanding | undefined;
  readonly #clock: Clock;
  readonly #hand: Hand | undefined;
  /** One timer that looks after the transactions: most of them are over long before it, and one each would cost more. */
  #timer: Disposable | undefined;

  constructor(device: string, timeoutMs: number, clock: Clock, hand?: Hand) {
    this.#device = device;
    this.#timeoutMs = timeoutMs;
    this.#clock = clock;
    this.#hand = hand;
  }

  async info() {
    return { driver: 'sim', device: this.#device, maxTransfer: MAX_TRANSFER };
  }

  transact(tx: Uint8Array): Promise<Uint8Array> {
    const socket = this.#socket;
    if (!socket) return Promise.reject(new CoreError('NOT_INITIALIZED', { reason: this.#absence }));
    if (this.#outstanding) return Promise.reject(this.#failed('a transaction is under way already'));
    if (tx.length === 0 || tx.length > MAX_TRANSFER) {
      return Promise.reject(this.#failed(`${tx.length} bytes are not between 1 and ${MAX_TRANSFER}`));
    }
    this.#tag = (this.#tag + 1) & 0xffff;
    const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
    this.#outstanding = { tag: this.#tag, limit: new OwnTimeLimit(this.#clock, this.#timeoutMs), resolve, reject };
    socket.write(writeMessage(KIND.transact, false, this.#tag, tx));
    this.#timer ??= this.#clock.after(this.#timeoutMs, () => this.#expire());
    return promise;
  }

  onReady(listener: (level: boolean) => void): Disposable {
    this.#listeners.add(listener);
    listener(this.#level);
    return { [Symbol.dispose]: () => void this.#listeners.delete(listener) };
  }

  async reset(): Promise<void> {
    this.#socket?.write(writeMessage(KIND.reset, false, 0));
  }

  /** The simulator is there. */
  attach(socket: Socket): void {
    const reader = new MessageReader();
    this.#socket = socket;
    socket.on('data', (chunk: Buffer) => {
      for (const message of reader.push(chunk)) this.#receive(message);
    });
    socket.on('error', (error) => this.detach(error.message));
    socket.on('close', () => this.detach('the simulator closed the connection'));
    this.#hand?.attach(socket);
  }

  /** The simulator is gone, or was never there: what waits fails, what comes is refused with this reason. */
  detach(reason: string): void {
    this.#absence = reason;
    this.#hand?.detach(reason);
    this.#socket?.destroy();
    this.#socket = undefined;
    this.#end()?.reject(this.#failed(reason));
    this.#tell(false);
  }

  [Symbol.dispose](): void {
    this.detach('the port is closed');
    this.#timer?.[Symbol.dispose]();
  }

  #receive({ kind, level, tag, bytes }: Message): void {
    if (kind === KIND.answer || kind === KIND.state) this.#hand?.receive(kind, tag, bytes);
    if (kind === KIND.level) this.#tell(level);
    if (kind !== KIND.result) return;
    this.#tell(level);
    // An answer after its deadline is dropped.
    if (this.#outstanding?.tag === tag) this.#end()?.resolve(bytes);
  }

  #tell(level: boolean): void {
    if (level === this.#level) return;
    this.#level = level;
    for (const listener of this.#listeners) listener(level);
  }

  #end(): Outstanding | undefined {
    const outstanding = this.#outstanding;
    this.#outstanding = undefined;
    return outstanding;
  }

  #expire(): void {
    const left = this.#outstanding?.limit.leftMs;
    this.#timer = left ? this.#clock.after(Math.max(1, left), () => this.#expire()) : undefined;
    if (left !== 0) return;
    this.#end()?.reject(new CoreError('TIMEOUT', { what: `a transaction on ${this.#device}`, ms: this.#timeoutMs }));
  }

  #failed(reason: string): CoreError {
    return new CoreError('TRANSFER_FAILED', { handle: this.#device, reason });
  }
}
