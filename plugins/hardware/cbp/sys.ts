/** The system endpoint, class 0x00 (cbp.md section 10). */
import type { BridgeEndpointStatistics, BridgeStatistics } from '@device-core/plugin-api/services/bridge';

export const SYS = {
  ENUM: 0x01,
  NAME: 0x02,
  STATS: 0x03,
  EP_STATS: 0x04,
  EP_RESET: 0x05,
  ECHO: 0x06,
  REBOOT: 0x07,
} as const;

export const SYS_EVENT = { EP_CHANGED: 0x80, LOG: 0x81 } as const;
export const REBOOT_MODE = { app: 0, bootloader: 1 } as const;

const STATS = [
  'uptimeMs',
  'transactions',
  'received',
  'receivedBad',
  'duplicates',
  'sent',
  'retransmitted',
  'empty',
  'resets',
  'protocolErrors',
  'freeMemory',
  'maxLoopUs',
] as const satisfies readonly (keyof BridgeStatistics)[];

const EP_STATS = [
  'requests',
  'errors',
  'timeouts',
  'cancels',
  'bytesIn',
  'bytesOut',
  'events',
  'eventsLost',
  'ringPeak',
] as const satisfies readonly (keyof BridgeEndpointStatistics)[];

/** The answer to STATS; undefined when it is too short. */
export function readStatistics(body: Uint8Array): BridgeStatistics | undefined {
  return words(STATS, body);
}

/** The answer to EP_STATS; undefined when it is too short. */
export function readEndpointStatistics(body: Uint8Array): BridgeEndpointStatistics | undefined {
  return words(EP_STATS, body);
}

function words<K extends string>(names: readonly K[], body: Uint8Array): Record<K, number> | undefined {
  if (body.length < 4 * names.length) return undefined;
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength);
  return Object.fromEntries(names.map((name, index) => [name, view.getUint32(4 * index, true)])) as Record<K, number>;
}
