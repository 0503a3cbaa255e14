/** Control of the simulator by the Core: controls over the wire of the port, and reports of its state. */
import type { Socket } from 'node:net';
import { afterOwnTime, type Clock, CoreError } from '@device-core/plugin-api';
import type { BridgeSimulator, BridgeView } from '@device-core/plugin-api/inside/services/bridge-simulator';
import { KIND, writeMessage } from './sim/index.ts';

/** Milliseconds between two looks at the state, while there is a watcher. */
const WATCH_MS = 150;
const MOST_WAITING = 64;

interface Waiting {
  readonly settle: PromiseWithResolvers<Readonly<Record<string, unknown>>>;
  readonly limit: Disposable;
}

export class Hand implements BridgeSimulator {
  readonly #clock: Clock;
  readonly #timeoutMs: number;
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(view: BridgeView | undefined) => void>();
  #socket: Socket | undefined;
  #absence = 'the simulator has not been started yet';
  #tag = 0;
  #view: BridgeView | undefined;

  constructor(clock: Clock, timeoutMs: number) {
    this.#clock = clock;
    this.#timeoutMs = timeoutMs;
  }

  async control(name: string, value: object): Promise<Readonly<Record<string, unknown>>> {
    const socket = this.#socket;
    if (!socket) throw this.#away();
    if (this.#waiting.size >= MOST_WAITING)
      throw new CoreError('BUSY', { what: `control ${name}`, limit: `${MOST_WAITING} controls` });
    const tag = this.#next();
    const settle = Promise.withResolvers<Readonly<Record<string, unknown>>>();
    const limit = afterOwnTime(this.#clock, this.#timeoutMs, () => {
      const what = `control ${name} of the bridge simulator`;
      this.#end(tag)?.settle.reject(new CoreError('TIMEOUT', { what, ms: this.#timeoutMs }));
    });
    this.#waiting.set(tag, { settle, limit });
    socket.write(writeMessage(KIND.control, false, tag, Buffer.from(JSON.stringify({ [name]: value }))));
    const { ok, error, ...answer } = await settle.promise;
    if (ok !== true) throw new CoreError('PARAMS_INVALID', { where: name, reason: String(error) });
    return answer;
  }

  onView(listener: (view: BridgeView | undefined) => void): Disposable {
    this.#listeners.add(listener);
    if (this.#listeners.size === 1) this.#watch(WATCH_MS);
    else listener(this.#view);
    return {
      [Symbol.dispose]: () => {
        if (!this.#listeners.delete(listener) || this.#listeners.size > 0) return;
        this.#view = undefined;
        this.#watch(0);
      },
    };
  }

  // ---- for the port ----

  attach(socket: Socket): void {
    this.#socket = socket;
    if (this.#listeners.size > 0) this.#watch(WATCH_MS);
  }

  detach(reason: string): void {
    this.#absence = reason;
    this.#socket = undefined;
    for (const tag of [...this.#waiting.keys()]) this.#end(tag)?.settle.reject(this.#away());
    this.#tell(undefined);
  }

  receive(kind: number, tag: number, bytes: Uint8Array): void {
    const value = JSON.parse(Buffer.from(bytes).toString('utf8'));
    if (kind === KIND.answer) this.#end(tag)?.settle.resolve(value);
    else if (this.#listeners.size > 0) this.#tell(value);
  }

  #watch(ms: number): void {
    this.#socket?.write(writeMessage(KIND.control, false, 0, Buffer.from(JSON.stringify({ watch: { ms } }))));
  }

  #tell(view: BridgeView | undefined): void {
    this.#view = view;
    for (const listener of this.#listeners) listener(view);
  }

  #end(tag: number): Waiting | undefined {
    const waiting = this.#waiting.get(tag);
    this.#waiting.delete(tag);
    waiting?.limit[Symbol.dispose]();
    return waiting;
  }

  /** Tag 0 belongs to requests without an answer. */
  #next(): number {
    do this.#tag = (this.#tag % 0xffff) + 1;
    while (this.#waiting.has(this.#tag));
    return this.#tag;
  }

  #away(): CoreError {
    return new CoreError('UNAVAILABLE', { what: 'the bridge simulator', reason: this.#absence });
  }
}
