/** Filters of a controller: frames pass only for handles with a listener. Each other frame would wake host and bridge three times. */

import { CoreError, type Scope } from '@device-core/plugin-api';
import {
  type BusCallOptions,
  type BusUser,
  executedIn,
  type HandleRow,
  type HandleTable,
} from '@device-core/plugin-api/buses';
import type { CanHandle } from '@device-core/plugin-api/services/can';
import { EVERYTHING, filterBody, NOTHING, OP, SLOTS } from './messages.ts';

const DEADLINE_MS = 1_000;
const FIRST: BusCallOptions = { first: true };
/** Milliseconds before the next try, twice as long after each. */
const AGAIN_MS = 500;
const LONGEST_AGAIN_MS = 30_000;
/** Answers of a controller without filters. */
const REFUSED: ReadonlySet<unknown> = new Set(['UNSUPPORTED', 'INVALID']);

export interface FiltersOptions {
  readonly table: HandleTable<CanHandle>;
  readonly user: BusUser<CanHandle>;
  readonly scope: Scope;
  /** Each frame is published: all handles have a listener. */
  readonly always: boolean;
}

interface Controller {
  /** Frames pass. */
  open: boolean;
  /** Slots that have been given something. */
  slots: number;
  again: Disposable | undefined;
}

export class Filters {
  readonly #options: FiltersOptions;
  readonly #hearers = new Map<string, number>();
  /** Those that have been configured. */
  readonly #controllers = new Map<string, Controller>();

  constructor(options: FiltersOptions) {
    this.#options = options;
  }

  /** Counts a listener of a handle, until it is disposed of. The request to the controller leaves at once: before any later one. */
  hear(handle: string): Disposable {
    this.#count(handle, 1);
    let heard = true;
    return {
      [Symbol.dispose]: () => {
        if (heard) this.#count(handle, -1);
        heard = false;
      },
    };
  }

  #count(name: string, change: 1 | -1): void {
    const count = (this.#hearers.get(name) ?? 0) + change;
    if (count > 0) this.#hearers.set(name, count);
    else this.#hearers.delete(name);
    const row = this.#options.table.rows.find(({ handle }) => handle.name === name);
    const controller = row && this.#controllers.get(row.handle.endpoint);
    if (row && controller && controller.open !== this.#heard(row.handle.endpoint)) void this.#change(row, controller);
  }

  #heard(endpoint: string): boolean {
    const { table, always } = this.#options;
    return always || table.on(endpoint).some(({ handle }) => this.#hearers.has(handle.name));
  }

  /** A part of configuring a handle. */
  async apply(row: HandleRow<CanHandle>, options: BusCallOptions): Promise<void> {
    const { endpoint } = row.handle;
    const controller = this.#controllers.get(endpoint) ?? { open: false, slots: 1, again: undefined };
    this.#controllers.set(endpoint, controller);
    await this.#tell(row, controller, options);
  }

  async #change(row: HandleRow<CanHandle>, controller: Controller, tries = 0): Promise<void> {
    const { user, table, scope } = this.#options;
    const { endpoint } = row.handle;
    const key = `filters of ${endpoint}`;
    controller.again?.[Symbol.dispose]();
    controller.again = undefined;
    try {
      await this.#tell(row, controller, FIRST);
      user.clear(key);
    } catch (error) {
      if (!(error instanceof CoreError)) throw error;
      user.trouble(key, { status: 'error', code: error.code, message: `${key} stay as they were: ${error.message}` });
      if (scope.signal.aborted) return;
      const ms = Math.min(AGAIN_MS * 2 ** tries, LONGEST_AGAIN_MS);
      controller.again ??= scope.timeout(`the next try to set the ${key}`, ms, () => {
        const now = table.on(endpoint)[0];
        if (now) void this.#change(now, controller, tries + 1);
      });
    }
  }

  async #tell(row: HandleRow<CanHandle>, controller: Controller, options: BusCallOptions): Promise<void> {
    const open = this.#heard(row.handle.endpoint);
    controller.open = open;
    const bodies = open ? this.#wanted(row.handle.endpoint) : shut(controller.slots);
    controller.slots = Math.max(controller.slots, bodies.length);
    for (const body of bodies) {
      try {
        await this.#options.user.request(row, { ...options, op: OP.filter, body, deadlineMs: DEADLINE_MS });
      } catch (error) {
        const refused = error instanceof CoreError && REFUSED.has(error.details.status) && executedIn(error) === 'no';
        // Each handle picks its own out of all that comes, where the controller has no filters.
        if (!refused) throw error;
      }
      // Another change has come meanwhile and is ahead.
      if (controller.open !== open) return;
    }
  }

  /** Those of the handles. Where one has none, or they are too many, everything passes, and each handle picks its own. */
  #wanted(endpoint: string): readonly Buffer[] {
    const rows = this.#options.table.on(endpoint);
    const filters = rows.flatMap(({ handle }) => handle.filters ?? []);
    const all = rows.every(({ handle }) => (handle.filters ?? []).length > 0);
    return all && filters.length <= SLOTS ? filters.map((filter, slot) => filterBody(slot, filter)) : [EVERYTHING];
  }
}

/** As many slots that nothing passes. */
function shut(slots: number): readonly Buffer[] {
  return Array.from({ length: slots }, (_, slot) => {
    const body = Buffer.from(NOTHING);
    body[0] = slot;
    return body;
  });
}
