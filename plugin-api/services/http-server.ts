import { serviceRef } from '../service-ref.ts';

/** Where the REST front end listens. */
export interface HttpServer {
  /** `http://127.0.0.1:55280`, `unix:/run/device/core.sock`; empty while it does not listen. */
  addresses(): Promise<readonly string[]>;
}

export const httpServer = serviceRef<HttpServer>('http-server', '1.0.0');
