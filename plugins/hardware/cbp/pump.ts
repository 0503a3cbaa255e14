/** Runs the transactions that the link asks for: one at a time, the gap between them kept, asleep when none is due. */

import type { Clock } from '@device-core/plugin-api';
import { reasonOf } from '@device-core/plugin-api';
import type { BridgePort } from '@device-core/plugin-api/services/bridge-port';
import type { Link } from './link.ts';

export class Pump {
  readonly #port: BridgePort;
  readonly #link: Link;
  readonly #clock: Clock;
  readonly #after: (now: number) => void;
  #notBefore = 0;
  #wakeUp: (() => void) | undefined;

  /** `after` is called after each transaction that the port has run. */
  constructor(port: BridgePort, link: Link, clock: Clock, after: (now: number) => void) {
    this.#port = port;
    this.#link = link;
    this.#clock = clock;
    this.#after = after;
  }

  /** Something may be due earlier than was thought. */
  wake(): void {
    this.#wakeUp?.();
  }

  /** Runs until the signal is aborted; the transaction under way is awaited. */
  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake(), { once: true });
    this.#link.wired = !(await this.#port.info()).polled;
    using _ready = this.#port.onReady((level) => {
      this.#link.dataReady(level);
      this.wake();
    });
    while (!signal.aborted) {
      const due = Math.max(this.#link.due(this.#clock.monotonic()), this.#notBefore);
      if (due > this.#clock.monotonic()) await this.#sleep(due);
      else await this.#transact();
    }
  }

  async #transact(): Promise<void> {
    try {
      if (this.#link.wantsPulse) await this.#port.reset();
      const { bytes, speedHz } = this.#link.build(this.#clock.monotonic());
      const rx = await this.#port.transact(bytes, { speedHz });
      this.#link.received(rx, this.#clock.monotonic());
      const now = this.#clock.monotonic();
      this.#notBefore = now + this.#link.gapUs / 1000;
      this.#after(now);
    } catch (error) {
      this.#link.failed(reasonOf(error), this.#clock.monotonic());
    }
  }

  async #sleep(until: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#wakeUp = resolve;
    using _timer = Number.isFinite(until) ? this.#clock.at(until, resolve) : undefined;
    await promise;
    this.#wakeUp = undefined;
  }
}
