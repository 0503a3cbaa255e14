/** HELLO as the bridge reads it and HELLO_ACK as it answers. */

export const GREETING_LENGTH = 28;

export interface Greeting {
  readonly nonce: number;
  readonly transactionBytes: number;
  readonly window: number;
  readonly ackDelay: number;
  readonly khz: number;
}

export interface Welcome {
  readonly nonce: number;
  readonly transactionBytes: number;
  readonly window: number;
  readonly gapUs: number;
  readonly endpoints: number;
  readonly watchdogMs: number;
  readonly khz: number;
  readonly bootId: number;
  readonly tableCrc: number;
  /** Major, minor, patch and reset reason. */
  readonly firmware: readonly [number, number, number, number];
}

export function readGreeting(body: Uint8Array): Greeting | undefined {
  if (body.length !== GREETING_LENGTH) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  return {
    nonce: view.getUint32(0, true),
    transactionBytes: view.getUint16(4, true),
    window: view.getUint8(6),
    ackDelay: view.getUint8(10),
    khz: view.getUint16(14, true),
  };
}

export function writeWelcome(welcome: Welcome): Uint8Array {
  const body = new Uint8Array(GREETING_LENGTH);
  const view = new DataView(body.buffer);
  view.setUint32(0, welcome.nonce, true);
  view.setUint16(4, welcome.transactionBytes, true);
  view.setUint8(6, welcome.window);
  view.setUint8(7, 0);
  view.setUint16(8, welcome.gapUs, true);
  view.setUint8(10, 1);
  view.setUint8(11, welcome.endpoints);
  view.setUint16(12, welcome.watchdogMs, true);
  view.setUint16(14, welcome.khz, true);
  view.setUint32(16, welcome.bootId, true);
  view.setUint32(20, welcome.tableCrc, true);
  body.set(welcome.firmware, 24);
  return body;
}
