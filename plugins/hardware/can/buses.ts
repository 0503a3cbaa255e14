/** CAN buses by handle: each handle has one configuration and gets the frames that its filters pass, and the state of the controller. */

import { CoreError } from '@device-core/plugin-api';
import {
  answeredTooLittle,
  type BusCallOptions,
  type BusUser,
  type HandleRow,
  type HandleTable,
} from '@device-core/plugin-api/buses';
import type { Listeners } from '@device-core/plugin-api/operation-kit';
import type { CanArrival, CanBusState, CanFrame, CanHandle } from '@device-core/plugin-api/services/can';
import type { EndpointEvent } from '@device-core/plugin-api/services/endpoints';
import type { Filters } from './filters.ts';
import { configureBody, EVENT, frameBody, frameIn, matches, OP, STATES } from './messages.ts';

const DEADLINE_MS = 1_000;

export interface CanCounts {
  sent: number;
  received: number;
  lost: number;
}

export interface BusesOptions {
  readonly table: HandleTable<CanHandle>;
  readonly user: BusUser<CanHandle>;
  readonly filters: Filters;
  readonly listeners: Listeners<CanArrival>;
  readonly onFrame: (handle: string, frame: CanArrival) => void;
  readonly onState: (
    endpoint: string,
    state: CanBusState,
    errors: { readonly tx: number; readonly rx: number },
  ) => void;
}

export class Buses {
  readonly #options: BusesOptions;
  readonly #states = new Map<string, CanBusState>();
  readonly #counts = new WeakMap<HandleRow<CanHandle>, CanCounts>();

  constructor(options: BusesOptions) {
    this.#options = options;
  }

  countsOf(row: HandleRow<CanHandle>): CanCounts {
    const counts = this.#counts.get(row) ?? { sent: 0, received: 0, lost: 0 };
    this.#counts.set(row, counts);
    return counts;
  }

  state(endpoint: string): CanBusState {
    return this.#states.get(endpoint) ?? 'stopped';
  }

  /** Two handles of one bus cannot have it at two speeds. Throws PARAMS_INVALID. */
  check(handle: CanHandle): void {
    const other = this.#options.table.on(handle.endpoint)[0]?.handle;
    if (!other || configureBody(other).equals(configureBody(handle))) return;
    const reason = `${other.name} has ${handle.endpoint} at other bit rates or in another mode`;
    throw new CoreError('PARAMS_INVALID', { where: `handle ${handle.name}`, reason });
  }

  /** Bit rates and mode, once for all handles of the bus, and the filters, which each new handle may change. */
  async apply(row: HandleRow<CanHandle>, options: BusCallOptions = {}): Promise<void> {
    const { table, user, filters } = this.#options;
    const { endpoint } = row.handle;
    if (table.on(endpoint)[0] === row) {
      const body = configureBody(row.handle);
      await user.request(row, { ...options, op: OP.configure, body, deadlineMs: DEADLINE_MS });
      // A controller that was active before does not tell that it is.
      if (!this.#states.has(endpoint)) this.#states.set(endpoint, 'active');
    }
    await filters.apply(row, options);
  }

  /** The frames of a handle, and with them the filters of its controller. */
  listen(name: string, listener: (frame: CanArrival) => void): Disposable {
    const listening = this.#options.listeners.add(name, listener);
    const heard = this.#options.filters.hear(name);
    return {
      [Symbol.dispose]: () => {
        listening[Symbol.dispose]();
        heard[Symbol.dispose]();
      },
    };
  }

  async send(name: string, frame: CanFrame, options: BusCallOptions = {}): Promise<{ readonly timestampUs: number }> {
    const row = this.#options.table.find(name);
    const request = { ...options, op: OP.send, body: frameBody(frame), deadlineMs: DEADLINE_MS };
    const answer = await this.#options.user.request(row, request);
    if (answer.length < 4) throw answeredTooLittle(name);
    this.countsOf(row).sent++;
    return { timestampUs: Buffer.from(answer.buffer, answer.byteOffset, 4).readUInt32LE() };
  }

  take(endpoint: string, event: EndpointEvent): void {
    const { op, lost, data } = event;
    const rows = this.#options.table.on(endpoint);
    // Frames dropped by the bridge may have matched any of the handles.
    for (const row of rows) this.countsOf(row).lost += lost;
    if (op === EVENT.state) this.#became(endpoint, data);
    const frame = op === EVENT.received ? frameIn(event) : undefined;
    if (!frame) return;
    for (const row of rows) {
      if (!matches(frame, row.handle.filters)) continue;
      this.countsOf(row).received++;
      this.#options.listeners.tell(row.handle.name, frame);
      this.#options.onFrame(row.handle.name, frame);
    }
  }

  #became(endpoint: string, [code = 0, tx = 0, rx = 0]: Uint8Array): void {
    const state = STATES[code] ?? 'stopped';
    const { user, onState } = this.#options;
    this.#states.set(endpoint, state);
    if (state === 'bus-off') {
      const message = `the controller of ${endpoint} has left the bus after too many errors; it comes back by itself when the bus is quiet`;
      user.trouble(`bus ${endpoint}`, { status: 'error', code: 'BUS_OFF', message });
    } else user.clear(`bus ${endpoint}`);
    onState(endpoint, state, { tx, rx });
  }
}
