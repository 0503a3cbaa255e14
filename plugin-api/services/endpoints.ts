import { serviceRef } from '../contract/service-ref.ts';

/** A name that answers the request bodies of its class (cbp.md section 11), be it on the IO bridge or on the host. */
export interface Endpoint {
  /** UTF-8 label, `spi0`. */
  readonly name: string;
  /** 0x01 GPIO, 0x02 I2C, 0x03 SPIX, 0x04 UART, 0x05 PIO, 0x06 CAN, ... */
  readonly class: number;
  readonly version: { readonly major: number; readonly minor: number };
  /** Requests that it takes at once. */
  readonly maxInflight: number;
  /** Bytes. */
  readonly maxTransfer: number;
  /** Microseconds that a byte takes on its way to the endpoint at the present speed of its link; 0 if absent, as on a bus of the host. */
  readonly byteUs?: number;
  /** Another text than before where the endpoint has forgotten its settings meanwhile. */
  readonly boot: string;
}

export interface EndpointRequestOptions {
  /** Limit of the transfer, milliseconds from its turn on the endpoint, waiting excluded; 0 or absent: the endpoint's default. */
  readonly deadlineMs?: number;
  /**
   * Limit of the caller, milliseconds from now, the queue included; absent: none. When it is over the request ends with
   * TIMEOUT (`details.clock` is `caller`). A request that has not begun by then is cancelled; one that has begun runs
   * to its end, and its result is dropped.
   */
  readonly callerMs?: number;
  readonly signal?: AbortSignal;
  /** Bytes that the answer may have; 65,536 if absent. */
  readonly answerBytes?: number;
}

/** Something that an endpoint told by itself (cbp.md section 9). */
export interface EndpointEvent {
  /** 0x80 and more, in the meaning of the endpoint's class. */
  readonly op: number;
  /** Milliseconds since the Unix epoch, from the clock of the endpoint's source. */
  readonly at: number;
  /** The same in microseconds. */
  readonly atUs: number;
  /** Clock of the endpoint's source, unchanged: microseconds, 32 bits that wrap in 72 minutes. For differences. */
  readonly timestampUs: number;
  /** Events of this endpoint that were dropped since the one before. */
  readonly lost: number;
  readonly data: Uint8Array;
}

/** Whether the endpoints of a source can be used now. */
export type SourceState =
  | { readonly state: 'up'; readonly endpoints: readonly Endpoint[] }
  | {
      readonly state: 'down';
      readonly reason: string;
      /** Endpoints that it will have, where it knows: their names are taken, and its reason is theirs. */
      readonly names?: readonly string[];
    };

export type EndpointPlace = 'bridge' | 'host';

/** Provider of endpoints: the IO bridge, a bus of the host. */
export interface EndpointSource {
  /** `bridge`; for a bus of the host the id of its plugin and the bus, `host-i2c:i2c-1`. One source has a name at a time. */
  readonly name: string;
  readonly where: EndpointPlace;
  /** As Endpoints.request(), for endpoints of this source. While it is down it rejects with NOT_INITIALIZED and its reason. */
  request(endpoint: string, op: number, body: Uint8Array, options?: EndpointRequestOptions): Promise<Uint8Array>;
  /** As Endpoints.onEvent(). */
  onEvent(endpoint: string, listener: (event: EndpointEvent) => void): Disposable;
  /** Calls `listener` now and after each change. */
  onState(listener: (state: SourceState) => void): Disposable;
}

/** A source as its users see it; an endpoint whose name another source had before is left out. */
export type SourceView = SourceState & { readonly source: string; readonly where: EndpointPlace };

export interface EndpointInfo extends Endpoint {
  readonly where: EndpointPlace;
  /** Name of its source. */
  readonly source: string;
}

/**
 * All endpoints of the device under one name space. Rejections: BRIDGE_FAILED (`details.status` is a status name of
 * cbp.md section 13), NOT_INITIALIZED (no source, or its source is down), TIMEOUT, CANCELLED, BUSY. `details.executed`
 * is `no`, `yes` or `unknown`: what of the request has happened. A request that was answered BUSY has not been
 * executed.
 */
export interface Endpoints {
  /** Those of the sources that are up. */
  list(): Promise<readonly EndpointInfo[]>;
  /** A raw request; the body's form is that of the endpoint's class. */
  request(endpoint: string, op: number, body: Uint8Array, options?: EndpointRequestOptions): Promise<Uint8Array>;
  /** Calls `listener` for each event of the endpoint, while sources come and go. An endpoint that is not there (yet) has none. */
  onEvent(endpoint: string, listener: (event: EndpointEvent) => void): Disposable;
  /** Calls `listener` with all sources now and after each change of one. */
  onChange(listener: (sources: readonly SourceView[]) => void): Disposable;
  /** Adds a source. Throws ENDPOINT_EXISTS where there is one of its name. Disposing takes it away. */
  serve(source: EndpointSource): AsyncDisposable;
}

export const endpoints = serviceRef<Endpoints>('endpoints', '1.0.0', 'powerful', 'sends raw requests to any hardware');
