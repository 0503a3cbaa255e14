/** The table of SPI handles (specification "SPI handle", decisions D3). */
import { CoreError, type SpiHandle, type SpiHandleInfo } from '@device-core/plugin-api';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/;
const MAX_SPEED = 0xffff_ffff;

/** A handle as the table keeps it: with its counters. */
export interface Row {
  readonly handle: SpiHandle;
  readonly owner: string;
  transfers: number;
  errors: number;
  inFlight: number;
}

export class HandleTable {
  readonly #rows = new Map<string, Row>();

  /** Throws INVALID_HANDLE, INVALID_SPEED, INVALID_MODE, HANDLE_ALREADY_REGISTERED. */
  register(handle: SpiHandle, owner: string): Disposable {
    checkName(handle.name);
    const { name, speed, mode } = handle;
    if (!Number.isSafeInteger(speed) || speed <= 0 || speed > MAX_SPEED) {
      const reason = typeof speed === 'number' && speed > 0 ? `, whole and at most ${MAX_SPEED}` : '';
      throw new CoreError('INVALID_SPEED', { speed, reason });
    }
    if (![0, 1, 2, 3].includes(mode)) throw new CoreError('INVALID_MODE', { mode });
    const other = this.#rows.get(name);
    if (other) throw new CoreError('HANDLE_ALREADY_REGISTERED', { bus: 'SPI', handle: name, owner: other.owner });
    const row: Row = { handle: Object.freeze({ ...handle }), owner, transfers: 0, errors: 0, inFlight: 0 };
    this.#rows.set(name, row);
    return {
      [Symbol.dispose]: () => {
        if (this.#rows.get(name) === row) this.#rows.delete(name);
      },
    };
  }

  /** Throws INVALID_HANDLE, HANDLE_NOT_FOUND. */
  find(name: string): Row {
    checkName(name);
    const row = this.#rows.get(name);
    if (!row) throw new CoreError('HANDLE_NOT_FOUND', { bus: 'SPI', handle: name });
    return row;
  }

  list(): readonly SpiHandleInfo[] {
    return [...this.#rows.values()].map(({ handle, owner, transfers, errors, inFlight }) => ({
      ...handle,
      owner,
      transfers,
      errors,
      inFlight,
    }));
  }
}

function checkName(name: string): void {
  if (typeof name === 'string' && NAME.test(name)) return;
  const shown = String(name);
  throw new CoreError('INVALID_HANDLE', {
    bus: 'SPI',
    handle: `"${shown.length > 60 ? `${shown.slice(0, 60)}...` : shown}"`,
    reason: '1 to 60 letters, digits, "_" and "-" are allowed, the first a letter or digit',
  });
}
