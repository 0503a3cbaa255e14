import { serviceRef } from '../contract/service-ref.ts';
import type { EndpointPlace } from './endpoints.ts';

export interface GpioLineConfig {
  readonly line: number;
  readonly direction: 'in' | 'out' | 'open-drain';
  readonly pull?: 'none' | 'up' | 'down';
  readonly edge?: 'none' | 'rising' | 'falling' | 'both';
  readonly debounceUs?: number;
  readonly initial?: 0 | 1;
  readonly safe?: 0 | 1 | 'keep';
}

/** A named line of a GPIO endpoint, with the settings it has from the start. */
export interface GpioHandle extends GpioLineConfig {
  /** `^[A-Za-z0-9][A-Za-z0-9_-]{0,59}$` */
  readonly name: string;
  /** Label of the endpoint. */
  readonly endpoint: string;
  /** Level of an output after a reset of the bridge: the one written last (`last`, also if absent), or `initial`. */
  readonly onReset?: 'last' | 'initial';
  /** Place where the endpoint must be, `any` if absent. */
  readonly where?: EndpointPlace | 'any';
  readonly description?: string;
}

export interface GpioHandleInfo extends GpioHandle {
  /** Registrant of the handle: `sku` or `plugin.<id>`. */
  readonly owner: string;
  /** Since it was registered. */
  readonly edges: number;
  /** Edges that the bridge dropped because its queue was full. */
  readonly lostEdges: number;
}

export interface GpioEdge {
  readonly handle: string;
  readonly level: 0 | 1;
  /** Milliseconds since the Unix epoch, from the bridge's clock. */
  readonly at: number;
  /** The same in microseconds. */
  readonly atUs: number;
  /** The bridge's clock, microseconds, 32 bits: for the time between two edges. */
  readonly timestampUs: number;
  /** Edges of the endpoint that were dropped before this one. */
  readonly lost: number;
}

/**
 * GPIO for plugins; apps use `gpio.read`, `gpio.write`, `gpio.configure`. Rejections: HANDLE_NOT_FOUND,
 * NOT_INITIALIZED, TRANSFER_FAILED, TIMEOUT, CANCELLED.
 */
export interface Gpio {
  /** Throws HANDLE_ALREADY_REGISTERED, INVALID_HANDLE. The line is configured now, and again whenever its endpoint has forgotten it. */
  register(handle: GpioHandle, owner: string): AsyncDisposable;
  handles(): Promise<readonly GpioHandleInfo[]>;
  read(handle: string, options?: { readonly signal?: AbortSignal; readonly deadline?: number }): Promise<0 | 1>;
  /** Rejects with PARAMS_INVALID for a line that is an input. */
  write(
    handle: string,
    level: 0 | 1,
    options?: { readonly signal?: AbortSignal; readonly deadline?: number },
  ): Promise<void>;
  /** Changes settings until the Core ends. */
  configure(
    handle: string,
    settings: Partial<Omit<GpioLineConfig, 'line'>>,
    options?: { readonly signal?: AbortSignal; readonly deadline?: number },
  ): Promise<void>;
  /** Calls `listener` for each edge of a line whose `edge` is set. */
  onEdge(handle: string, listener: (edge: GpioEdge) => void): Disposable;
}

export const gpio = serviceRef<Gpio>('gpio', '1.0.0', 'powerful', 'switches and reads pins');
