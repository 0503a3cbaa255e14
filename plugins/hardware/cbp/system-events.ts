/** Events of the bridge itself: lines for the log, and endpoints that went or came back (cbp.md section 10). */
import type { Clock, Logger } from '@device-core/plugin-api';
import type { EndpointRow } from './endpoint-table.ts';
import { SYS_EVENT } from './sys.ts';

/** A bridge that babbles must not fill the log of the device. */
const LINES_PER_SECOND = 10;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

export class SystemEvents {
  readonly #log: Logger;
  readonly #clock: Clock;
  readonly #away = new Set<number>();
  #second = 0;
  #lines = 0;
  #suppressed = 0;

  constructor(log: Logger, clock: Clock) {
    this.#log = log;
    this.#clock = clock;
  }

  /** Has the bridge said that this endpoint cannot be used now? */
  isAway(ep: number): boolean {
    return this.#away.has(ep);
  }

  /** A new session tells anew. */
  forget(): void {
    this.#away.clear();
  }

  take(op: number, data: Uint8Array, rows: readonly EndpointRow[]): void {
    if (op === SYS_EVENT.LOG && data.length >= 1) this.#line(data);
    if (op === SYS_EVENT.EP_CHANGED && data.length >= 2) this.#changed(data[0]!, data[1] !== 0, rows);
  }

  #changed(ep: number, there: boolean, rows: readonly EndpointRow[]): void {
    const row = rows.find(({ descriptor }) => descriptor.ep === ep);
    if (!row) return;
    if (there) this.#away.delete(ep);
    else this.#away.add(ep);
    this.#log.info({ endpoint: row.name }, `the bridge says that the endpoint ${there ? 'is there again' : 'is away'}`);
  }

  #line(data: Uint8Array): void {
    const second = Math.floor(this.#clock.monotonic() / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#lines = 0;
    }
    if (++this.#lines > LINES_PER_SECOND) {
      this.#suppressed++;
      return;
    }
    const level = LEVELS[Math.min(data[0]!, LEVELS.length - 1)]!;
    const suppressed = this.#suppressed > 0 ? { suppressed: this.#suppressed } : {};
    this.#suppressed = 0;
    this.#log[level]({ ...suppressed }, `the bridge says: ${Buffer.from(data.subarray(1)).toString('utf8')}`);
  }
}
