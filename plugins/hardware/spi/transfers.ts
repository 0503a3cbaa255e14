/** Transfers in the name of a handle, with errors in the codes of the specification (cbp.md section 12). */
import { CoreError, type Scope } from '@device-core/plugin-api';
import { BusUser, ENDPOINT_CLASS, type HandleTable } from '@device-core/plugin-api/buses';
import type { Spi, SpiHandle } from '@device-core/plugin-api/services/spi';
import { checkLengths, checkSettings, limitOf, OP, transferBody } from './messages.ts';

type Options = NonNullable<Parameters<Spi['transfer']>[3]>;

export function spiUser(table: HandleTable<SpiHandle>, scope: Scope, perHandle: number): BusUser<SpiHandle> {
  return new BusUser(table, scope, {
    class: ENDPOINT_CLASS.spix,
    perHandle,
    check: checkSettings,
    words: { one: (name) => `a transfer on ${name}`, the: (name) => `transfer on ${name}` },
    refusal,
  });
}

export class Transfers {
  readonly #table: HandleTable<SpiHandle>;
  readonly #user: BusUser<SpiHandle>;

  constructor(table: HandleTable<SpiHandle>, user: BusUser<SpiHandle>) {
    this.#table = table;
    this.#user = user;
  }

  async transfer(name: string, tx: Uint8Array, rxLength: number, options: Options = {}): Promise<Uint8Array> {
    const row = this.#table.find(name);
    checkLengths(tx, rxLength);
    const { cs, mode, speed: speedHz, atomic = false } = row.handle;
    return this.#user.request(row, {
      ...options,
      op: OP.transfer,
      body: transferBody({ cs, mode, speedHz, atomic, tx, rxLength }),
      ...limitOf(row.handle, tx, rxLength),
      answerBytes: rxLength,
      insist: true,
    });
  }
}

function refusal(status: string, handle: SpiHandle, details: object, cause: ErrorOptions): CoreError {
  const { name, endpoint, speed, mode } = handle;
  if (status === 'BAD_SPEED')
    return new CoreError('INVALID_SPEED', { speed, reason: ` and within the range of ${endpoint}`, ...details }, cause);
  if (status === 'BAD_MODE') return new CoreError('INVALID_MODE', { mode, ...details }, cause);
  return new CoreError('TRANSFER_FAILED', { handle: name, reason: status, status, ...details }, cause);
}
