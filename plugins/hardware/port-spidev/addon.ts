/** Used parts of the package spi-device, loaded when first needed: its addon may be missing, or built for another Node. */
import { CoreError, reasonOf } from '@device-core/plugin-api';

export interface SpiMessage {
  readonly byteLength: number;
  readonly sendBuffer: Buffer;
  readonly receiveBuffer: Buffer;
  readonly speedHz: number;
}

export interface SpiDevice {
  transfer(messages: readonly SpiMessage[], done: (error: Error | null | undefined) => void): void;
  close(done: (error: Error | null | undefined) => void): void;
}

export interface SpiAddon {
  open(
    bus: number,
    device: number,
    options: { readonly mode: number; readonly maxSpeedHz?: number },
    done: (error: Error | null | undefined) => void,
  ): SpiDevice;
}

/** Rejects with NOT_INITIALIZED. */
export async function loadAddon(): Promise<SpiAddon> {
  try {
    const loaded: { readonly default: SpiAddon } = await import('spi-device' as string);
    return loaded.default;
  } catch (error) {
    const [first] = reasonOf(error).split('\n');
    throw new CoreError('NOT_INITIALIZED', {
      reason: `the addon of spi-device cannot be loaded (${first}); "npm run postinstall" builds it`,
    });
  }
}
