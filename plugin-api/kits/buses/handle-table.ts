import { CoreError } from '../../contract/errors.ts';

const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$/;

/** A handle as its table keeps it: with its counters. */
export interface HandleRow<H> {
  /** The settings in force. */
  handle: H;
  /** `sku` or `plugin.<id>`. */
  readonly owner: string;
  /** Requests since it was registered, those that failed included. */
  transfers: number;
  errors: number;
  inFlight: number;
}

/** The named components of one kind of bus (specification "SPI handle", decisions D3). */
export class HandleTable<H extends { readonly name: string; readonly endpoint: string }> {
  readonly bus: string;
  readonly #rows = new Map<string, HandleRow<H>>();

  /** `bus` for messages: `I2C`. */
  constructor(bus: string) {
    this.bus = bus;
  }

  /** Throws INVALID_HANDLE, HANDLE_ALREADY_REGISTERED. Disposing removes it. */
  register(handle: H, owner: string): Disposable & { readonly row: HandleRow<H> } {
    this.#check(handle.name);
    const other = this.#rows.get(handle.name);
    if (other) {
      const details = { bus: this.bus, handle: handle.name, owner: other.owner };
      throw new CoreError('HANDLE_ALREADY_REGISTERED', details);
    }
    const row: HandleRow<H> = { handle: Object.freeze({ ...handle }), owner, transfers: 0, errors: 0, inFlight: 0 };
    this.#rows.set(handle.name, row);
    return {
      row,
      [Symbol.dispose]: () => {
        if (this.#rows.get(handle.name) === row) this.#rows.delete(handle.name);
      },
    };
  }

  /** Throws INVALID_HANDLE, HANDLE_NOT_FOUND. */
  find(name: string): HandleRow<H> {
    this.#check(name);
    const row = this.#rows.get(name);
    if (!row) throw new CoreError('HANDLE_NOT_FOUND', { bus: this.bus, handle: name });
    return row;
  }

  get rows(): readonly HandleRow<H>[] {
    return [...this.#rows.values()];
  }

  /** Those on one endpoint of the bridge. */
  on(endpoint: string): readonly HandleRow<H>[] {
    return this.rows.filter(({ handle }) => handle.endpoint === endpoint);
  }

  #check(name: unknown): void {
    if (typeof name === 'string' && NAME.test(name)) return;
    const shown = String(name);
    throw new CoreError('INVALID_HANDLE', {
      bus: this.bus,
      handle: `"${shown.length > 60 ? `${shown.slice(0, 60)}...` : shown}"`,
      reason: '1 to 60 letters, digits, "_" and "-" are allowed, the first a letter or digit',
    });
  }
}
