/** Transfers on their way to the bridge; a bus that is stuck is recovered once, and named in /health until it works again. */
import { CoreError, type I2c, type I2cHandle, type I2cSegment, type Logger } from '@device-core/plugin-api';
import type { BusUser, HandleRow, HandleTable } from '@device-core/plugin-api/buses';
import { deadlineOf, OP, transferBody } from './messages.ts';

const RECOVER_MS = 1_000;
const EMPTY = new Uint8Array(0);

type Options = NonNullable<Parameters<I2c['transfer']>[2]>;

export class Transfers {
  readonly #table: HandleTable<I2cHandle>;
  readonly #user: BusUser<I2cHandle>;
  readonly #speeds: Readonly<Record<string, number>>;
  readonly #log: Logger;
  /** Endpoint -> a recovery that is under way: who finds the bus stuck meanwhile waits for it. */
  readonly #recovering = new Map<string, Promise<void>>();

  constructor(
    table: HandleTable<I2cHandle>,
    user: BusUser<I2cHandle>,
    speeds: Readonly<Record<string, number>>,
    log: Logger,
  ) {
    this.#table = table;
    this.#user = user;
    this.#speeds = speeds;
    this.#log = log;
  }

  async transfer(name: string, segments: readonly I2cSegment[], options: Options = {}): Promise<Uint8Array> {
    const row = this.#table.find(name);
    const body = transferBody(row.handle, segments);
    const { endpoint } = row.handle;
    const deadlineMs = deadlineOf(row.handle, segments, this.#speeds[endpoint]);
    const send = () => this.#user.request(row, { ...options, op: OP.transfer, body, deadlineMs });
    try {
      const bytes = await send();
      this.#user.clear(endpoint);
      return bytes;
    } catch (error) {
      if (!isStuck(error)) throw error;
      await this.recover(row, options);
      this.#log.warn({ endpoint }, `the I2C bus ${endpoint} was stuck and was recovered`);
      const bytes = await send();
      this.#user.clear(endpoint);
      return bytes;
    }
  }

  /** Clocks the bus until whoever holds it lets go. Rejects with TRANSFER_FAILED while it stays stuck. */
  recover(row: HandleRow<I2cHandle>, options: Options = {}): Promise<void> {
    const { endpoint } = row.handle;
    const running = this.#recovering.get(endpoint) ?? this.#recover(row, options);
    this.#recovering.set(endpoint, running);
    return running;
  }

  async #recover(row: HandleRow<I2cHandle>, { deadline }: Options): Promise<void> {
    const { endpoint } = row.handle;
    try {
      const limit = deadline === undefined ? {} : { deadline };
      await this.#user.request(row, { ...limit, op: OP.recover, body: EMPTY, deadlineMs: RECOVER_MS });
      this.#user.clear(endpoint);
    } catch (error) {
      if (isStuck(error)) {
        const message = `something holds the I2C bus ${endpoint} down`;
        this.#user.trouble(endpoint, { status: 'error', code: 'BUS_STUCK', message });
      }
      throw error;
    } finally {
      this.#recovering.delete(endpoint);
    }
  }
}

function isStuck(error: unknown): boolean {
  return error instanceof CoreError && error.details.status === 'BUS_STUCK';
}
