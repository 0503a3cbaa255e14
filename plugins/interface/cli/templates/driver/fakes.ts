/** What stands in for the services that the plugin requires: the tests start it with this, and so does `devicectl plugin check`. */
import { CoreError, type Spi, type SpiHandle, type SpiHandleInfo, spi } from '@device-core/plugin-api';

/** A bus with one chip, which answers every transfer with `frame`. */
export class FakeSpi implements Spi {
  readonly registered = new Map<string, SpiHandle>();
  frame: Uint8Array;

  constructor(frame: Uint8Array) {
    this.frame = frame;
  }

  register(handle: SpiHandle): AsyncDisposable {
    this.registered.set(handle.name, handle);
    return { [Symbol.asyncDispose]: async () => void this.registered.delete(handle.name) };
  }

  async handles(): Promise<readonly SpiHandleInfo[]> {
    return [...this.registered.values()].map((handle) => ({
      ...handle,
      ...{ owner: 'plugin.plugin-id', transfers: 0, errors: 0, inFlight: 0 },
    }));
  }

  async transfer(handle: string, _tx: Uint8Array, rxLength: number): Promise<Uint8Array> {
    if (!this.registered.has(handle)) throw new CoreError('HANDLE_NOT_FOUND', { bus: 'SPI', handle });
    return this.frame.slice(0, rxLength);
  }
}

/** 25 degrees at the tip, 22 in the chip. */
export const WARM = Uint8Array.of(0x01, 0x90, 0x16, 0x00);

/** The settings that have no default. */
export const config = { endpoint: 'spi0', cs: 0, everyMs: 10 };
export const services = () => [[spi, new FakeSpi(WARM)]] as const;
