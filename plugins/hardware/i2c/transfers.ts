/** Transfers on their way to their endpoint; a bus that is stuck is recovered once, and named in /health until it works again. */
import { CoreError, type Logger, type Scope } from '@device-core/plugin-api';
import type { BusUser, HandleRow, HandleTable } from '@device-core/plugin-api/buses';
import type { I2cHandle, I2cSegment, I2cTransferOptions } from '@device-core/plugin-api/services/i2c';
import { limitOf, OP, readLength, transferBody } from './messages.ts';

const RECOVER_MS = 1_000;
const EMPTY = new Uint8Array(0);

export interface TransfersOptions {
  readonly table: HandleTable<I2cHandle>;
  readonly user: BusUser<I2cHandle>;
  /** Hz by label of the endpoint. */
  readonly speeds: Readonly<Record<string, number>>;
  readonly log: Logger;
  readonly scope: Scope;
}

/** State of the bus of an endpoint: the request that began last and worked, and the one that found it stuck. */
interface Known {
  worked: number;
  stuck: number;
}

export class Transfers {
  readonly #table: HandleTable<I2cHandle>;
  readonly #user: BusUser<I2cHandle>;
  readonly #speeds: Readonly<Record<string, number>>;
  readonly #log: Logger;
  readonly #scope: Scope;
  /** Endpoint -> a recovery that is under way: who finds the bus stuck meanwhile waits for it. */
  readonly #recovering = new Map<string, Promise<void>>();
  /** Requests are carried out in the order in which they begin here, and told of in any. */
  #begun = 0;
  readonly #known = new Map<string, Known>();

  constructor({ table, user, speeds, log, scope }: TransfersOptions) {
    this.#table = table;
    this.#user = user;
    this.#speeds = speeds;
    this.#log = log;
    this.#scope = scope;
  }

  /** Nothing that may have been executed is done twice, but where the handle or the caller says that it may be. */
  async transfer(name: string, segments: readonly I2cSegment[], options: I2cTransferOptions = {}): Promise<Uint8Array> {
    const { repeat, ...limits } = options;
    const row = this.#table.find(name);
    const body = transferBody(row.handle, segments);
    const { endpoint } = row.handle;
    const own = { ...limitOf(row.handle, segments, this.#speeds[endpoint]), answerBytes: readLength(segments) };
    const send = async () => {
      const began = ++this.#begun;
      const bytes = await this.#user.request(row, { ...limits, op: OP.transfer, body, ...own });
      this.#works(endpoint, began);
      return bytes;
    };
    try {
      return await send();
    } catch (error) {
      if (!isStuck(error)) throw error;
      const recovered = await this.recover(row, limits).then(() => true, isOver);
      if (!recovered) throw error;
      this.#log.warn({ endpoint }, `the I2C bus ${endpoint} was stuck and was recovered`);
      if ((repeat ?? row.handle.repeat) !== 'safe') throw error;
      return await send();
    }
  }

  /** Clocks the bus until the chip that holds it lets go. Rejects with TRANSFER_FAILED while it stays stuck. */
  async recover(row: HandleRow<I2cHandle>, options: Omit<I2cTransferOptions, 'repeat'> = {}): Promise<void> {
    const { endpoint } = row.handle;
    const running = this.#recovering.get(endpoint) ?? this.#recover(row);
    this.#recovering.set(endpoint, running);
    const { deadline, signal } = options;
    const { clock } = this.#scope;
    const left = deadline === undefined ? Number.POSITIVE_INFINITY : Math.max(0, deadline - clock.steady());
    // Others may wait for it as well: it does not end with one of them.
    await this.#scope.within(`the recovery of ${endpoint}`, left, () => running, { signal });
  }

  async #recover(row: HandleRow<I2cHandle>): Promise<void> {
    const { endpoint } = row.handle;
    const began = ++this.#begun;
    try {
      await this.#user.request(row, { op: OP.recover, body: EMPTY, deadlineMs: RECOVER_MS });
      this.#works(endpoint, began);
    } catch (error) {
      if (isStuck(error)) this.#isStuck(endpoint, began);
      throw error;
    } finally {
      this.#recovering.delete(endpoint);
    }
  }

  /** A request that began before the bus was found stuck says nothing of it, however late it ends. */
  #works(endpoint: string, began: number): void {
    const known = this.#knownOf(endpoint);
    known.worked = Math.max(known.worked, began);
    if (known.worked > known.stuck) this.#user.clear(endpoint);
  }

  #isStuck(endpoint: string, began: number): void {
    const known = this.#knownOf(endpoint);
    known.stuck = Math.max(known.stuck, began);
    if (known.worked > known.stuck) return;
    const message = `something holds the I2C bus ${endpoint} down`;
    this.#user.trouble(endpoint, { status: 'error', code: 'BUS_STUCK', message });
  }

  #knownOf(endpoint: string): Known {
    const known = this.#known.get(endpoint) ?? { worked: 0, stuck: 0 };
    this.#known.set(endpoint, known);
    return known;
  }
}

function isStuck(error: unknown): boolean {
  return error instanceof CoreError && error.details.status === 'BUS_STUCK';
}

/** A recovery that failed changes nothing for the transfer before it. Anything but an error of the table is a mistake of ours. */
function isOver(error: unknown): false {
  if (error instanceof CoreError) return false;
  throw error;
}
